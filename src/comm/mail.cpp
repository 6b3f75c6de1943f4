#include "comm/mail.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "comm/copy.h"
#include "comm/parts.h"

namespace hocket {

namespace {

constexpr std::uint32_t blocks = 4;
constexpr std::int64_t block_bytes = std::int64_t{64} << 10;

}  // namespace

// What a message is, at the begin of each of its blocks.
struct Mail::Header {
  std::int64_t count;
  std::int32_t tag;
  Dtype dtype;

  std::int64_t bytes() const { return count * size_of(dtype); }
  bool fits(const GroupCall& call) const { return call.count == count && call.dtype == dtype; }
};

// From its owner to one place. `sent` and `taken` count blocks; `taken` is raised by the receiver.
struct Mail::Channel {
  alignas(128) std::atomic<std::uint32_t> sent;
  alignas(128) std::atomic<std::uint32_t> taken;
  struct alignas(64) Block {
    Header header;
    alignas(64) std::byte data[block_bytes];
  } ring[blocks];
};

struct Mail::Control {
  Flag bell;            // others add one when there is something to look at
  Channel channels[1];  // one for each place

  Channel& channel_to(std::int32_t place) { return *(channels + place); }
};

struct Mail::Batch final : WorkState {
  Batch(std::weak_ptr<Runner> mail, std::vector<GroupCall> its_calls)
      : WorkState(std::move(mail)), calls(std::move(its_calls)), left(calls.size()) {}
  std::vector<GroupCall> calls;
  std::size_t left;  // not done; touched by the owner
  Status result;     // the first failure; touched by the owner
};

// One message under way.
struct Mail::Parcel {
  std::shared_ptr<Batch> batch;
  const GroupCall* call;
  std::int64_t done = 0;  // bytes
  std::int64_t bytes() const { return call->count * size_of(call->dtype); }
};

// What comes from one place.
struct Mail::Inbox {
  struct Stored {
    Header header;
    std::vector<std::byte> data;
  };
  std::list<Parcel> waiting;
  std::list<Stored> stored;  // came before anybody asked for it
  // A receive with this tag has failed. What it should have got may still come, and is not what the next one expects.
  std::map<std::int32_t, Error> failed_tags;
  // The message whose blocks are coming: for one that waits, to be stored, or of the wrong size and dropped.
  enum class Into { nothing, parcel, store, nowhere } into = Into::nothing;
  std::list<Parcel>::iterator parcel;
  std::int64_t done = 0;  // bytes
};

Mail::Mail(std::shared_ptr<Host> host, GroupHandle group, std::vector<std::int32_t> members,
           std::shared_ptr<LaneThreads> threads)
    : host_(std::move(host)),
      group_(std::move(group)),
      members_(std::move(members)),
      threads_(std::move(threads)),
      controls_(members_.size()),
      sending_(members_.size()),
      inboxes_(members_.size()),
      broken_(members_.size()),
      looked_(members_.size()) {
  threads_->add_runner();
}

Mail::~Mail() { threads_->remove_runner(); }

Result<std::shared_ptr<Mail>> Mail::create(std::shared_ptr<Host> host, GroupHandle group, const Digest& name,
                                           std::vector<std::int32_t> members, std::shared_ptr<LaneThreads> threads) {
  std::shared_ptr<Mail> mail(new Mail(std::move(host), std::move(group), std::move(members), std::move(threads)));
  mail->name_ = name;
  const auto bytes = static_cast<std::int64_t>(sizeof(Control) + mail->members_.size() * sizeof(Channel));
  HOCKET_TRY(const std::int64_t offset, mail->host_->memory().allocate(Bytes(bytes)));
  mail->mine_ = reinterpret_cast<Control*>(mail->host_->memory().at(mail->host_->self(), offset));
  // Such memory is taken once and never given back, so it is zero.
  HOCKET_CHECK(mail->host_->publish(name, offset));
  mail->controls_[static_cast<std::size_t>(mail->group_->place())] = mail->mine_;
  return mail;
}

std::shared_ptr<WorkState> Mail::submit(std::vector<GroupCall> calls, std::shared_ptr<const void> keep_alive) {
  auto batch = std::make_shared<Batch>(weak_from_this(), std::move(calls));
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
  ring(group_->place());                            // the owner may sleep
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
  const std::uint32_t seen = mine_->bell.number.load(std::memory_order_acquire);
  take_in();
  // Spins and yields as long as it pays, then sleeps until the bell rings.
  const bool busy = progress() || pending_ == 0 || spin_until_raised(mine_->bell, seen + 1, host_->policy());
  const Deadline now = std::chrono::steady_clock::now();
  if (busy && now - looked_for_crashes_ < between_looks_at_peers) return;
  fail_what_can_not_end(now);
  if (!busy && pending_ > 0) sleep_until_raised(mine_->bell, seen + 1, between_looks_at_peers);
}

// What callers have asked for since.
void Mail::take_in() {
  std::list<std::shared_ptr<Batch>> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(fresh_);
  }
  const Deadline now = fresh.empty() ? Deadline{} : std::chrono::steady_clock::now();
  for (const std::shared_ptr<Batch>& batch : fresh) {
    for (const GroupCall& call : batch->calls) {
      ++pending_;
      const auto place = static_cast<std::size_t>(call.root);
      if (call.op == Operator::send) {
        Parcel parcel{batch, &call};
        Status may = may_send(call.root, now);
        if (may) sending_[place].push_back(std::move(parcel));
        else finish(parcel, fail(ErrorKind::peer, "{} failed: {}", call.to_string(), may.error().message));
        continue;
      }
      Inbox& inbox = inboxes_[place];
      if (const auto failed = inbox.failed_tags.find(call.tag); failed != inbox.failed_tags.end()) {
        Parcel parcel{batch, &call};
        finish(parcel, fail(ErrorKind::peer, "{} can't run: one with its tag failed before: {}", call.to_string(),
                            failed->second.message));
        continue;
      }
      inbox.waiting.push_back({batch, &call});
      deliver_stored(inbox);
    }
  }
}

