// What lists of ranks have in common, whoever gives them.
#pragma once

#include <optional>

#include "hocket/comm/mesh.h"

namespace hocket {

// The smallest rank that stands in the list more than once.
std::optional<std::int32_t> rank_given_twice(Ranks ranks);

}  // namespace hocket
