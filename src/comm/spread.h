// Where ranks that are more than cores should run. A call of all of them takes a turn of each on its core: with three on one core and one
// on the other it takes twice as long as with two on each. The kernel does not move a thread that has run a moment ago, so that such a
// state lasts; a rank that waits can move itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hocket {

// The core that this rank should go to, if there are at least two fewer ranks on it. `cores` are those that the ranks are on, by place;
// negative: not known, then nobody moves. Only one rank of a core gets an answer.
std::optional<int> better_core(std::span<const int> cores, std::size_t self, std::span<const int> allowed);

// The cores that the calling thread may run on; empty if there are too many to say.
std::vector<int> allowed_cores();
// Takes the calling thread to a core that it may run on. It may go elsewhere afterwards.
void go_to_core(int core);

}  // namespace hocket
