#include "comm/mail_wire.h"

#include <array>
#include <cstring>
#include <optional>

#include "comm/hosts_tags.h"
#include "comm/parts.h"

namespace hocket {

namespace {

// What goes ahead of a message. All envelopes have one size, since a receiver on the wire has to know it.
struct Envelope {
  MailHeader header;
  std::array<std::byte, 496> data;  // of a message that fits
};
static_assert(sizeof(Envelope) == 512);
constexpr auto fits_in_envelope = static_cast<std::int64_t>(sizeof(Envelope::data));

class WireRoute final : public MailRoute {
 public:
  WireRoute(std::shared_ptr<Channel> channel, std::shared_ptr<WireWatch> watch, std::int32_t place)
      : channel_(std::move(channel)), watch_(std::move(watch)), place_(place) {}
  ~WireRoute() override {
    if (arriving_) arriving_->cancel();  // a receive that nobody waits for any more is no failure
  }
  WireRoute(const WireRoute&) = delete;
  WireRoute& operator=(const WireRoute&) = delete;

  bool send(std::list<Parcel>& parcels) override {
    if (failure_) return false;
    auto fresh = parcels.end();
    while (fresh != parcels.begin() && !std::prev(fresh)->begun) --fresh;
    bool some = fresh != parcels.end();
    for (; fresh != parcels.end() && note(begin(*fresh)); ++fresh) continue;
    while (!failure_ && !parcels.empty() && has_left(parcels.front())) {
      parcels.front().finish({});
      parcels.pop_front();
      some = true;
    }
    return some && !failure_;
  }

  bool receive(MailInbox& inbox) override {
    bool some = false;
    while (!failure_ && (inbox.in_message() ? take_rest(inbox) : inbox.expects() && take_envelope(inbox))) some = true;
    return some;
  }

  Status check() override {
    HOCKET_CHECK(check_crash());
    return failure_ ? fail(*failure_) : Status{};
  }
  Status check_crash() override { return watch_->check({&rank(), 1}); }
  Error late(const GroupCall& call) const override {
    return {ErrorKind::peer,
            fmt::format("rank {} did not come within {} ms to {}: it is stuck, or its host can't be reached", rank(),
                        call.timeout.count(), call.to_string()),
            ""};
  }
  // What comes is not for the next one: the wire gives messages of a tag in order.
  void cut_off(const Error& why) override {
    failure_ = why;
    rest_.reset();
  }
  bool rings() const override { return false; }

 private:
  const std::int32_t& rank() const { return channel_->ranks()[static_cast<std::size_t>(place_)]; }

  // True if it went well; otherwise nothing goes to or comes from there any more.
  bool note(const Status& status) {
    if (!status && !failure_) failure_ = status.error();
    return status.has_value();
  }

  Status begin(Parcel& parcel) {
    parcel.begun = true;
    parcel.envelope = std::make_unique<std::byte[]>(sizeof(Envelope));
    const MailHeader header = parcel.header();
    std::memcpy(parcel.envelope.get(), &header, sizeof header);
    const std::byte* const data = input_at(parcel.call->first, 0);
    const auto bytes = static_cast<std::size_t>(parcel.bytes());
    const bool inside = parcel.bytes() <= fits_in_envelope;
    if (inside && bytes > 0) std::memcpy(parcel.envelope.get() + offsetof(Envelope, data), data, bytes);
    HOCKET_TRY(RequestHandle ahead, channel_->isend({parcel.envelope.get(), sizeof(Envelope)}, place_, tag_envelope));
    parcel.requests.push_back(std::move(ahead));
    if (inside) return {};
    HOCKET_TRY(RequestHandle rest, channel_->isend({data, bytes}, place_, tag_message));
    parcel.requests.push_back(std::move(rest));
    return {};
  }

  bool has_left(Parcel& parcel) {
    if (!parcel.begun) return false;
    while (!parcel.requests.empty()) {
      if (!is_done(parcel.requests.back())) return false;
      parcel.requests.pop_back();
    }
    return true;
  }

  bool is_done(const RequestHandle& request) {
    const Result<bool> done = request->test();
    if (!done) note(fail(done.error()));
    return done.value_or(false);
  }

  bool take_envelope(MailInbox& inbox) {
    if (!arriving_) {
      Result<RequestHandle> begun =
          channel_->irecv({reinterpret_cast<std::byte*>(&envelope_), sizeof envelope_}, place_, tag_envelope);
      if (!begun) return note(fail(begun.error()));
      arriving_ = std::move(*begun);
    }
    if (!is_done(arriving_)) return false;
    arriving_.reset();
    inbox.begin(envelope_.header);
    if (inbox.left() > fits_in_envelope) return note(receive_rest(inbox));
    const std::int64_t bytes = inbox.left();
    std::byte* const to = inbox.destination();
    if (to != nullptr) std::memcpy(to, envelope_.data.data(), static_cast<std::size_t>(bytes));
    inbox.advance(bytes);
    return true;
  }

  Status receive_rest(MailInbox& inbox) {
    const auto bytes = static_cast<std::size_t>(inbox.left());
    std::byte* to = inbox.destination();
    if (to == nullptr) {
      unwanted_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      to = unwanted_.get();
    }
    HOCKET_TRY(rest_, channel_->irecv({to, bytes}, place_, tag_message));
    return {};
  }

  bool take_rest(MailInbox& inbox) {
    if (!is_done(rest_)) return false;
    rest_.reset();
    unwanted_.reset();
    inbox.advance(inbox.left());
    return true;
  }

  std::shared_ptr<Channel> channel_;
  std::shared_ptr<WireWatch> watch_;
  std::int32_t place_;
  Envelope envelope_{};                    // the next one
  std::unique_ptr<std::byte[]> unwanted_;  // where a message goes that does not fit
  RequestHandle arriving_;                 // the next envelope; null while nobody expects one
  RequestHandle rest_;                     // of the message that the inbox is in
  std::optional<Error> failure_;           // of the wire
};

}  // namespace

std::unique_ptr<MailRoute> make_wire_route(std::shared_ptr<Channel> channel, std::shared_ptr<WireWatch> watch,
                                           std::int32_t place) {
  return std::make_unique<WireRoute>(std::move(channel), std::move(watch), place);
}

}  // namespace hocket
