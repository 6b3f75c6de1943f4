// Which algorithm carries out an all-reduce.
#pragma once

#include <string_view>
#include <utility>

#include "hocket/lower/lower.h"

namespace hocket {

struct AlgorithmChoice {
  ReduceAlgorithm algorithm = ReduceAlgorithm::pipelined;
  AlgorithmReason reason = AlgorithmReason::large;
};

// For a tensor of this type on this group. `reduce` is the name of the reduce operation, in any case.
AlgorithmChoice choose_algorithm(const TypeView& type, std::string_view reduce, const Group& group,
                                 const LowerOptions& options);

}  // namespace hocket
