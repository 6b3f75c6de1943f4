// What c10d's users hold of a communication that was started: c10d::Work on top of hocket's.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <mutex>
#include <vector>

#include "group_lane.h"
#include "hocket/comm/work.h"
#include "tensor_memory.h"

namespace hocket {

class BackendWork final : public c10d::Work {
 public:
  // `title` is what a profiler calls it.
  BackendWork(int rank, c10d::OpType op, const char* title, const std::vector<at::Tensor>& inputs,
              std::vector<at::Tensor> outputs, std::uint64_t number);

  // All of these are what is waited for, and then some results go where they belong. Before anybody else has the object.
  void begin(std::vector<hocket::Work> parts, CopiesBack back);
  void goes_over(std::shared_ptr<GroupLane> lane) { lane_ = std::move(lane); }
  // Of a message that is received: whose it is, as soon as it is here.
  void comes_from(std::shared_ptr<const std::int32_t> source) { source_ = std::move(source); }
  // Those of others, as one.
  void begin(std::vector<c10::intrusive_ptr<BackendWork>> others);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override { return source_ ? *source_ : -1; }
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return number_; }

 private:
  bool is_done() const;
  Status wait_for_all() const;
  Status wait_for_each() const;
  // Once, by the first who sees that all are done.
  void conclude() const;
  c10::intrusive_ptr<BackendWork> self();

  std::shared_ptr<GroupLane> lane_;
  std::shared_ptr<const std::int32_t> source_;
  std::vector<hocket::Work> parts_;
  std::vector<c10::intrusive_ptr<BackendWork>> others_;
  CopiesBack back_;
  std::vector<at::Tensor> outputs_;
  std::uint64_t number_;
  mutable std::once_flag concluded_;
  std::mutex future_mutex_;  // guards future_
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Throws it as PyTorch's users expect it: ValueError for a wrong call, DistBackendError for all else.
[[noreturn]] void throw_error(const Error& error);

}  // namespace hocket
