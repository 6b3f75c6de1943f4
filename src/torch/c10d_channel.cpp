#include "torch/c10d_channel.h"

#include <algorithm>

namespace hocket {

namespace {

class SendRequest final : public Request {
 public:
  SendRequest(std::shared_ptr<C10dOffice> office, std::int32_t peer, std::shared_ptr<Sending> sending)
      : office_(std::move(office)), peer_(peer), sending_(std::move(sending)) {}

  Result<bool> test() override {
    if (sending_->done) return true;
    HOCKET_CHECK(office_->check(peer_, false));
    return false;
  }
  std::int32_t peer() const override { return peer_; }
  void cancel() override {}  // it was announced: the other end may ask for it

 private:
  std::shared_ptr<C10dOffice> office_;
  std::int32_t peer_;
  std::shared_ptr<Sending> sending_;
};

class ReceiveRequest final : public Request {
 public:
  ReceiveRequest(std::shared_ptr<C10dOffice> office, std::int32_t peer, const LetterKey& key,
                 std::span<std::byte> bytes)
      : office_(std::move(office)), peer_(peer), key_(key), receiving_(office_->receive(peer, key, bytes)) {}
  ~ReceiveRequest() override { cancel(); }
  ReceiveRequest(const ReceiveRequest&) = delete;
  ReceiveRequest& operator=(const ReceiveRequest&) = delete;

  Result<bool> test() override {
    HOCKET_TRY(const bool done, receiving_->result());
    if (done) return true;
    HOCKET_CHECK(office_->check(peer_, receiving_->has_begun()));
    return false;
  }
  std::int32_t peer() const override { return peer_; }
  void cancel() final { office_->forget(peer_, key_, receiving_); }

 private:
  std::shared_ptr<C10dOffice> office_;
  std::int32_t peer_;
  LetterKey key_;
  std::shared_ptr<Receiving> receiving_;
};

class C10dChannel final : public Channel {
 public:
  static constexpr std::int32_t tag_meeting = tags;  // beside those of users

  C10dChannel(std::shared_ptr<C10dOffice> office, std::span<const std::int32_t> ranks, const Digest& name,
              std::int32_t place)
      : office_(std::move(office)), ranks_(ranks.begin(), ranks.end()), name_(name), place_(place) {}
  ~C10dChannel() override { office_->forget(name_); }
  C10dChannel(const C10dChannel&) = delete;
  C10dChannel& operator=(const C10dChannel&) = delete;

  std::int32_t place() const override { return place_; }
  std::span<const std::int32_t> ranks() const override { return ranks_; }
  Result<RequestHandle> isend(std::span<const std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    HOCKET_TRY(std::shared_ptr<Sending> sending, office_->send(rank_at(place), {name_, tag}, bytes));
    return std::make_unique<SendRequest>(office_, rank_at(place), std::move(sending));
  }
  Result<RequestHandle> irecv(std::span<std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    return std::make_unique<ReceiveRequest>(office_, rank_at(place), LetterKey{name_, tag}, bytes);
  }
  void abandon() override { office_->abandon(); }
  Result<std::optional<std::int32_t>> probe(std::int32_t tag) override {
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(ranks_.size()); ++place) {
      if (office_->has_letter(rank_at(place), {name_, tag})) return place;
    }
    return std::nullopt;
  }

 private:
  std::int32_t rank_at(std::int32_t place) const { return ranks_[static_cast<std::size_t>(place)]; }

  std::shared_ptr<C10dOffice> office_;
  std::vector<std::int32_t> ranks_;
  Digest name_;
  std::int32_t place_;
};

// The members of a channel are a tree, in which no rank has lines to many others: the children of place p are p+1, p+2, p+4, … up
// to the lowest bit of p. When all children have come, it tells its parent, and when the parent says so, all have come.
class TreeMeeting {
 public:
  TreeMeeting(Channel& channel, Deadline deadline, const Look& look)
      : channel_(channel), deadline_(deadline), look_(look) {
    const std::int32_t place = channel.place();
    const auto size = static_cast<std::int32_t>(channel.ranks().size());
    for (std::int32_t bit = 1; (place & bit) == 0 && place + bit < size; bit *= 2) children_.push_back(place + bit);
    if (place > 0) parent_.push_back(place & (place - 1));
  }

  Status meet() {
    HOCKET_CHECK(hear(children_));
    HOCKET_CHECK(tell(parent_));
    HOCKET_CHECK(hear(parent_));
    return tell(children_);
  }

 private:
  Status hear(const std::vector<std::int32_t>& places) {
    std::vector<RequestHandle> requests;
    for (const std::int32_t place : places) {
      HOCKET_TRY(RequestHandle request, channel_.irecv({}, place, C10dChannel::tag_meeting));
      requests.push_back(std::move(request));
    }
    return wait_for_all(requests, deadline_, what(), look_);
  }
  Status tell(const std::vector<std::int32_t>& places) {
    std::vector<RequestHandle> requests;
    for (const std::int32_t place : places) {
      HOCKET_TRY(RequestHandle request, channel_.isend({}, place, C10dChannel::tag_meeting));
      requests.push_back(std::move(request));
    }
    return wait_for_all(requests, deadline_, what(), look_);
  }
  std::string what() const { return fmt::format("the forming of a group of {} ranks", channel_.ranks().size()); }

  Channel& channel_;
  Deadline deadline_;
  const Look& look_;
  std::vector<std::int32_t> children_;
  std::vector<std::int32_t> parent_;  // none for the first
};

}  // namespace

Digest C10dChannelNames::next(std::span<const std::int32_t> ranks) {
  const std::lock_guard lock(mutex_);
  std::int64_t& count = counts_[std::vector(ranks.begin(), ranks.end())];
  Digester digester;
  digester.add(count++);
  for (const std::int32_t rank : ranks) digester.add(std::int64_t{rank});
  return digester.finish();
}

Result<std::unique_ptr<Channel>> meet_on_c10d_channel(std::shared_ptr<C10dOffice> office,
                                                      std::span<const std::int32_t> ranks, const Digest& name,
                                                      Deadline deadline, const Look& look) {
  const auto found = std::find(ranks.begin(), ranks.end(), office->rank());
  if (found == ranks.end()) {
    return fail(ErrorKind::internal, "rank {} forms a channel that it is no member of", office->rank());
  }
  auto channel =
      std::make_unique<C10dChannel>(std::move(office), ranks, name, static_cast<std::int32_t>(found - ranks.begin()));
  HOCKET_CHECK(TreeMeeting(*channel, deadline, look).meet());
  return channel;
}

}  // namespace hocket
