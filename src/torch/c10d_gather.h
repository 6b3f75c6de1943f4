// What all ranks of a process group tell all others.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <string>
#include <vector>

#include "comm/deadline.h"
#include "hocket/base/error.h"

namespace hocket {

// Collective over all ranks: everyone's text, in the order of ranks.
Result<std::vector<std::string>> gather_texts(c10d::Backend& backend, const std::string& text, Deadline deadline);

}  // namespace hocket
