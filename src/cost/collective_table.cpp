#include "hocket/cost/collective_table.h"

#include <algorithm>
#include <cmath>

namespace hocket {

Result<CollectiveTable> CollectiveTable::make(std::vector<std::int64_t> sizes) {
  if (sizes.size() < 2)
    return fail(ErrorKind::input, "a table of collective times has {} sizes, expected at least 2", sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return fail(ErrorKind::input, "size {} is {}, expected a number of bytes", i, sizes[i]);
    if (i > 0 && sizes[i] <= sizes[i - 1])
      return fail(ErrorKind::input, "size {} is {}, expected more than {}, the size before it", i, sizes[i],
                  sizes[i - 1]);
  }
  CollectiveTable table;
  table.sizes_ = std::move(sizes);
  return table;
}

Status CollectiveTable::add(CollectiveKind kind, std::int64_t group_size, Row times) {
  if (group_size < 2)
    return fail(ErrorKind::input, "a row is for a group of {}, expected at least 2 ranks", group_size);
  if (times.size() != sizes_.size())
    return fail(ErrorKind::input, "has {} times, expected {}, one for each size", times.size(), sizes_.size());
  const auto bad = std::find_if(times.begin(), times.end(), [](double ns) { return !(ns >= 0) || !std::isfinite(ns); });
  if (bad != times.end())
    return fail(ErrorKind::input, "time {} is {}, expected a number that is not negative", bad - times.begin(), *bad);
  rows_.insert_or_assign({kind, group_size}, std::move(times));
  return {};
}

std::optional<double> CollectiveTable::nanoseconds(CollectiveKind kind, std::int64_t group_size, Bytes moved) const {
  const auto row = rows_.find({kind, group_size});
  if (row == rows_.end()) return std::nullopt;
  return interpolated(row->second, moved.count);
}

double CollectiveTable::interpolated(const Row& row, std::int64_t bytes) const {
  if (bytes <= sizes_.front()) return row.front();
  // The segment that the size lies in; beyond the end the last one.
  const auto next = std::upper_bound(sizes_.begin(), sizes_.end(), bytes);
  const std::size_t low = std::min(static_cast<std::size_t>(next - sizes_.begin()) - 1, sizes_.size() - 2);
  const double part = static_cast<double>(bytes - sizes_[low]) / static_cast<double>(sizes_[low + 1] - sizes_[low]);
  return std::max(0.0, row[low] + part * (row[low + 1] - row[low]));
}

CollectiveTable::Neighbours CollectiveTable::neighbours(CollectiveKind kind, std::int64_t group_size) const {
  Neighbours near;
  const auto above = rows_.lower_bound({kind, group_size});
  if (above != rows_.end() && above->first.first == kind) near.above = above->first.second;
  if (above != rows_.begin() && std::prev(above)->first.first == kind) near.below = std::prev(above)->first.second;
  return near;
}

}  // namespace hocket
