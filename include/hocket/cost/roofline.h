// What a kernel takes by the roofline: as long as its arithmetic or its memory traffic, whichever is longer, and its launch.
#pragma once

#include "hocket/base/dtype.h"
#include "hocket/base/units.h"
#include "hocket/cost/machine.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

// max(flops / FLOP/s of the dtype, moved / memory bandwidth) + launch overhead. `moved`: bytes read plus bytes written.
Nanoseconds roofline(const Machine& machine, double flops, Bytes moved, Dtype dtype);

// Matmul-like, what communication hides behind: by the operator's row, or because the capture says so.
bool is_gemm(const Graph& graph, NodeId id);
bool is_gemm(const Program& program, StepId id);

}  // namespace hocket
