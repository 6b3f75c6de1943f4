// The c10d back end "hocket": what torch.distributed calls, on the CPU. In a host through shared memory, between hosts through gloo.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "backend_work.h"
#include "reduction.h"
#include "shared_world.h"
#include "tensor_memory.h"

namespace hocket {

// Calls of one group are carried out in the order in which they were made; messages wait neither for them nor for each other.
class DistributedBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using WorkHandle = c10::intrusive_ptr<c10d::Work>;

  // Collective over the ranks of the group. Throws.
  static c10::intrusive_ptr<DistributedBackend> create(GroupRequest request);
  DistributedBackend(GroupRequest request, std::shared_ptr<SharedWorld> world, std::shared_ptr<GroupLane> lane);
  ~DistributedBackend() override { shutdown(); }

  const Communicator& communicator() const;
  // For memory that stays after the group.
  const Communicator& communicator_of_memory() const;

  // NOLINTNEXTLINE(readability-const-return-type): as PyTorch's
  const std::string getBackendName() const override { return "hocket"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  void setTimeout(std::chrono::milliseconds timeout) override { options_->timeout = timeout; }
  void setSequenceNumberForGroup() override {}  // all ranks begin with 0
  std::uint64_t getSequenceNumberForGroup() override { return calls_; }
  void startCoalescing() override;
  WorkHandle endCoalescing() override;
  // The group can't be used any more.
  void shutdown() final;
  void abort() override;
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;

  // backend_collectives.cpp
  WorkHandle broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkHandle allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkHandle allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  WorkHandle reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkHandle _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override;
  WorkHandle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::ReduceScatterOptions& opts) override;
  WorkHandle alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                           std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions& opts) override;
  WorkHandle barrier(const c10d::BarrierOptions& opts) override;

  // backend_lists.cpp
  WorkHandle allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkHandle allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkHandle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::AllgatherOptions& opts) override;
  WorkHandle reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& opts) override;
  WorkHandle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::ReduceScatterOptions& opts) override;
  WorkHandle gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  WorkHandle scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) override;
  WorkHandle alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;

  // backend_sparse.cpp
  WorkHandle allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) override;

  // backend_messages.cpp
  WorkHandle send(Tensors& tensors, int destination, int tag) override;
  WorkHandle recv(Tensors& tensors, int source, int tag) override;
  WorkHandle recvAnysource(Tensors& tensors, int tag) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;

 private:
  // A call that is about to be made: what its options are and what becomes of it.
  struct Started {
    c10::intrusive_ptr<BackendWork> work;
    CallOptions options;
    CopiesBack back;
  };
  template <class Opts>
  Started start(c10d::OpType op, const char* title, const Tensors& inputs, Tensors outputs, const Opts& opts) {
    return start(op, title, inputs, std::move(outputs), opts.timeout, opts.asyncOp);
  }
  Started start(c10d::OpType op, const char* title, const Tensors& inputs, Tensors outputs,
                std::chrono::milliseconds timeout, bool async);
  // With `memory` kept until it is complete.
  static const CallOptions& options_with(Started& started, std::initializer_list<at::Tensor> memory);
  WorkHandle finish(Started& started, Work work);
  WorkHandle finish(Started& started, std::vector<Work> works);
  WorkHandle message(c10d::OpType op, const char* title, Tensors& tensors, int peer, int tag);
  WorkHandle receive_from_anyone(Started& started, const Transfer& into, Dtype dtype, int tag);
  // An all_gather into the tensors of the list; into large ones without one that holds them all.
  void add_gather(const char* op, Started& started, const at::Tensor& input, const Tensors& list,
                  std::vector<Work>& works);
  // What all ranks have, one behind the other, when it returns.
  at::Tensor gather_now(const at::Tensor& mine, const CallOptions& options);
  std::int32_t root(const char* op, std::int64_t rank) const;

  GroupRequest request_;
  c10::intrusive_ptr<Options> options_;
  std::shared_ptr<SharedWorld> world_;
  std::shared_ptr<GroupLane> lane_;  // nothing after shutdown(), as the next
  std::optional<Communicator> communicator_;
  std::uint64_t calls_ = 0;
  std::int32_t monitored_ = 0;                                             // barriers
  std::optional<std::vector<c10::intrusive_ptr<BackendWork>>> coalesced_;  // since startCoalescing()
};

}  // namespace hocket
