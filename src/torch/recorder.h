// Records the operators of one step. The dispatcher hands every operator call to it (see dispatch.h), below autograd:
// forward, backward and optimizer alike.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hocket/torch/capture.h"
#include "torch/arguments.h"
#include "torch/captured_groups.h"
#include "torch/recording.h"
#include "torch/values.h"

namespace hocket {

class Recorder {
 public:
  explicit Recorder(const CaptureOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Status add_input(const std::string& name, const at::Tensor& tensor);
  Result<GroupId> group(const GroupSpec& spec) { return recording_.group(spec); }
  // The group that a collective of the step is given, by a name that the graph knows.
  Result<CapturedGroup> resolve(const GroupRef& ref);

  // Is the gradient of this leaf in memory that the leaf had as its gradient before the step?
  bool keeps_gradient(const at::Tensor& leaf) const;
  // Do the tensors of the step have no data?
  bool on_meta() const { return on_meta_; }
  const std::string& device() const { return options_.device; }

  // Runs and records one call. Throws where the call cannot be captured; error() then says why.
  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack);

  Status add_results(const std::vector<at::Tensor>& results);

  // Puts back what the step wrote into tensors from outside, and their gradients.
  void restore();

  const std::optional<Error>& error() const { return error_; }
  // The operator that threw last by itself, for errors that leave the step.
  const std::string& thrown_by() const { return thrown_by_; }

  Result<Capture> finish() const { return recording_.finish(options_); }

 private:
  using Args = std::span<const c10::IValue>;
  struct CallRecord;

  [[noreturn]] void give_up(const c10::FunctionSchema& schema, Error error);
  void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack, Args args,
           const CallRecord* record);
  void run_collective(const c10::FunctionSchema& schema, Args args, const CallRecord& record, torch::jit::Stack& stack);

  Result<CallRecord> begin(const c10::FunctionSchema& schema, Args args, const std::vector<bool>& written, bool reads);
  Status end(const c10::FunctionSchema& schema, Args args, CallRecord record, Args results);
  bool all_known(Args results);

  Result<NodeId> node_of(const at::Tensor& tensor, bool reads);
  Result<NodeId> attribute(const at::Tensor& tensor);
  Result<NodeId> restrided(const at::Tensor& tensor, Memory& memory);
  NodeId element_node(const at::Tensor& tensor, const TensorLayout& layout, const Value& list);
  Result<OutputSpec> output_spec(const at::Tensor& tensor);
  void note_outside(const at::Tensor& tensor);
  void save_written(Args args, const std::vector<bool>& written);

  const CaptureOptions& options_;
  Recording recording_;
  CapturedGroups groups_;
  ValueMap values_;
  bool on_meta_ = false;
  std::optional<Error> error_;
  std::string thrown_by_;

  struct SavedMemory {
    std::uint64_t key;
    at::Tensor memory;  // as bytes
    at::Tensor copy;
  };
  std::vector<SavedMemory> saved_;
  std::vector<std::pair<at::Tensor, at::Tensor>> gradients_;  // a leaf from outside and its .grad before the step
};

}  // namespace hocket
