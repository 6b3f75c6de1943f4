#include <algorithm>

#include "hocket/sim/scale.h"

namespace hocket {

EvenGroup EvenGroup::of(Rank rank) const {
  const std::int64_t block = stride * size;
  return {rank.value / block * block + rank.value % stride, stride, size};
}

std::vector<Rank> EvenGroup::ranks() const {
  std::vector<Rank> list;
  for (std::int64_t i = 0; i < size; ++i) list.push_back(Rank{static_cast<std::int32_t>(first + i * stride)});
  return list;
}

std::optional<EvenGroup> even_group(std::span<const Rank> ranks) {
  if (ranks.empty()) return std::nullopt;
  std::vector<std::int64_t> sorted;
  for (const Rank rank : ranks) sorted.push_back(rank.value);
  std::sort(sorted.begin(), sorted.end());
  EvenGroup group{sorted.front(), 1, static_cast<std::int64_t>(sorted.size())};
  if (sorted.size() > 1) group.stride = sorted[1] - sorted[0];
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != group.first + static_cast<std::int64_t>(i) * group.stride) return std::nullopt;
  }
  return group.stride > 0 ? std::optional(group) : std::nullopt;
}

}  // namespace hocket
