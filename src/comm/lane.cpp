#include "comm/lane.h"

#include "comm/flight_report.h"

namespace hocket {

namespace {

constexpr std::uint32_t owned = 1;
constexpr std::uint32_t one_queued = 2;

}  // namespace

Work Lane::submit(GroupCall& call, bool blocking, std::shared_ptr<const void> keep_alive) {
  std::uint32_t idle = 0;
  if (blocking && busy_.compare_exchange_strong(idle, owned, std::memory_order_acquire)) {
    Status status = run(call);
    disown();
    if (status) return Work();
    auto failed = std::make_shared<QueuedCall>(weak_from_this(), std::move(call));
    failed->finish(std::move(status));
    return Work(std::move(failed));
  }
  auto state = std::make_shared<QueuedCall>(weak_from_this(), std::move(call));
  state->keep_alive = std::move(keep_alive);
  const bool was_idle = enqueue(state);
  if (blocking) help(*state);
  else if (was_idle) threads_->run(shared_from_this());  // or a burst of calls would make a thread for each
  return Work(std::move(state));
}

bool Lane::try_own() {
  std::uint32_t seen = busy_.load(std::memory_order_relaxed);
  while ((seen & owned) == 0) {
    if (busy_.compare_exchange_weak(seen, seen | owned, std::memory_order_acquire)) return true;
  }
  return false;
}

// What came into the queue while this thread was the owner would otherwise wait for ever.
void Lane::disown() {
  const std::uint32_t before = busy_.fetch_sub(owned, std::memory_order_acq_rel);
  if (before != owned) threads_->run(shared_from_this());
}

// Only the owner takes from the queue.
bool Lane::run_next() {
  std::shared_ptr<QueuedCall> state;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    state = std::move(queue_.front());
    queue_.pop_front();
    busy_.fetch_sub(one_queued, std::memory_order_relaxed);
  }
  state->finish(run(*state));
  return true;
}

void Lane::help(WorkState& state) {
  while (state.done.load(std::memory_order_acquire) == 0) {
    if (!try_own()) {
      state.done.wait(0, std::memory_order_acquire);
      continue;
    }
    while (state.done.load(std::memory_order_relaxed) == 0 && run_next()) continue;
    disown();
  }
}

void Lane::drain() {
  if (!try_own()) return;  // the owner calls for a thread when it stops
  while (run_next()) continue;
  disown();
}

Status Lane::run(QueuedCall& state) {
  if (state.call.op != Operator::allocate) return run(state.call);
  HOCKET_CHECK(may_run(state.call));
  Result<SymmetricPlace> place = transport_->allocate(state.call);
  if (!place) return remember(fail(std::move(place).error()));
  state.place = std::move(*place);
  return {};
}

Status Lane::run(GroupCall& call) {
  HOCKET_CHECK(may_run(call));
  return remember(transport_->run(call));
}

Status Lane::may_run(GroupCall& call) {
  call.number = ++calls_;
  if (!failure_) return {};
  return fail(failure_->kind, "{} can't run: group {} failed before: {}", call.to_string(), group_->name(),
              failure_->message);
}

Status Lane::remember(Status status) {
  if (status || status.error().kind != ErrorKind::peer) return status;
  const Rounds* const rounds = transport_->local_rounds();
  if (!failure_ && rounds != nullptr) status.error().message += leave_flight_report(*group_, *rounds, status.error());
  failure_ = status.error();
  return status;
}

Result<std::string> Lane::flight_report() const {
  const Rounds* const rounds = transport_->local_rounds();
  if (rounds != nullptr) return to_json(collect_flight_report(*group_, *rounds, rounds->failure().value_or("")));
  return fail(ErrorKind::usage, "transport {} of group {} keeps no flight records", transport_->name(), group_->name());
}

Result<SymmetricBuffer> Lane::allocate(GroupCall call) {
  const Bytes bytes(call.count);
  auto state = std::make_shared<QueuedCall>(weak_from_this(), std::move(call));
  enqueue(state);
  help(*state);
  if (!state->status) return fail(state->status.error());
  SymmetricPlace& place = state->place;
  return SymmetricBuffer(std::make_shared<const SymmetricBlock>(
      place.offset, bytes, group_->place(), std::move(place.parts),
      [lane = shared_from_this()](std::int64_t offset) { lane->transport_->release(offset); }));
}

Result<std::shared_ptr<Mail>> Lane::mail() {
  const std::lock_guard lock(mail_mutex_);
  if (!mail_) {
    HOCKET_TRY(mail_, make_mail_());
  }
  return mail_;
}

// Who owns the lane runs or passes on what is in the queue, and so does who put the first call there.
bool Lane::enqueue(std::shared_ptr<QueuedCall> state) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(state));
  return busy_.fetch_add(one_queued, std::memory_order_acq_rel) == 0;
}

}  // namespace hocket
