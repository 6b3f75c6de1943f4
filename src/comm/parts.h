// The parts of a call as if they lay one behind the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/call.h"

namespace hocket {

// A stretch of one part: its elements [first, first + count), which are `at` elements behind the start of what was asked for.
struct Stretch {
  const Transfer& part;
  std::int64_t first;
  std::int64_t count;
  std::int64_t at;
};

class Parts {
 public:
  explicit Parts(const GroupCall& call) : parts_(call.parts()), total_(call.count) {}
  std::int64_t total() const { return total_; }

  // Calls visit(Stretch) for the elements [first, first + count). Fast if calls ask for one range after the other.
  template <class Visit>
  void each(std::int64_t first, std::int64_t count, Visit visit) {
    if (first < start_) part_ = 0, start_ = 0;
    for (std::int64_t at = 0; at < count;) {
      const Transfer& part = parts_[part_];
      const std::int64_t inside = first + at - start_;
      const std::int64_t here = std::min(part.count - inside, count - at);
      if (here > 0) {
        visit(Stretch{part, inside, here, at});
        at += here;
      } else {
        start_ += part.count;
        ++part_;
      }
    }
  }

 private:
  std::span<const Transfer> parts_;
  std::int64_t total_;
  std::size_t part_ = 0;    // that the last range ended in
  std::int64_t start_ = 0;  // its first element, counted from the first of all parts
};

inline const std::byte* input_at(const Transfer& part, std::int64_t bytes) {
  return static_cast<const std::byte*>(part.input) + bytes;
}
inline std::byte* output_at(const Transfer& part, std::int64_t bytes) {
  return static_cast<std::byte*>(part.output) + bytes;
}

}  // namespace hocket
