// One reduction over ranks on several hosts: each host combines its pieces, the owner of a part combines the pieces of all.
// Whatever the hosts, the bits are those of reduce() over all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/call.h"
#include "comm/hosts_layout.h"
#include "comm/reduce.h"

namespace hocket {

class Combiner {
 public:
  Combiner(const HostsLayout& layout, const GroupCall& call);

  const HostsLayout& layout() const { return *layout_; }
  Dtype dtype() const { return dtype_; }
  // What a host's own transport does to the inputs of one piece: all but what is done at the end.
  ReduceOp first_op() const { return op_ == ReduceOp::avg ? ReduceOp::sum : op_; }
  double factor() const { return factor_; }
  // Bytes of one element of that piece between hosts. Halves travel as f32 once they are combined or multiplied.
  std::int64_t width_of(const Piece& piece) const;

  // Combines the inputs of the piece's places, in their order, as far as it travels.
  void combine_inputs(const Piece& piece, std::span<const std::byte* const> inputs, std::byte* output,
                      std::int64_t count) const;
  // The result, from what travelled of every piece, in the order of layout().pieces(). It may take the place of a piece.
  void combine_pieces(std::span<const std::byte* const> pieces, std::byte* output, std::int64_t count) const;

 private:
  struct Walk;
  const std::byte* walk(Walk& at, std::int32_t first, std::int32_t last) const;
  void finish(const std::byte* sum, std::byte* output, std::int64_t count) const;
  Reduction reduction(ReduceOp op) const { return {working_, op, factor_, layout_->size()}; }
  // Whether that piece is one rank's input as it is.
  bool travels_raw(const Piece& piece) const { return piece.places() == 1 && op_ != ReduceOp::premul_sum; }
  // What remains to be done with what hosts have combined.
  ReduceOp second_op() const { return first_op() == ReduceOp::premul_sum ? ReduceOp::sum : first_op(); }

  const HostsLayout* layout_;
  Dtype dtype_;
  Dtype working_;  // that partial results are in
  ReduceOp op_;
  double factor_;
};

}  // namespace hocket
