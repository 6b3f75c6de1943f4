#include <algorithm>
#include <map>
#include <tuple>

#include "hocket/plan/lifetimes.h"

namespace hocket {

namespace {

using Arena = std::tuple<Home, std::uint32_t, std::uint32_t>;  // home, group, device

bool share_bytes(const Buffer& a, const Buffer& b) {
  return a.placed_at < b.placed_at + b.bytes.value() && b.placed_at < a.placed_at + a.bytes.value();
}

// The used buffers of each arena, in the order in which they come into use.
std::map<Arena, std::vector<BufferId>> by_arena(const Program& program, const std::vector<Lifetime>& lifetimes) {
  std::map<Arena, std::vector<BufferId>> arenas;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    if (buffer.placed_at < 0 || !lifetimes[i].is_used() || !buffer.bytes.is_static()) continue;
    arenas[{buffer.home, buffer.group.value, buffer.device.value}].emplace_back(i);
  }
  for (auto& [arena, buffers] : arenas)
    std::ranges::stable_sort(buffers, {}, [&](BufferId id) { return lifetimes[id.index()].first; });
  return arenas;
}

}  // namespace

Status check_places(const Program& program, const std::vector<Lifetime>& lifetimes) {
  for (const auto& [arena, buffers] : by_arena(program, lifetimes)) {
    std::vector<BufferId> live;
    for (const BufferId id : buffers) {
      std::erase_if(live, [&](BufferId one) { return lifetimes[one.index()].last < lifetimes[id.index()].first; });
      for (const BufferId other : live) {
        if (!share_bytes(program.buffer(id), program.buffer(other))) continue;
        return fail(ErrorKind::usage,
                    "buffers %{} and %{} share memory while both are in use: plan the program for "
                    "the way in which it runs, with plan(carry=on) where runs carry their tails",
                    program.name(other), program.name(id));
      }
      live.push_back(id);
    }
  }
  return {};
}

}  // namespace hocket
