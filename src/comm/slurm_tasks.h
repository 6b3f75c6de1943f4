// How Slurm says the ranks of each host.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket {

// Of host number `node` in a list like "4(x2),3": 4, 4, 3. Nothing if the list is malformed or shorter.
std::optional<std::int32_t> tasks_of_node(std::string_view list, std::int32_t node);

}  // namespace hocket
