// Checks that graphs and programs share.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "hocket/ir/verify.h"

namespace hocket {

// No ranks, ranks twice, ranks outside of the world, two groups of one name. A negative world size is unknown.
void verify_groups(std::span<const Group> groups, std::int64_t world_size, std::vector<Problem>& problems);

// "f32[2,3]" for messages.
std::string describe(const TypeView& type, const SymbolTable& symbols, bool with_layout);

}  // namespace hocket
