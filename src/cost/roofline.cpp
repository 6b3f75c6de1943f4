#include "hocket/cost/roofline.h"

#include <algorithm>

namespace hocket {

Nanoseconds roofline(const Machine& machine, double flops, Bytes moved, Dtype dtype) {
  const double rate = compute_rate(machine, dtype).flops_per_second;
  const double arithmetic = flops > 0 && rate > 0 ? flops / rate : 0;
  const double traffic =
      moved.count > 0 && machine.memory_bandwidth > 0 ? static_cast<double>(moved.count) / machine.memory_bandwidth : 0;
  return Nanoseconds::from_seconds(std::max(arithmetic, traffic)) + machine.launch_overhead;
}

bool is_gemm(const Graph& graph, NodeId id) {
  const OpSpec* row = graph.op_spec(id);
  return graph.node(id).gemm || (row != nullptr && row->effects.gemm);
}

bool is_gemm(const Program& program, StepId id) {
  const OpSpec* row = program.op_spec(id);
  return program.step(id).gemm || (row != nullptr && row->effects.gemm);
}

}  // namespace hocket
