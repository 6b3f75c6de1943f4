// Places in a growing range, the lowest that fits: ranks that ask for the same in the same order get the same places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace hocket {

class FirstFit {
 public:
  // Everything is aligned to it: two cache lines, since processors fetch them in pairs.
  static constexpr std::int64_t alignment = 128;

  // `size` is a multiple of the alignment, as is the number that grow() adds at the end.
  explicit FirstFit(std::int64_t size = 0) { grow(size); }
  void grow(std::int64_t more);

  // Nothing if no free place is large enough. bytes >= 0; a place for 0 bytes is a place of its own, too.
  std::optional<std::int64_t> take(std::int64_t bytes);
  // How many bytes that makes free; nothing if no taken place begins there.
  std::optional<std::int64_t> give_back(std::int64_t offset);

  struct Range {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  // The free ranges, each of them whole, that have a byte in common with this one.
  std::vector<Range> free_around(const Range& range) const;

  std::int64_t size() const { return size_; }
  std::int64_t taken() const { return taken_; }

 private:
  void add_free(std::int64_t offset, std::int64_t bytes);

  std::int64_t size_ = 0;
  std::int64_t taken_ = 0;
  std::map<std::int64_t, std::int64_t> free_;  // offset -> bytes; no two touch
  std::map<std::int64_t, std::int64_t> used_;
};

}  // namespace hocket