bool Mail::find_peer(std::int32_t place) {
  Control*& control = controls_[static_cast<std::size_t>(place)];
  if (control != nullptr) return true;
  const std::int32_t member = members_[static_cast<std::size_t>(place)];
  const auto offset = host_->look_up(name_, member);
  if (offset) control = reinterpret_cast<Control*>(host_->memory().at(member, *offset));
  return control != nullptr;
}

bool Mail::progress() {
  bool some = false;
  for (std::int32_t place = 0; place < group_->size(); ++place) {
    const auto index = static_cast<std::size_t>(place);
    if (!sending_[index].empty()) some = send_some(place) || some;
    if (!inboxes_[index].waiting.empty() || inboxes_[index].into != Inbox::Into::nothing) {
      some = receive_some(place) || some;
    }
  }
  return some;
}

// The channel lies in this rank's own segment, so a message can be sent before its receiver has come.
bool Mail::send_some(std::int32_t place) {
  Channel& channel = mine_->channel_to(place);
  std::list<Parcel>& parcels = sending_[static_cast<std::size_t>(place)];
  bool some = false;
  while (!parcels.empty()) {
    Parcel& parcel = parcels.front();
    const std::uint32_t sent = channel.sent.load(std::memory_order_relaxed);
    if (sent - channel.taken.load(std::memory_order_acquire) >= blocks) break;
    Channel::Block& block = channel.ring[sent % blocks];
    const std::int64_t now = std::min(parcel.bytes() - parcel.done, block_bytes);
    block.header = {parcel.call->count, parcel.call->tag, parcel.call->dtype};
    if (now > 0) std::memcpy(block.data, input_at(parcel.call->first, parcel.done), bytes(now));
    parcel.done += now;
    channel.sent.store(sent + 1, std::memory_order_release);
    some = true;
    if (parcel.done < parcel.bytes()) continue;
    finish(parcel, {});
    parcels.pop_front();
  }
  if (some) ring(place);
  return some;
}

bool Mail::receive_some(std::int32_t place) {
  if (!find_peer(place)) return false;
  Channel& channel = controls_[static_cast<std::size_t>(place)]->channel_to(group_->place());
  Inbox& inbox = inboxes_[static_cast<std::size_t>(place)];
  bool some = false;
  for (std::uint32_t taken = channel.taken.load(std::memory_order_relaxed);
       taken != channel.sent.load(std::memory_order_acquire); ++taken) {
    const Channel::Block& block = channel.ring[taken % blocks];
    if (inbox.into == Inbox::Into::nothing) {
      if (inbox.waiting.empty()) break;  // nobody asks: it may stay in the channel
      decide(inbox, block.header);
    }
    take_block(inbox, block.header, block.data);
    channel.taken.store(taken + 1, std::memory_order_release);
    some = true;
  }
  if (some) ring(place);
  return some;
}

// The first receive with the message's tag gets it.
void Mail::decide(Inbox& inbox, const Header& header) {
  inbox.done = 0;
  const auto found = std::find_if(inbox.waiting.begin(), inbox.waiting.end(),
                                  [&](const Parcel& parcel) { return parcel.call->tag == header.tag; });
  if (found == inbox.waiting.end()) {
    inbox.into = Inbox::Into::store;
    inbox.stored.push_back({header, std::vector<std::byte>(bytes(header.bytes()))});
    return;
  }
  if (header.fits(*found->call)) {
    inbox.into = Inbox::Into::parcel;
    inbox.parcel = found;
    return;
  }
  inbox.into = Inbox::Into::nowhere;
  finish(*found, fail(differs(*found->call, header)));
  inbox.waiting.erase(found);
}

