// What each rank must have after a collective, told from what all ranks have before.
//
//   std::vector<Input> inputs = …;          // of all ranks, by place
//   Buffer expected = all_gather(inputs, count);
#pragma once

#include "support/naive_reduce.h"

namespace hocket::naive {

// Elements of one rank that repeat themselves after a prime number of them, which no block or share is a multiple of. So large
// buffers are told quickly, and yet nothing in them can be in another place without being noticed.
class Input {
 public:
  static constexpr std::int64_t period = 1021;
  static Input random(Dtype dtype, std::uint64_t seed);
  Input(Dtype dtype, Buffer pattern) : dtype_(dtype), pattern_(std::move(pattern)) {}

  // The elements [first, first + count).
  Buffer part(std::int64_t first, std::int64_t count) const;
  const Buffer& pattern() const { return pattern_; }
  Dtype dtype() const { return dtype_; }

 private:
  Dtype dtype_;
  Buffer pattern_;  // `period` elements
};

using Inputs = std::vector<Input>;  // by place

// Combines all inputs element by element.
Input reduced(const Reduction& reduction, const Inputs& inputs);

Buffer all_reduce(const Input& reduced, std::int64_t count);
Buffer reduce_scatter(const Input& reduced, std::int64_t count, std::int32_t place);
Buffer all_gather(const Inputs& inputs, std::int64_t count);
Buffer all_to_all(const Inputs& inputs, std::int64_t count, std::int32_t place);
// splits[from][to] elements.
Buffer all_to_all(const Inputs& inputs, const std::vector<std::vector<std::int64_t>>& splits, std::int32_t place);
Buffer broadcast(const Inputs& inputs, std::int64_t count, std::int32_t source);

}  // namespace hocket::naive
