// A timeline as text: a row for each lane, as wide as the terminal.
//
//   fmt::print("{}", overlap_picture(line, {.width = 100}));
//
//   compute  ▆█▂  ▇███▆█│ how much of each moment is computed
//   exposed  ▂ ▆██▁     │ … and how much is spent waiting
//   dp       GGGGg  SSSs│ a letter for each kind of collective; a small one where the lane is busy less than half of the time
//   memory   ▁▁▂▃▅▆▇███▇│ peak 83.3 MiB
#pragma once

#include <cstddef>
#include <string>

#include "hocket/report/report_data.h"

namespace hocket {

struct PictureOptions {
  std::size_t width = 100;  // columns
  bool colour = false;      // escape sequences of terminals
};

std::string overlap_picture(const ShownTimeline& line, const PictureOptions& options = {});

}  // namespace hocket