void Mail::take_block(Inbox& inbox, const Header& header, const std::byte* data) {
  const std::int64_t whole = header.bytes();
  const std::int64_t now = std::min(whole - inbox.done, block_bytes);
  if (now > 0 && inbox.into == Inbox::Into::parcel) {
    std::memcpy(output_at(inbox.parcel->call->first, inbox.done), data, bytes(now));
  } else if (now > 0 && inbox.into == Inbox::Into::store) {
    std::memcpy(inbox.stored.back().data.data() + inbox.done, data, bytes(now));
  }
  inbox.done += now;
  if (inbox.done < whole) return;
  if (inbox.into == Inbox::Into::parcel) {
    finish(*inbox.parcel, {});
    inbox.waiting.erase(inbox.parcel);
  }
  const bool was_stored = inbox.into == Inbox::Into::store;
  inbox.into = Inbox::Into::nothing;
  if (was_stored) deliver_stored(inbox);  // somebody may have asked meanwhile
}

// Gives the last receive what came before it, if it did.
void Mail::deliver_stored(Inbox& inbox) {
  for (auto parcel = inbox.waiting.begin(); parcel != inbox.waiting.end();) {
    const auto complete_end = inbox.into == Inbox::Into::store ? std::prev(inbox.stored.end()) : inbox.stored.end();
    const auto found = std::find_if(inbox.stored.begin(), complete_end, [&](const Inbox::Stored& stored) {
      return stored.header.tag == parcel->call->tag;
    });
    const bool being_received = inbox.into == Inbox::Into::parcel && inbox.parcel == parcel;
    if (found == complete_end || being_received) {
      ++parcel;
      continue;
    }
    if (found->header.fits(*parcel->call)) {
      if (!found->data.empty()) std::memcpy(parcel->call->first.output, found->data.data(), found->data.size());
      finish(*parcel, {});
    } else {
      finish(*parcel, fail(differs(*parcel->call, found->header)));
    }
    inbox.stored.erase(found);
    parcel = inbox.waiting.erase(parcel);
  }
}

void Mail::finish(Parcel& parcel, Status status) {
  --pending_;
  Batch& batch = *parcel.batch;
  if (!status && batch.result) batch.result = std::move(status);
  if (--batch.left == 0) batch.finish(std::move(batch.result));
}

void Mail::look_for_crashes(Deadline now) {
  looked_for_crashes_ = now;
  if (crash_) return;
  if (const Status crash = host_->check_crash(members_); !crash) crash_ = crash.error();
}

// There is room for a message to a rank that has ended, but nobody to receive it.
Status Mail::may_send(std::int32_t place, Deadline now) {
  const auto index = static_cast<std::size_t>(place);
  if (now - looked_for_crashes_ >= between_looks_at_peers) look_for_crashes(now);
  if (now - looked_[index] >= between_looks_at_peers && !broken_[index]) {
    looked_[index] = now;
    if (const Status alive = host_->check({&members_[index], 1}); !alive) broken_[index] = alive.error();
  }
  if (broken_[index]) return fail(*broken_[index]);
  return crash_ ? fail(*crash_) : Status{};
}

// A peer that has ended may have sent before: it has failed only what is still open when there is no more to take.
void Mail::fail_what_can_not_end(Deadline now) {
  look_for_crashes(now);
  for (std::int32_t place = 0; place < group_->size(); ++place) {
    const auto index = static_cast<std::size_t>(place);
    Inbox& inbox = inboxes_[index];
    if (sending_[index].empty() && inbox.waiting.empty()) continue;
    Status alive = host_->check({&members_[index], 1});
    if (alive && crash_) alive = fail(*crash_);
    if (!alive) receive_some(place);
    const auto verdict = [&](const Parcel& parcel) -> Status {
      if (!alive) return fail(ErrorKind::peer, "{} failed: {}", parcel.call->to_string(), alive.error().message);
      if (now < parcel.call->deadline()) return {};
      return fail(ErrorKind::peer, "rank {} (pid {}) is alive but did not come within {} ms to {}",
                  host_->world_rank(members_[index]), host_->pid(members_[index]), parcel.call->timeout.count(),
                  parcel.call->to_string());
    };
    for (auto* parcels : {&sending_[index], &inbox.waiting}) {
      for (auto parcel = parcels->begin(); parcel != parcels->end();) {
        Status status = verdict(*parcel);
        if (status) {
          ++parcel;
          continue;
        }
        if (inbox.into == Inbox::Into::parcel && &*inbox.parcel == &*parcel) inbox.into = Inbox::Into::nowhere;
        // A part of it is in the channel: what is sent next must not be taken for the rest of it.
        if (parcel->call->op == Operator::send && parcel->done > 0) broken_[index] = status.error();
        if (parcel->call->op == Operator::receive) inbox.failed_tags.emplace(parcel->call->tag, status.error());
        finish(*parcel, std::move(status));
        parcel = parcels->erase(parcel);
      }
    }
  }
}

Error Mail::differs(const GroupCall& call, const Header& header) const {
  return {ErrorKind::peer,
          fmt::format("rank {} sends {}[{}] with tag {} to rank {}, which expects {}",
                      group_->ranks()[static_cast<std::size_t>(call.root)], short_name(header.dtype), header.count,
                      header.tag, group_->ranks()[static_cast<std::size_t>(group_->place())], call.to_string()),
          ""};
}

void Mail::ring(std::int32_t place) {
  if (find_peer(place)) hocket::ring(controls_[static_cast<std::size_t>(place)]->bell);
}

}  // namespace hocket
