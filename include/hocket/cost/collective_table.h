// Measured times of collectives: for each kind and group size a row of times, one for each size in bytes.
//
//   if (std::optional<double> ns = table.nanoseconds(CollectiveKind::all_reduce, 8, Bytes(4096))) …
//
// A size counts all inputs plus all outputs of the collective, a preallocated `out` once. Between two sizes times are linear;
// below the smallest the first time holds; above the largest the last two times are continued as a line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/units.h"
#include "hocket/ir/op_table.h"

namespace hocket {

class CollectiveTable {
 public:
  using Row = std::vector<double>;  // nanoseconds, one for each size

  // At least two sizes, each larger than the one before.
  static Result<CollectiveTable> make(std::vector<std::int64_t> sizes);
  // As many times as there are sizes, none negative.
  Status add(CollectiveKind kind, std::int64_t group_size, Row times);

  // What a row says; nothing where there is no row for this kind and group size.
  std::optional<double> nanoseconds(CollectiveKind kind, std::int64_t group_size, Bytes moved) const;

  // The rows of a kind next to a group size that has none: the largest smaller one and the smallest larger one.
  struct Neighbours {
    std::optional<std::int64_t> below;
    std::optional<std::int64_t> above;
  };
  Neighbours neighbours(CollectiveKind kind, std::int64_t group_size) const;

  std::span<const std::int64_t> sizes() const { return sizes_; }
  const std::map<std::pair<CollectiveKind, std::int64_t>, Row>& rows() const { return rows_; }
  friend bool operator==(const CollectiveTable&, const CollectiveTable&) = default;

 private:
  double interpolated(const Row& row, std::int64_t bytes) const;

  std::vector<std::int64_t> sizes_;
  std::map<std::pair<CollectiveKind, std::int64_t>, Row> rows_;
};

}  // namespace hocket
