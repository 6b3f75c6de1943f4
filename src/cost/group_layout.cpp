#include <algorithm>

#include "hocket/cost/collectives.h"

namespace hocket {

namespace {

// How many members of the group lie in the block of each rank, for blocks of `width` consecutive ranks; 0: one block of all.
std::vector<std::int64_t> members_of_blocks(const std::vector<std::int64_t>& sorted, std::int64_t width) {
  std::vector<std::int64_t> count(sorted.size(), static_cast<std::int64_t>(sorted.size()));
  if (width == 0) return count;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] / width == sorted[begin] / width) ++end;
    std::fill(count.begin() + std::ptrdiff_t(begin), count.begin() + std::ptrdiff_t(end), std::int64_t(end - begin));
  }
  return count;
}

bool all_equal(const std::vector<std::int64_t>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) == list.end();
}

}  // namespace

GroupLayout::GroupLayout(const Machine& machine, std::span<const Rank> ranks) {
  std::vector<std::int64_t> sorted;
  for (const Rank rank : ranks) sorted.push_back(rank.value);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  size_ = static_cast<std::int64_t>(sorted.size());
  if (size_ < 2 || machine.levels.empty()) return;
  const std::int64_t host = std::max<std::int64_t>(machine.ranks_per_host, 1);
  one_host_ = sorted.front() / host == sorted.back() / host;

  bool regular = true;
  std::vector<std::int64_t> inside(sorted.size(), 1);  // members in the block of each rank, one level further in
  for (std::size_t index = 0; index < machine.levels.size(); ++index) {
    const bool outermost = index + 1 == machine.levels.size();  // joins whatever lies further apart
    const auto here = members_of_blocks(sorted, outermost ? 0 : machine.levels[index].ranks);
    Level level{index, here[0] / inside[0], 0};
    for (std::size_t i = 0; i < here.size(); ++i) level.peers = std::max(level.peers, here[i] - inside[i]);
    regular = regular && all_equal(here);
    inside = here;
    if (level.peers > 0) levels_.push_back(level);
  }
  nested_ = regular ? levels_ : std::vector{Level{levels_.back().index, size_, size_ - 1}};
}

}  // namespace hocket
