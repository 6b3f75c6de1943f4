#include "comm/mail_ring.h"

#include <algorithm>
#include <cstring>

#include "comm/parts.h"

namespace hocket {

namespace {

constexpr std::uint32_t blocks = 4;
constexpr std::int64_t block_bytes = std::int64_t{64} << 10;

std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

// From its owner to one place. `sent` and `taken` count blocks; `taken` is raised by the receiver.
struct MailRings::Channel {
  alignas(128) std::atomic<std::uint32_t> sent;
  alignas(128) std::atomic<std::uint32_t> taken;
  struct alignas(64) Block {
    MailHeader header;  // of the message, in each of its blocks
    alignas(64) std::byte data[block_bytes];
  } ring[blocks];
};

struct MailRings::Control {
  Flag bell;
  Channel channels[1];  // one for each place

  Channel& channel_to(std::int32_t place) { return *(channels + place); }
};

class MailRings::Route final : public MailRoute {
 public:
  Route(MailRings& rings, std::int32_t place) : rings_(&rings), place_(place) {}

  bool send(std::list<Parcel>& parcels) override;
  bool receive(MailInbox& inbox) override;
  Status check() override { return rings_->host_->check({&member(), 1}); }
  Status check_crash() override { return rings_->host_->check_crash({&member(), 1}); }
  Error late(const GroupCall& call) const override;
  bool rings() const override { return true; }

 private:
  const std::int32_t& member() const { return rings_->members_[static_cast<std::size_t>(place_)]; }
  void ring() {
    if (rings_->find_peer(place_)) hocket::ring(rings_->controls_[static_cast<std::size_t>(place_)]->bell);
  }

  MailRings* rings_;
  std::int32_t place_;
};

Result<std::unique_ptr<MailRings>> MailRings::create(std::shared_ptr<Host> host, const Digest& name,
                                                     std::vector<std::int32_t> members) {
  std::unique_ptr<MailRings> rings(new MailRings(std::move(host), name, std::move(members)));
  Host& its_host = *rings->host_;
  const auto size = static_cast<std::int64_t>(sizeof(Control) + rings->members_.size() * sizeof(Channel));
  HOCKET_TRY(const std::int64_t offset, its_host.memory().allocate(Bytes(size)));
  rings->mine_ = reinterpret_cast<Control*>(its_host.memory().at(its_host.self(), offset));
  // Such memory is taken once and never given back, so it is zero.
  HOCKET_CHECK(its_host.publish(name, offset));
  const auto own = std::find(rings->members_.begin(), rings->members_.end(), its_host.self());
  rings->place_ = static_cast<std::int32_t>(own - rings->members_.begin());
  rings->controls_[static_cast<std::size_t>(rings->place_)] = rings->mine_;
  return rings;
}

Flag& MailRings::bell() { return mine_->bell; }

std::unique_ptr<MailRoute> MailRings::route_to(std::int32_t place) { return std::make_unique<Route>(*this, place); }

bool MailRings::find_peer(std::int32_t place) {
  Control*& control = controls_[static_cast<std::size_t>(place)];
  if (control != nullptr) return true;
  const std::int32_t member = members_[static_cast<std::size_t>(place)];
  const auto offset = host_->look_up(name_, member);
  if (offset) control = reinterpret_cast<Control*>(host_->memory().at(member, *offset));
  return control != nullptr;
}

// The channel lies in this rank's own segment, so a message can be sent before its receiver has come.
bool MailRings::Route::send(std::list<Parcel>& parcels) {
  Channel& channel = rings_->mine_->channel_to(place_);
  bool some = false;
  while (!parcels.empty()) {
    Parcel& parcel = parcels.front();
    const std::uint32_t sent = channel.sent.load(std::memory_order_relaxed);
    if (sent - channel.taken.load(std::memory_order_acquire) >= blocks) break;
    Channel::Block& block = channel.ring[sent % blocks];
    const std::int64_t now = std::min(parcel.bytes() - parcel.done, block_bytes);
    block.header = parcel.header();
    if (now > 0) std::memcpy(block.data, input_at(parcel.call->first, parcel.done), bytes(now));
    parcel.done += now;
    parcel.begun = true;
    channel.sent.store(sent + 1, std::memory_order_release);
    some = true;
    if (parcel.done < parcel.bytes()) continue;
    parcel.finish({});
    parcels.pop_front();
  }
  if (some) ring();
  return some;
}

bool MailRings::Route::receive(MailInbox& inbox) {
  if (!rings_->find_peer(place_)) return false;
  Channel& channel = rings_->controls_[static_cast<std::size_t>(place_)]->channel_to(rings_->place_);
  bool some = false;
  for (std::uint32_t taken = channel.taken.load(std::memory_order_relaxed);
       taken != channel.sent.load(std::memory_order_acquire); ++taken) {
    const Channel::Block& block = channel.ring[taken % blocks];
    if (!inbox.in_message()) {
      if (!inbox.expects()) break;  // nobody asks: it may stay in the channel
      inbox.begin(block.header);
    }
    const std::int64_t now = std::min(inbox.left(), block_bytes);
    if (std::byte* const to = inbox.destination(); to != nullptr) std::memcpy(to, block.data, bytes(now));
    inbox.advance(now);
    channel.taken.store(taken + 1, std::memory_order_release);
    some = true;
  }
  if (some) ring();
  return some;
}

Error MailRings::Route::late(const GroupCall& call) const {
  return {
      ErrorKind::peer,
      fmt::format("rank {} (pid {}) is alive but did not come within {} ms to {}", rings_->host_->world_rank(member()),
                  rings_->host_->pid(member()), call.timeout.count(), call.to_string()),
      ""};
}

}  // namespace hocket
