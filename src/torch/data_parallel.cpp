#include "hocket/torch/data_parallel.h"

#include <ATen/ATen.h>
#include <c10/util/strides.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "hocket/comm/world.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/symmetric_tensor.h"
#include "torch/check.h"
#include "torch/dispatch.h"

namespace hocket {

namespace {

using torch::autograd::variable_list;

// Beyond this a tensor travels by itself: packing would take longer than another communication.
constexpr std::size_t worth_packing = 64 << 10;  // bytes

// Small tensors of one dtype that travel together. Running means are dozens, and each by itself would be a round trip between hosts.
class Parcel {
 public:
  explicit Parcel(const at::Tensor& first) : tensors_{first} {}
  bool takes(const at::Tensor& tensor) const { return tensor.scalar_type() == tensors_[0].scalar_type(); }
  void add(const at::Tensor& tensor) { tensors_.push_back(tensor); }

  void send(const GroupRef& group) { packed_ = broadcast_(at::flatten_dense_tensors(tensors_), 0, group); }
  void unpack() const {
    const std::vector<at::Tensor> parts = at::unflatten_dense_tensors(packed_.wait(), tensors_);
    for (std::size_t i = 0; i < parts.size(); ++i) tensors_[i].copy_(parts[i]);
  }

 private:
  std::vector<at::Tensor> tensors_;
  AsyncTensor packed_;
};

// Tensors of the first rank on their way to all.
class TensorBroadcast {
 public:
  enum class Writes { at_once, at_the_end };  // when the tensors may change

  void start(const std::vector<at::Tensor>& tensors, const GroupRef& group, Writes writes) {
    const at::AutoGradMode no_grad(false);
    parcels_.clear();
    large_.clear();
    for (const at::Tensor& tensor : tensors) {
      const at::Tensor all = tensor.detach();
      if (all.nbytes() <= worth_packing) pack(all);
      else if (writes == Writes::at_once && all.is_contiguous()) large_.emplace_back(all, broadcast_(all, 0, group));
      else large_.emplace_back(all, broadcast(all, 0, group));
    }
    for (Parcel& parcel : parcels_) parcel.send(group);
  }

  void finish() {
    const at::AutoGradMode no_grad(false);
    for (const auto& [tensor, from_first] : large_) {
      const at::Tensor whole = from_first.wait();
      if (!whole.is_alias_of(tensor)) tensor.copy_(whole);
    }
    for (const Parcel& parcel : parcels_) parcel.unpack();
    parcels_.clear();
    large_.clear();
  }

 private:
  void pack(const at::Tensor& tensor) {
    const auto fitting = std::ranges::find_if(parcels_, [&](const Parcel& parcel) { return parcel.takes(tensor); });
    if (fitting == parcels_.end()) parcels_.emplace_back(tensor);
    else fitting->add(tensor);
  }

  std::vector<Parcel> parcels_;  // one for each dtype
  std::vector<std::pair<at::Tensor, AsyncTensor>> large_;
};

// What tells that a tensor was written meanwhile.
std::vector<std::uint32_t> versions_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::uint32_t> versions;
  for (const at::Tensor& tensor : tensors) {
    versions.push_back(tensor.is_inference() ? 0 : static_cast<std::uint32_t>(tensor._version()));
  }
  return versions;
}

// A backward that is under way. The engine keeps it, and drops it when the backward ends, or fails.
struct Backward {};

// Gradients that are averaged together. All ranks make the same buckets, since they have the same parameters.
struct Bucket {
  std::vector<std::size_t> parameters;
  at::Tensor memory;
  std::vector<at::Tensor> gradients;  // of the parameters, on this memory
  std::size_t ready = 0;
  AsyncTensor communication;
};

}  // namespace

