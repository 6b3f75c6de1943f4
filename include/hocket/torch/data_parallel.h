// Data-parallel training of C++ modules: every rank has the whole model and a part of the batch, and the gradients are averaged over
// the ranks while the backward still computes.
//
//   DistributedDataParallel<Net> net(std::make_shared<Net>(), {.group = "world"});
//   loss_of(net.forward(x)).backward();       // the gradients are averaged when it returns
//   optimizer.step();
//
// Inside capture() and compile() each gradient is averaged by a functional collective of its own: there the passes decide what is
// communicated together, and when.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "hocket/base/units.h"
#include "hocket/comm/group_ref.h"

namespace hocket {

struct DataParallelOptions {
  GroupRef group = "world";
  Bytes first_bucket{std::int64_t{1} << 20};  // small, so that communication begins early
  Bytes bucket{std::int64_t{25} << 20};
  bool unused_parameters = false;  // some parameters may have no part in the loss: their gradient counts as zero
  bool broadcast_buffers = true;   // running means and the like become those of the first rank with every backward
};

// Averages the gradients of parameters, in buckets, whose memory the gradients are views of. Parameters are given in the order of
// their use; the backward has their gradients in the reverse order.
//
// Buffers of the first rank become those of all while the backward computes, so that no forward has to wait for them.
class GradientAverager {
 public:
  // The ranks have the same buffers.
  GradientAverager(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
                   const DataParallelOptions& options);
  ~GradientAverager();
  GradientAverager(const GradientAverager&) = delete;
  GradientAverager& operator=(const GradientAverager&) = delete;

  // Off: gradients add up on this rank, and the next backward with it on averages the sums.
  void set_averaging(bool on);
  // A forward that changes buffers is about to begin. Where they were changed since the last backward, by another such forward or by
  // the program, those of the first rank become those of all first. Collective then.
  void begin_forward();
  std::size_t buckets() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // hooks of parameters that outlive it find it gone
};

// Gives the tensors of the group's first rank to all. Collective.
void broadcast_tensors(const std::vector<at::Tensor>& tensors, const GroupRef& group);

template <class Module>
class DistributedDataParallel {
 public:
  // Collective: the parameters and buffers of the first rank become those of all.
  explicit DistributedDataParallel(std::shared_ptr<Module> module, DataParallelOptions options = {})
      : module_(std::move(module)),
        options_(std::move(options)),
        averager_((broadcast_tensors(module_->parameters(), options_.group),
                   broadcast_tensors(module_->buffers(), options_.group), module_->parameters()),
                  module_->buffers(), options_) {}

  template <class... Args>
  auto forward(Args&&... args) {
    if (averages_ && module_->is_training()) averager_.begin_forward();
    return module_->forward(std::forward<Args>(args)...);
  }

  // While one lives, backwards don't communicate and gradients add up on this rank.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& all) : all_(all), before_(all.averages_) { all_.average(false); }
    ~NoSync() { all_.average(before_); }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallel& all_;
    bool before_;
  };
  NoSync no_sync() { return NoSync(*this); }

  Module& module() { return *module_; }
  std::vector<at::Tensor> parameters() const { return module_->parameters(); }
  std::size_t buckets() const { return averager_.buckets(); }

 private:
  void average(bool on) {
    averages_ = on;
    averager_.set_averaging(on);
  }

  std::shared_ptr<Module> module_;
  DataParallelOptions options_;
  GradientAverager averager_;
  bool averages_ = true;
};

}  // namespace hocket
