#include "distributed_backend.h"

namespace hocket {

namespace {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw_error(result.error());
  return std::move(*result);
}

}  // namespace

c10::intrusive_ptr<DistributedBackend> DistributedBackend::create(GroupRequest request) {
  const std::shared_ptr<SharedWorld> world = or_throw(SharedWorld::of(request));
  std::shared_ptr<GroupLane> lane = or_throw(world->lane(request));
  return c10::make_intrusive<DistributedBackend>(std::move(request), world, std::move(lane));
}

DistributedBackend::DistributedBackend(GroupRequest request, std::shared_ptr<SharedWorld> world,
                                       std::shared_ptr<GroupLane> lane)
    : Backend(request.rank, request.size),
      request_(std::move(request)),
      options_(c10::make_intrusive<Options>("hocket", request_.timeout)),
      world_(std::move(world)),
      lane_(std::move(lane)),
      communicator_(lane_->lane()) {
  options_->group_name = request_.name;
  options_->global_ranks_in_group.assign(request_.world_ranks.begin(), request_.world_ranks.end());
  init();
}

const Communicator& DistributedBackend::communicator() const {
  TORCH_CHECK(communicator_.has_value(), "the process group ", request_.name,
              " was shut down: nothing can be communicated in it after destroy_process_group()");
  return *communicator_;
}

const Communicator& DistributedBackend::communicator_of_memory() const {
  const Communicator& its = communicator();
  lane_->spoil();
  return its;
}

void DistributedBackend::shutdown() {
  communicator_.reset();
  if (lane_) lane_->give_back();
  lane_.reset();
  world_.reset();
}

void DistributedBackend::abort() {
  if (lane_) lane_->spoil();
  shutdown();
}

c10::intrusive_ptr<c10d::Backend> DistributedBackend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                            const std::vector<int>& ranks,
                                                            const c10::intrusive_ptr<Options>& options) {
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end()) return nullptr;
  GroupRequest request;
  request.store = store;
  request.rank = static_cast<int>(own - ranks.begin());
  request.size = static_cast<int>(ranks.size());
  request.timeout = options ? options->timeout : options_->timeout;
  request.name = options ? options->group_name : request_.name + " split";
  for (const int rank : ranks) {
    request.world_ranks.push_back(request_.world_ranks.empty() ? rank
                                                               : request_.world_ranks[static_cast<std::size_t>(rank)]);
  }
  return create(std::move(request));
}

void DistributedBackend::startCoalescing() {
  TORCH_CHECK(!coalesced_, "startCoalescing() in a process group that is coalescing: end that first");
  coalesced_.emplace();
}

DistributedBackend::WorkHandle DistributedBackend::endCoalescing() {
  TORCH_CHECK(coalesced_.has_value(), "endCoalescing() without startCoalescing()");
  auto work = c10::make_intrusive<BackendWork>(rank_, c10d::OpType::COALESCED, "hocket:coalesced", Tensors(), Tensors(),
                                               calls_);
  work->begin(std::move(*coalesced_));
  coalesced_.reset();
  return work;
}

DistributedBackend::Started DistributedBackend::start(c10d::OpType op, const char* title, const Tensors& inputs,
                                                      Tensors outputs, std::chrono::milliseconds timeout, bool async) {
  static_cast<void>(communicator());  // throws after shutdown()
  Started started;
  started.work = c10::make_intrusive<BackendWork>(rank_, op, title, inputs, std::move(outputs), ++calls_);
  started.work->goes_over(lane_);
  lane_->count_call();
  started.options.blocking = !async && !coalesced_;
  started.options.timeout = timeout == c10d::kUnsetTimeout ? options_->timeout : timeout;
  started.options.site = CallSite{"", 0};  // the caller is in Python
  return started;
}

const CallOptions& DistributedBackend::options_with(Started& started, std::initializer_list<at::Tensor> memory) {
  // Who waits for the call keeps what it has given.
  if (!started.options.blocking) started.options.keep_alive = std::make_shared<const Tensors>(memory);
  return started.options;
}

DistributedBackend::WorkHandle DistributedBackend::finish(Started& started, Work work) {
  return finish(started, std::vector<Work>{std::move(work)});
}

DistributedBackend::WorkHandle DistributedBackend::finish(Started& started, std::vector<Work> works) {
  if (coalesced_) coalesced_->push_back(started.work);
  started.work->begin(std::move(works), std::move(started.back));
  return started.work;
}

std::int32_t DistributedBackend::root(const char* op, std::int64_t rank) const {
  TORCH_CHECK_VALUE(rank >= 0 && rank < size_, op, " got ", rank,
                    " as the rank of the group that it goes from or to, "
                    "expected 0 to ",
                    size_ - 1);
  return static_cast<std::int32_t>(rank);
}

}  // namespace hocket
