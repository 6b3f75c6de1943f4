// One collective on its way to a step: gives each tensor a place that the communication can work on (contiguous, in symmetric
// memory where that is possible), with the copies that this takes, and keeps account of it for the report.
#pragma once

#include <string_view>
#include <vector>

#include "hocket/lower/emitter.h"

namespace hocket {

class CollectiveCall {
 public:
  // The group stands where the operator's row says; it is an error if it does not.
  static Result<CollectiveCall> of(Emitter& emit, NodeId node);

  Emitter& emitter() { return emit_; }
  NodeId node() const { return node_; }
  GroupId group() const { return group_; }
  // The tensors of an argument: itself, or the elements of a list.
  std::vector<OperandId> tensors(std::size_t argument);

  // Where the collective can read a value.
  OperandId readable(OperandId value);
  // Where it can write it; what it writes elsewhere is copied back when it is complete.
  OperandId writable(OperandId value, bool also_read);
  // A new contiguous tensor in symmetric memory.
  OperandId communication_buffer(OperandId like);

  // Appends the step. It reports these buffers and the algorithm that was chosen.
  StepId emit(std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords,
              std::span<const OperandId> writes);
  void chose(ReduceAlgorithm algorithm, AlgorithmReason reason) {
    lowered_.algorithm = algorithm;
    lowered_.reason = reason;
  }
  bool all_symmetric() const;  // of those asked for so far
  // Without symmetric memory, for this reason.
  void keep_ordinary(OrdinaryReason reason) { ordinary_ = reason; }

 private:
  CollectiveCall(Emitter& emit, NodeId node, GroupId group) : emit_(emit), node_(node), group_(group) {
    lowered_.node = node;
  }
  std::optional<OrdinaryReason> realize(OperandId value);
  void note(OperandId value, std::optional<OrdinaryReason> ordinary);

  Emitter& emit_;
  NodeId node_;
  GroupId group_;
  std::optional<OrdinaryReason> ordinary_;
  LoweredCollective lowered_;
  std::vector<Emitter::CopyBack> copies_back_;
};

}  // namespace hocket
