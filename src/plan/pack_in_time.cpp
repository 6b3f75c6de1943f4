#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "plan/packing.h"

namespace hocket {

namespace {

// Free space, from 0 to infinity.
class FreeSpace {
 public:
  FreeSpace() { add(0, endless); }

  // The smallest gap that fits; of equal ones the lowest.
  std::int64_t take(std::int64_t size) {
    const auto [length, begin] = *by_length_.lower_bound({size, 0});
    remove(begin, length);
    if (length > size) add(begin + size, length - size);
    return begin;
  }

  void give_back(std::int64_t begin, std::int64_t length) {
    auto next = by_begin_.lower_bound(begin);
    if (next != by_begin_.end() && next->first == begin + length) {
      length += next->second;
      remove(next->first, next->second);
      next = by_begin_.lower_bound(begin);
    }
    if (next != by_begin_.begin()) {
      const auto [before, its_length] = *std::prev(next);
      if (before + its_length == begin) {
        remove(before, its_length);
        begin = before;
        length += its_length;
      }
    }
    add(begin, length);
  }

 private:
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  void add(std::int64_t begin, std::int64_t length) {
    by_begin_.emplace(begin, length);
    by_length_.emplace(length, begin);
  }
  void remove(std::int64_t begin, std::int64_t length) {
    by_begin_.erase(begin);
    by_length_.erase({length, begin});
  }

  std::map<std::int64_t, std::int64_t> by_begin_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_length_;
};

}  // namespace

Packing pack_in_time(std::span<const Block> blocks) {
  struct Event {
    std::size_t when;
    bool begins;
    std::size_t block;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    events.push_back({blocks[i].first, true, i});
    events.push_back({blocks[i].last + 1, false, i});
  }
  std::stable_sort(events.begin(), events.end(), [&](const Event& a, const Event& b) {
    if (a.when != b.when) return a.when < b.when;
    if (a.begins != b.begins) return b.begins;                       // space is given back first
    return a.begins && blocks[a.block].size > blocks[b.block].size;  // large ones choose first
  });
  Packing packing{std::vector<std::int64_t>(blocks.size()), 0};
  FreeSpace space;
  for (const Event& event : events) {
    const std::int64_t size = blocks[event.block].size;
    std::int64_t& offset = packing.offsets[event.block];
    if (!event.begins) {
      space.give_back(offset, size);
      continue;
    }
    offset = space.take(size);
    packing.size = std::max(packing.size, offset + size);
  }
  return packing;
}

}  // namespace hocket