// The backward runs in the thread that called it, hook after hook: one backward at a time.
struct GradientAverager::State : std::enable_shared_from_this<State> {
  State(std::vector<at::Tensor> its_parameters, std::vector<at::Tensor> its_buffers,
        const DataParallelOptions& its_options);
  void make_buckets();
  void close(Bucket bucket);
  void give_memory(Bucket& bucket);
  void listen();
  void gradient_is_there(std::size_t parameter);
  void average_in_capture(const at::Tensor& parameter) const;
  void begin_forward();
  void begin_backward();
  void empty_buckets();
  void start_ready_buckets();
  void end_backward();
  void put_into_bucket(Bucket& bucket, std::size_t place);

  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> buffers;
  DataParallelOptions options;
  std::vector<Bucket> buckets;
  std::vector<std::pair<std::size_t, std::size_t>> place_of;            // by parameter: its bucket, and its place there
  std::vector<bool> is_ready;                                           // by parameter
  std::vector<c10::intrusive_ptr<torch::autograd::Node>> accumulators;  // or the hooks would go with them
  std::size_t next_bucket = 0;  // the first that was not started: all ranks start them in the same order
  bool averages = true;
  std::weak_ptr<Backward> backward;  // null: none is under way
  TensorBroadcast buffers_of_first;
  std::vector<std::uint32_t> buffer_versions;  // when they were last the same on all ranks
  bool forward_since = false;                  // then
};

GradientAverager::State::State(std::vector<at::Tensor> its_parameters, std::vector<at::Tensor> its_buffers,
                               const DataParallelOptions& its_options)
    : options(its_options) {
  if (options.broadcast_buffers) buffers = std::move(its_buffers);
  buffer_versions = versions_of(buffers);
  for (at::Tensor& parameter : its_parameters) {
    if (parameter.requires_grad()) parameters.push_back(std::move(parameter));
  }
  place_of.resize(parameters.size());
  is_ready.resize(parameters.size(), false);
}

// From the last parameter to the first, as the backward has them. A bucket is of one dtype.
void GradientAverager::State::make_buckets() {
  Bucket bucket;
  std::int64_t bytes = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters[i];
    const std::int64_t limit = (buckets.empty() ? options.first_bucket : options.bucket).count;
    const bool other_dtype =
        !bucket.parameters.empty() && parameters[bucket.parameters[0]].scalar_type() != parameter.scalar_type();
    if (!bucket.parameters.empty() && (bytes >= limit || other_dtype)) {
      close(std::move(bucket));
      bucket = {};
      bytes = 0;
    }
    bucket.parameters.push_back(i);
    bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  if (!bucket.parameters.empty()) close(std::move(bucket));
}

void GradientAverager::State::close(Bucket bucket) {
  for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
    place_of[bucket.parameters[place]] = {buckets.size(), place};
  }
  buckets.push_back(std::move(bucket));
}

// With the first backward that is not captured: a compiled step has memory of its own. Collective, as the backward is.
void GradientAverager::State::give_memory(Bucket& bucket) {
  std::int64_t elements = 0;
  for (const std::size_t i : bucket.parameters) elements += parameters[i].numel();
  const at::TensorOptions like = parameters[bucket.parameters[0]].options().requires_grad(false);
  bucket.memory = symmetric_empty({elements}, like, options.group).zero_();
  std::int64_t at = 0;
  for (const std::size_t i : bucket.parameters) {
    const std::int64_t count = parameters[i].numel();
    // On the same memory, but no view to autograd: Optimizer::zero_grad(false) would not take one.
    bucket.gradients.push_back(at::empty({0}, like).set_(bucket.memory.storage(), bucket.memory.storage_offset() + at,
                                                         parameters[i].sizes(),
                                                         c10::contiguous_strides(parameters[i].sizes())));
    at += count;
  }
}

void GradientAverager::State::listen() {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
    accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [self = weak_from_this(), i](const variable_list& outputs, const variable_list&) {
          if (const auto state = self.lock()) state->gradient_is_there(i);
          return outputs;
        }));
    accumulators.push_back(std::move(accumulator));
  }
}

void GradientAverager::State::gradient_is_there(std::size_t parameter) {
  if (!averages) return;
  if (backward.expired()) begin_backward();
  if (current_recorder() != nullptr) return average_in_capture(parameters[parameter]);
  if (is_ready[parameter]) {
    throw CollectiveError(
        {ErrorKind::usage,
         fmt::format("parameter {} got a gradient twice in one backward: a model that is used several "
                     "times before its loss adds up under no_sync(), or calls forward once",
                     parameter),
         ""});
  }
  is_ready[parameter] = true;
  auto& [bucket, place] = place_of[parameter];
  put_into_bucket(buckets[bucket], place);
  ++buckets[bucket].ready;
  start_ready_buckets();
}

