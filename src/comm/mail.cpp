#include "comm/mail.h"

#include <sched.h>

#include <algorithm>

#include "comm/any_source.h"
#include "comm/mail_wire.h"

namespace hocket {

Mail::Mail(std::unique_ptr<MailRings> rings, std::shared_ptr<LaneThreads> threads)
    : rings_(std::move(rings)), threads_(std::move(threads)) {
  threads_->add_runner();
}

Mail::~Mail() { threads_->remove_runner(); }

Result<std::shared_ptr<Mail>> Mail::create(std::shared_ptr<Host> host, GroupHandle group, const Digest& name,
                                           std::vector<std::int32_t> members, std::shared_ptr<LaneThreads> threads,
                                           const MailWire& wire) {
  HOCKET_TRY(std::unique_ptr<MailRings> rings, MailRings::create(std::move(host), name, members));
  std::shared_ptr<Mail> mail(new Mail(std::move(rings), std::move(threads)));
  const std::vector<std::int32_t>& ranks = group->ranks();
  const std::int32_t own = ranks[static_cast<std::size_t>(group->place())];
  for (std::int32_t place = 0; place < group->size(); ++place) {
    const auto index = static_cast<std::size_t>(place);
    const bool is_here = members[index] >= 0;
    mail->peers_.emplace_back(
        is_here ? mail->rings_->route_to(place) : make_wire_route(wire.channel, wire.watch, place),
        MailInbox(ranks[index], own, place, mail->from_anyone_));
  }
  return mail;
}

std::shared_ptr<WorkState> Mail::submit(std::vector<GroupCall> calls, std::shared_ptr<const void> keep_alive) {
  auto batch = std::make_shared<MailBatch>(weak_from_this(), std::move(calls));
  batch->keep_alive = std::move(keep_alive);
  if (batch->calls.empty()) {
    batch->finish({});
    return batch;
  }
  bool was_idle = false;
  {
    const std::lock_guard lock(mutex_);
    was_idle = !owned_ && fresh_.empty();
    fresh_.push_back(batch);
  }
  rings_->ring_own();                               // the owner may sleep
  if (was_idle) threads_->run(shared_from_this());  // otherwise there is an owner, or will be
  return batch;
}

bool Mail::try_own() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(owned_, true);
}

void Mail::disown() {
  bool more = pending_ > 0;
  {
    const std::lock_guard lock(mutex_);
    owned_ = false;
    more = more || !fresh_.empty();
  }
  if (more) threads_->run(shared_from_this());
}

void Mail::help(WorkState& state) {
  while (state.done.load(std::memory_order_acquire) == 0) {
    if (!try_own()) {
      state.done.wait(0, std::memory_order_acquire);
      continue;
    }
    while (state.done.load(std::memory_order_relaxed) == 0) progress_or_rest();
    disown();
  }
}

void Mail::drain() {
  if (!try_own()) return;
  take_in();
  while (pending_ > 0) progress_or_rest();
  disown();
}

void Mail::progress_or_rest() {
  const std::uint32_t seen = rings_->bell().number.load(std::memory_order_acquire);
  take_in();
  // Nobody rings the bell for what comes over the wire.
  const bool looks = std::any_of(peers_.begin(), peers_.end(),
                                 [](const Peer& peer) { return !peer.route->rings() && peer.is_open(); });
  bool busy = progress() || pending_ == 0;
  if (busy) patience_ = Patience(Deadline::max());
  // Spins and yields as long as it pays, then sleeps until the bell rings.
  else if (!looks) busy = spin_until_raised(rings_->bell(), seen + 1, rings_->policy());
  const Deadline now = std::chrono::steady_clock::now();
  if (!(busy || looks) || now - looked_for_crashes_ >= between_looks_at_peers) fail_what_can_not_end(now);
  if (busy || pending_ == 0) return;
  const std::chrono::nanoseconds longest = looks ? patience_.next() : between_looks_at_peers;
  if (longest > std::chrono::nanoseconds(0)) sleep_until_raised(rings_->bell(), seen + 1, longest);
}

// What callers have asked for since.
void Mail::take_in() {
  std::list<std::shared_ptr<MailBatch>> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(fresh_);
  }
  const Deadline now = fresh.empty() ? Deadline{} : std::chrono::steady_clock::now();
  for (const std::shared_ptr<MailBatch>& batch : fresh) {
    for (const GroupCall& call : batch->calls) take_in(batch, call, now);
  }
}

