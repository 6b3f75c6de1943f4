// The main() of a program whose ranks a test starts: says on stderr what is wrong.
#pragma once

#include <cstdio>

#include "hocket/base/error.h"

namespace hocket {

inline int exit_code_of(const Status& status) {
  if (!status) fmt::print(stderr, "{}\n", status.error().to_string());
  return status ? 0 : 1;
}

}  // namespace hocket
