// How one tensor is cut along dim 0 into parts of equal size, the last ones padded with zeros: all ranks have the same shapes and so
// the same program.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace hocket {

class ShardLayout {
 public:
  ShardLayout(at::IntArrayRef whole, std::int64_t parts);

  const std::vector<std::int64_t>& whole() const { return whole_; }
  const std::vector<std::int64_t>& part() const { return part_; }
  bool is_padded() const { return rows_ != part_[0] * parts_; }
  // How many rows of a part are no padding.
  std::int64_t rows_of(std::int64_t place) const;

  at::Tensor part_of(const at::Tensor& whole, std::int64_t place) const;  // contiguous, padded
  at::Tensor whole_of(const at::Tensor& parts) const;                     // a view of all parts, one after the other
  at::Tensor padded(const at::Tensor& whole) const;                       // all parts, one after the other: contiguous

 private:
  std::vector<std::int64_t> whole_, part_;
  std::int64_t parts_, rows_;
};

}  // namespace hocket