void Mail::take_in(const std::shared_ptr<MailBatch>& batch, const GroupCall& call, Deadline now) {
  ++pending_;
  Parcel parcel{batch, &call, &pending_};
  parcel.turn = ++receives_;
  if (call.root == any_source) {
    const auto here = [&](Peer& peer) { return peer.inbox.take_stored(parcel); };
    if (std::none_of(peers_.begin(), peers_.end(), here)) from_anyone_.push_back(std::move(parcel));
    return;
  }
  Peer& peer = peers_[static_cast<std::size_t>(call.root)];
  if (call.op == Operator::receive) {
    peer.inbox.add(std::move(parcel));
    return;
  }
  Status may = may_send(peer, now);
  if (may) peer.sending.push_back(std::move(parcel));
  else parcel.finish(fail(ErrorKind::peer, "{} failed: {}", call.to_string(), may.error().message));
}

bool Mail::progress() {
  bool some = false;
  for (Peer& peer : peers_) {
    if (!peer.sending.empty()) some = peer.route->send(peer.sending) || some;
    if (peer.receives()) some = peer.route->receive(peer.inbox) || some;
  }
  return some;
}

void Mail::look_for_crashes(Deadline now) {
  looked_for_crashes_ = now;
  for (const Peer& peer : peers_) {
    if (crash_) return;
    if (const Status crash = peer.route->check_crash(); !crash) crash_ = crash.error();
  }
}

// There is room for a message to a rank that has ended, but nobody to receive it.
Status Mail::may_send(Peer& peer, Deadline now) {
  if (now - looked_for_crashes_ >= between_looks_at_peers) look_for_crashes(now);
  if (now - peer.looked >= between_looks_at_peers && !peer.broken) {
    peer.looked = now;
    if (const Status alive = peer.route->check(); !alive) peer.broken = alive.error();
  }
  if (peer.broken) return fail(*peer.broken);
  return crash_ ? fail(*crash_) : Status{};
}

void Mail::fail_what_can_not_end(Deadline now) {
  look_for_crashes(now);
  for (Peer& peer : peers_) {
    if (peer.is_open()) fail_what_can_not_end(peer, now);
  }
  fail_those_from_anyone(now);
}

// One rank that has left is no reason to stop waiting for the others.
void Mail::fail_those_from_anyone(Deadline now) {
  if (from_anyone_.empty()) return;
  Status somebody = crash_ ? Status(fail(*crash_)) : Status{};
  if (somebody) {
    somebody = fail(ErrorKind::peer, "the group has no other ranks");
    for (Peer& peer : peers_) {
      if (peer.inbox.is_of_this_rank()) continue;
      somebody = peer.route->check();
      if (somebody) break;
    }
  }
  for (auto parcel = from_anyone_.begin(); parcel != from_anyone_.end();) {
    Status status;
    if (!somebody) {
      status = fail(ErrorKind::peer, "{} failed: {}", parcel->call->to_string(), somebody.error().message);
    } else if (now >= parcel->call->deadline()) {
      status = fail(ErrorKind::peer, "no rank came within {} ms to {}", parcel->call->timeout.count(),
                    parcel->call->to_string());
    }
    if (status) {
      ++parcel;
      continue;
    }
    parcel->finish(std::move(status));
    parcel = from_anyone_.erase(parcel);
  }
}

// A peer that has ended may have sent before: it has failed only what is still open when there is no more to take.
void Mail::fail_what_can_not_end(Peer& peer, Deadline now) {
  Status alive = peer.route->check();
  if (alive && crash_) alive = fail(*crash_);
  if (!alive) peer.route->receive(peer.inbox);
  const auto verdict = [&](const Parcel& parcel) -> Status {
    if (!alive) return fail(ErrorKind::peer, "{} failed: {}", parcel.call->to_string(), alive.error().message);
    if (now < parcel.call->deadline()) return {};
    return fail(peer.route->late(*parcel.call));
  };
  for (auto parcel = peer.sending.begin(); parcel != peer.sending.end();) {
    Status status = verdict(*parcel);
    if (status) {
      ++parcel;
      continue;
    }
    // What is sent next must not be taken for the rest of it.
    if (parcel->begun) peer.broken = status.error();
    parcel->finish(std::move(status));
    parcel = peer.sending.erase(parcel);
  }
  std::optional<Error> last;
  const bool cut_off = peer.inbox.fail_those([&](const Parcel& parcel) {
    Status status = verdict(parcel);
    if (!status) last = status.error();
    return status;
  });
  if (cut_off) peer.route->cut_off(*last);
}

}  // namespace hocket
