#include "torch/shard_layout.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace hocket {

ShardLayout::ShardLayout(at::IntArrayRef whole, std::int64_t parts)
    : whole_(whole.vec()), part_(whole.vec()), parts_(parts), rows_(whole.empty() ? 1 : whole[0]) {
  if (part_.empty()) part_.push_back(1);  // a number: the first rank has it
  part_[0] = (rows_ + parts - 1) / parts;
}

std::int64_t ShardLayout::rows_of(std::int64_t place) const {
  return std::clamp<std::int64_t>(rows_ - place * part_[0], 0, part_[0]);
}

at::Tensor ShardLayout::padded(const at::Tensor& whole) const {
  const at::Tensor rows = (whole_.empty() ? whole.view({1}) : whole).contiguous();
  if (!is_padded()) return rows;
  std::vector<std::int64_t> missing = part_;
  missing[0] = part_[0] * parts_ - rows_;
  return at::cat({rows, rows.new_zeros(missing)});
}

at::Tensor ShardLayout::part_of(const at::Tensor& whole, std::int64_t place) const {
  return padded(whole).narrow(0, place * part_[0], part_[0]);
}

at::Tensor ShardLayout::whole_of(const at::Tensor& parts) const {
  if (whole_.empty()) return parts.select(0, 0);
  return is_padded() ? parts.narrow(0, 0, rows_) : parts;
}

}  // namespace hocket
