#include "hocket/lower/report.h"

#include <algorithm>
#include <array>

namespace hocket {

namespace {
constexpr std::array<std::string_view, 3> algorithm_names = {"one_shot", "two_shot", "pipelined"};
}

std::string_view name_of(ReduceAlgorithm algorithm) { return algorithm_names[static_cast<std::size_t>(algorithm)]; }

std::optional<ReduceAlgorithm> reduce_algorithm_from_name(std::string_view name) {
  const auto found = std::find(algorithm_names.begin(), algorithm_names.end(), name);
  if (found == algorithm_names.end()) return std::nullopt;
  return static_cast<ReduceAlgorithm>(found - algorithm_names.begin());
}

std::string_view words_for(AlgorithmReason reason) {
  switch (reason) {
    case AlgorithmReason::small: return "it is small";
    case AlgorithmReason::medium: return "it is of medium size";
    case AlgorithmReason::large: return "it is large";
    case AlgorithmReason::forced: return "the options say so";
    case AlgorithmReason::no_kernel: return "only an all-reduce of one tensor has kernels";
    case AlgorithmReason::not_a_sum: return "the kernels only add";
    case AlgorithmReason::symbolic_size: return "its size is known at run time only";
    case AlgorithmReason::spans_hosts: return "its ranks are on several hosts";
    case AlgorithmReason::not_communicable: return "its tensor is not in symmetric memory";
  }
  return "";
}

std::string_view words_for(OrdinaryReason reason) {
  switch (reason) {
    case OrdinaryReason::not_owned: return "the program does not own its memory";
    case OrdinaryReason::symbolic_size: return "its size is known at run time only";
    case OrdinaryReason::other_group: return "it is a communication buffer of another group";
    case OrdinaryReason::no_symmetric: return "the options give this group no symmetric memory";
    case OrdinaryReason::point_to_point: return "only two ranks take part";
    case OrdinaryReason::uneven_parts: return "other ranks may have other split sizes";
    case OrdinaryReason::unknown_operator: return "no lowering knows the operator";
  }
  return "";
}

std::string_view words_for(CopyReason reason) {
  switch (reason) {
    case CopyReason::in_place_form: return "the input is needed as it was";
    case CopyReason::layout: return "it is not contiguous";
    case CopyReason::not_owned: return "the program does not own its memory";
    case CopyReason::other_group: return "it is a communication buffer of another group";
    case CopyReason::copy_back: return "the value lives there";
  }
  return "";
}

std::string_view words_for(DroppedWaitReason reason) {
  switch (reason) {
    case DroppedWaitReason::blocking: return "the kernel runs to its end";
    case DroppedWaitReason::already_waited: return "an earlier wait completed it";
    case DroppedWaitReason::nothing_in_flight: return "nothing is in flight";
  }
  return "";
}

bool LowerReport::never_fuse(StepId step) const {
  const auto found = std::lower_bound(copies.begin(), copies.end(), step,
                                      [](const InsertedCopy& c, StepId id) { return c.step < id; });
  return found != copies.end() && found->step == step && found->never_fuse;
}

std::string describe(const LowerReport& report, const Graph& graph, const Program& program) {
  std::string text = fmt::format(
      "{} nodes became {} steps: {} vanished, {} collectives, {} copies inserted, {} waits dropped\n", graph.size(),
      program.size(), report.vanished, report.collectives.size(), report.copies.size(), report.dropped_waits.size());
  for (const LoweredCollective& collective : report.collectives) {
    text += fmt::format("{}: {} ({}: {})\n", graph.name(collective.node), program.op_name(collective.step),
                        name_of(collective.algorithm), words_for(collective.reason));
    for (const CollectiveBuffer& entry : collective.buffers) {
      const Buffer& buffer = program.buffer(entry.buffer);
      text += fmt::format("  %{}: {}", program.name(entry.buffer), name_of(buffer.home));
      if (buffer.home == Home::symmetric) text += fmt::format(" @{}", program.group(buffer.group).name);
      if (entry.ordinary) text += fmt::format(", since {}", words_for(*entry.ordinary));
      text += '\n';
    }
  }
  for (const InsertedCopy& copy : report.copies) {
    text += fmt::format("{}: copies {} from %{} to %{}, since {}{}\n", program.name(copy.step), to_string(copy.bytes),
                        program.name(copy.from), program.name(copy.to), words_for(copy.reason),
                        copy.never_fuse ? "; never fused" : "");
  }
  for (const DroppedWait& dropped : report.dropped_waits)
    text += fmt::format("{}: dropped, since {}\n", graph.name(dropped.wait), words_for(dropped.reason));
  return text;
}

}  // namespace hocket
