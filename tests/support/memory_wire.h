// A wire between threads of one process, for tests of what stands on it. As on a real one, a short message leaves at once and a
// long one when it is received.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "comm/wire.h"

namespace hocket {

// Messages that were sent and not yet received, on one channel.
struct Mailboxes {
  struct Letter {
    std::vector<std::byte> bytes;
    std::shared_ptr<std::atomic<bool>> taken = std::make_shared<std::atomic<bool>>(false);
  };
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // from, to, tag
  std::mutex mutex;
  std::map<Key, std::deque<Letter>> boxes;
};

class MemoryChannel final : public Channel {
 public:
  static constexpr std::size_t leaves_at_once = 4096;  // bytes

  MemoryChannel(std::shared_ptr<Mailboxes> mail, std::vector<std::int32_t> ranks, std::int32_t place)
      : mail_(std::move(mail)), ranks_(std::move(ranks)), place_(place) {}

  std::int32_t place() const override { return place_; }
  std::span<const std::int32_t> ranks() const override { return ranks_; }

  Result<RequestHandle> isend(std::span<const std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    const std::lock_guard lock(mail_->mutex);
    auto& letter = mail_->boxes[{place_, place, tag}].emplace_back();
    letter.bytes.assign(bytes.begin(), bytes.end());
    if (bytes.size() <= leaves_at_once) *letter.taken = true;
    return std::make_unique<Send>(letter.taken, ranks_[static_cast<std::size_t>(place)]);
  }
  // Receives of one tag are tested in the order in which they were begun, as all users do.
  Result<RequestHandle> irecv(std::span<std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    return std::make_unique<Receive>(mail_, Mailboxes::Key{place, place_, tag}, bytes,
                                     ranks_[static_cast<std::size_t>(place)]);
  }
  Result<std::optional<std::int32_t>> probe(std::int32_t tag) override {
    const std::lock_guard lock(mail_->mutex);
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(ranks_.size()); ++place) {
      const auto box = mail_->boxes.find({place, place_, tag});
      if (box != mail_->boxes.end() && !box->second.empty()) return place;
    }
    return std::nullopt;
  }

 private:
  class Send final : public Request {
   public:
    Send(std::shared_ptr<std::atomic<bool>> taken, std::int32_t peer) : taken_(std::move(taken)), peer_(peer) {}
    Result<bool> test() override { return taken_->load(); }
    std::int32_t peer() const override { return peer_; }
    void cancel() override {}

   private:
    std::shared_ptr<std::atomic<bool>> taken_;
    std::int32_t peer_;
  };

  class Receive final : public Request {
   public:
    Receive(std::shared_ptr<Mailboxes> mail, Mailboxes::Key key, std::span<std::byte> bytes, std::int32_t peer)
        : mail_(std::move(mail)), key_(key), bytes_(bytes), peer_(peer) {}
    Result<bool> test() override {
      if (done_) return true;
      const std::lock_guard lock(mail_->mutex);
      auto& box = mail_->boxes[key_];
      if (box.empty()) return false;
      const Mailboxes::Letter letter = std::move(box.front());
      box.pop_front();
      *letter.taken = true;
      if (letter.bytes.size() != bytes_.size()) {
        return fail(ErrorKind::peer, "rank {} sent {} bytes, expected {}", peer_, letter.bytes.size(), bytes_.size());
      }
      if (!letter.bytes.empty()) std::memcpy(bytes_.data(), letter.bytes.data(), letter.bytes.size());
      return done_ = true;
    }
    std::int32_t peer() const override { return peer_; }
    void cancel() override {}

   private:
    std::shared_ptr<Mailboxes> mail_;
    Mailboxes::Key key_;
    std::span<std::byte> bytes_;
    std::int32_t peer_;
    bool done_ = false;
  };

  std::shared_ptr<Mailboxes> mail_;
  std::vector<std::int32_t> ranks_;
  std::int32_t place_;
};

// All channels of all ranks. Each member's n-th channel with the same ranks is the same one.
class MemoryNetwork {
 public:
  std::shared_ptr<Mailboxes> mail_of(const std::vector<std::int32_t>& ranks, int number) {
    const std::lock_guard lock(mutex_);
    auto& mail = mails_[{ranks, number}];
    if (!mail) mail = std::make_shared<Mailboxes>();
    return mail;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::vector<std::int32_t>, int>, std::shared_ptr<Mailboxes>> mails_;
};

class MemoryWire final : public Wire {
 public:
  MemoryWire(std::shared_ptr<MemoryNetwork> network, std::vector<std::int32_t> hosts, std::int32_t rank)
      : network_(std::move(network)), hosts_(std::move(hosts)), rank_(rank) {}

  std::string_view name() const override { return "memory"; }
  std::int32_t rank() const override { return rank_; }
  std::int32_t size() const override { return static_cast<std::int32_t>(hosts_.size()); }
  std::int32_t host_of(std::int32_t rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  Result<std::vector<std::string>> exchange(const std::string&, Deadline) override {
    return fail(ErrorKind::internal, "threads have met before they get a wire");
  }

 private:
  Result<std::unique_ptr<Channel>> form_channel(std::span<const std::int32_t> world_ranks, Deadline,
                                                const Look&) override {
    std::vector<std::int32_t> ranks(world_ranks.begin(), world_ranks.end());
    const auto place = std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin();
    const std::lock_guard lock(mutex_);
    const int number = channels_[ranks]++;
    return std::make_unique<MemoryChannel>(network_->mail_of(ranks, number), ranks, static_cast<std::int32_t>(place));
  }

  std::shared_ptr<MemoryNetwork> network_;
  std::vector<std::int32_t> hosts_;
  std::int32_t rank_;
  std::mutex mutex_;  // guards channels_
  std::map<std::vector<std::int32_t>, int> channels_;
};

}  // namespace hocket
