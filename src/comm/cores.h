// The cores of this machine that this process may use.
#pragma once

#include <vector>

#include "hocket/base/error.h"

namespace hocket {

// Each core as the numbers of its processors, of which it has several where it runs several threads at a time.
Result<std::vector<std::vector<int>>> usable_cores();

}  // namespace hocket
