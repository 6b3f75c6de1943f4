// What standard output is written on.
#pragma once

#include <cstddef>

namespace hocket::tool {

struct Terminal {
  std::size_t width = 100;  // columns
  bool colour = false;      // only on a terminal
};
Terminal standard_output();

}  // namespace hocket::tool
