#include "hocket/torch/reduce_by.h"

#include "torch/check.h"

namespace hocket {

ReduceBy::ReduceBy(std::string_view name) : op(ReduceOp::sum) {
  const auto known = reduce_op_from_name(name);
  if (known == ReduceOp::premul_sum) {
    throw CollectiveError({ErrorKind::usage, "premul_sum needs its factor: write premul_sum(0.5)", ""});
  }
  if (!known) {
    throw CollectiveError({ErrorKind::usage,
                           fmt::format("unknown reduce operation {}; known: sum, avg, product, min, max, band, bor, "
                                       "bxor, premul_sum",
                                       name),
                           ""});
  }
  op = *known;
}

}  // namespace hocket