// Alone, so that passes see it.
void GradientAverager::State::average_in_capture(const at::Tensor& parameter) const {
  const at::AutoGradMode no_grad(false);
  const at::Tensor average = all_reduce(parameter.grad(), ReduceOp::avg, options.group);
  if (current_recorder()->keeps_gradient(parameter)) parameter.grad().copy_(average);
  else parameter.mutable_grad() = average;
}

// A captured forward leaves the buffers to the backward behind it.
void GradientAverager::State::begin_forward() {
  if (buffers.empty() || current_recorder() != nullptr) return;
  if (forward_since || versions_of(buffers) != buffer_versions) broadcast_tensors(buffers, options.group);
  forward_since = true;
}

// Other nodes of the backward may still read the buffers, so they change at its end.
void GradientAverager::State::begin_backward() {
  if (current_recorder() == nullptr) empty_buckets();
  buffers_of_first.start(buffers, options.group, TensorBroadcast::Writes::at_the_end);
  const auto now = std::make_shared<Backward>();
  backward = now;
  torch::autograd::Engine::get_default_engine().queue_callback([self = weak_from_this(), now] {
    if (const auto state = self.lock()) state->end_backward();
  });
}

// What a backward that failed has left under way still writes into the buckets.
void GradientAverager::State::empty_buckets() {
  next_bucket = 0;
  std::fill(is_ready.begin(), is_ready.end(), false);
  for (Bucket& bucket : buckets) {
    std::exchange(bucket.communication, {}).wait();
    bucket.ready = 0;
    if (!bucket.memory.defined()) give_memory(bucket);
  }
}

// A gradient that the optimizer has set to nothing comes as a tensor of its own; one that was kept is a view already.
void GradientAverager::State::put_into_bucket(Bucket& bucket, std::size_t place) {
  const at::AutoGradMode no_grad(false);
  const at::Tensor& parameter = parameters[bucket.parameters[place]];
  const at::Tensor& view = bucket.gradients[place];
  if (parameter.grad().is_alias_of(view)) return;
  view.copy_(parameter.grad());
  parameter.mutable_grad() = view;
}

void GradientAverager::State::start_ready_buckets() {
  while (next_bucket < buckets.size() && buckets[next_bucket].ready == buckets[next_bucket].parameters.size()) {
    Bucket& bucket = buckets[next_bucket++];
    bucket.communication = all_reduce_(bucket.memory, ReduceOp::avg, options.group);
  }
}

void GradientAverager::State::end_backward() {
  backward.reset();
  buffers_of_first.finish();
  buffer_versions = versions_of(buffers);
  forward_since = false;
  if (current_recorder() != nullptr) return;
  const at::AutoGradMode no_grad(false);
  for (std::size_t i = next_bucket; i < buckets.size(); ++i) {
    for (std::size_t place = 0; place < buckets[i].parameters.size(); ++place) {
      const std::size_t parameter = buckets[i].parameters[place];
      if (is_ready[parameter]) continue;
      if (!options.unused_parameters) {
        throw CollectiveError(
            {ErrorKind::usage,
             fmt::format("parameter {} of {} had no part in the loss: let all have one, or set unused_parameters",
                         parameter, parameters.size()),
             ""});
      }
      buckets[i].gradients[place].zero_();
      parameters[parameter].mutable_grad() = buckets[i].gradients[place];
    }
    buckets[i].ready = buckets[i].parameters.size();
  }
  start_ready_buckets();
  for (Bucket& bucket : buckets) {
    bucket.communication.wait();
    bucket.communication = {};
  }
}

GradientAverager::GradientAverager(std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers,
                                   const DataParallelOptions& options)
    : state_(std::make_shared<State>(std::move(parameters), std::move(buffers), options)) {
  state_->make_buckets();
  state_->listen();
}

GradientAverager::~GradientAverager() = default;
void GradientAverager::set_averaging(bool on) { state_->averages = on; }
void GradientAverager::begin_forward() { state_->begin_forward(); }
std::size_t GradientAverager::buckets() const { return state_->buckets.size(); }

void broadcast_tensors(const std::vector<at::Tensor>& tensors, const GroupRef& group) {
  TensorBroadcast all;
  all.start(tensors, group, TensorBroadcast::Writes::at_once);
  all.finish();
}

}  // namespace hocket
