// What lowering decided, and why: typed, so that tests and tools can ask, and in words, so that people can read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

// How an all-reduce is carried out; every other collective is the transport's.
enum class ReduceAlgorithm : std::uint8_t {
  one_shot,   // every rank reads all peers' buffers and adds them up: least latency, most bytes
  two_shot,   // every rank adds up its part, then reads the others' parts
  pipelined,  // the transport's, in pieces, beside computation: the only one that can be overlapped
};

enum class AlgorithmReason : std::uint8_t {
  small,             // not above the limit of the one-shot kernel
  medium,            // not above the limit of the two-shot kernel
  large,             // above both
  forced,            // the options say so
  no_kernel,         // only an all-reduce of one tensor has kernels
  not_a_sum,         // the kernels add
  symbolic_size,     // how large it is is known at run time only
  spans_hosts,       // peers cannot read each other's memory
  not_communicable,  // its buffer could not be realised as a communication buffer
};

// Why a tensor that is communicated does not lie in symmetric memory where it was.
enum class OrdinaryReason : std::uint8_t {
  not_owned,         // an input or a constant: the caller allocated it
  symbolic_size,     // no offset can be agreed on
  other_group,       // its buffer is a communication buffer of another group
  no_symmetric,      // the options say that this group has no symmetric memory
  point_to_point,    // only two ranks take part: the others have no such buffer
  uneven_parts,      // an all-to-all with given split sizes: other ranks may have other sizes
  unknown_operator,  // no lowering says what this operator reads and writes of it
};

enum class CopyReason : std::uint8_t {
  in_place_form,  // an out-of-place collective whose input is still needed: copy, then in place
  layout,         // not contiguous
  not_owned,      // into a communication buffer, since that pays for a tensor this small
  other_group,    // its buffer is a communication buffer of another group
  copy_back,      // from the communication buffer to where the value lives
};

enum class DroppedWaitReason : std::uint8_t {
  blocking,           // the kernel runs to its end
  already_waited,     // an earlier wait completed the same communication
  nothing_in_flight,  // what it names is no result of a communication
};

std::string_view name_of(ReduceAlgorithm algorithm);  // "one_shot"
std::optional<ReduceAlgorithm> reduce_algorithm_from_name(std::string_view name);
std::string_view words_for(AlgorithmReason reason);
std::string_view words_for(OrdinaryReason reason);
std::string_view words_for(CopyReason reason);
std::string_view words_for(DroppedWaitReason reason);

// A buffer that a collective reads or writes; its home is in the program.
struct CollectiveBuffer {
  BufferId buffer;
  std::optional<OrdinaryReason> ordinary;  // why it is no communication buffer; nothing: it is one
};

struct LoweredCollective {
  NodeId node;  // in the graph
  StepId step;
  ReduceAlgorithm algorithm = ReduceAlgorithm::pipelined;
  AlgorithmReason reason = AlgorithmReason::no_kernel;
  std::vector<CollectiveBuffer> buffers;  // in the order in which the lowering asked for them
};

// A copy that the graph did not have. None of them may be fused with its neighbours: that would delay the collective
// which it stands before, or the steps which wait for it.
struct InsertedCopy {
  NodeId node;  // the collective that it is for
  StepId step;
  BufferId from;
  BufferId to;
  CopyReason reason = CopyReason::layout;
  Bytes bytes;
  bool never_fuse = true;
};

struct DroppedWait {
  NodeId wait;
  NodeId collective;  // none() where nothing was in flight
  DroppedWaitReason reason = DroppedWaitReason::blocking;
};

// Step ids are those of the program that lower() gave: a pass that changes the order makes names the way to find them again.
struct LowerReport {
  std::vector<LoweredCollective> collectives;
  std::vector<InsertedCopy> copies;
  std::vector<DroppedWait> dropped_waits;
  std::vector<NodeId> taken_over;  // out-of-place collectives that write their input, which dies there: no copy
  std::size_t vanished = 0;        // nodes that are no steps: views, getitem, numbers that are known

  // Is this a step that nothing may be fused with?
  bool never_fuse(StepId step) const;
};

// A line, then one for each collective, copy and dropped wait.
std::string describe(const LowerReport& report, const Graph& graph, const Program& program);

}  // namespace hocket
