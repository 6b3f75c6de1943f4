#include "comm/first_fit.h"

#include <algorithm>

namespace hocket {

void FirstFit::grow(std::int64_t more) {
  if (more <= 0) return;
  add_free(size_, more);
  size_ += more;
}

std::optional<std::int64_t> FirstFit::take(std::int64_t bytes) {
  if (bytes > size_) return std::nullopt;  // also keeps the rounding below from overflowing
  const std::int64_t rounded = std::max<std::int64_t>((bytes + alignment - 1) / alignment, 1) * alignment;
  const auto found =
      std::find_if(free_.begin(), free_.end(), [&](const auto& place) { return place.second >= rounded; });
  if (found == free_.end()) return std::nullopt;
  const auto [offset, available] = *found;
  free_.erase(found);
  if (available > rounded) free_.emplace(offset + rounded, available - rounded);
  used_.emplace(offset, rounded);
  taken_ += rounded;
  return offset;
}

std::optional<std::int64_t> FirstFit::give_back(std::int64_t offset) {
  const auto found = used_.find(offset);
  if (found == used_.end()) return std::nullopt;
  const std::int64_t bytes = found->second;
  used_.erase(found);
  taken_ -= bytes;
  add_free(offset, bytes);
  return bytes;
}

std::vector<FirstFit::Range> FirstFit::free_around(const Range& range) const {
  std::vector<Range> found;
  auto next = free_.upper_bound(range.offset);
  if (next != free_.begin()) --next;
  for (; next != free_.end() && next->first < range.offset + range.bytes; ++next) {
    if (next->first + next->second > range.offset) found.push_back({next->first, next->second});
  }
  return found;
}

void FirstFit::add_free(std::int64_t offset, std::int64_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace_hint(next, offset, bytes);
}

}  // namespace hocket
