// A channel between threads of one process, for tests of what stands on channels.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "comm/wire.h"

namespace hocket {

// Messages that were sent and not yet received.
struct Mailboxes {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // from, to, tag
  std::mutex mutex;
  std::map<Key, std::deque<std::vector<std::byte>>> boxes;
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Mailboxes> mail, std::vector<std::int32_t> ranks, std::int32_t place)
      : mail_(std::move(mail)), ranks_(std::move(ranks)), place_(place) {}

  std::int32_t place() const override { return place_; }
  std::span<const std::int32_t> ranks() const override { return ranks_; }

  Result<RequestHandle> isend(std::span<const std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    const std::lock_guard lock(mail_->mutex);
    mail_->boxes[{place_, place, tag}].emplace_back(bytes.begin(), bytes.end());
    return std::make_unique<Sent>(ranks_[static_cast<std::size_t>(place)]);
  }
  // Receives of one tag are tested in the order in which they were begun, as all users do.
  Result<RequestHandle> irecv(std::span<std::byte> bytes, std::int32_t place, std::int32_t tag) override {
    return std::make_unique<Receive>(mail_, Mailboxes::Key{place, place_, tag}, bytes,
                                     ranks_[static_cast<std::size_t>(place)]);
  }

 private:
  class Sent final : public Request {
   public:
    explicit Sent(std::int32_t peer) : peer_(peer) {}
    Result<bool> test() override { return true; }
    std::int32_t peer() const override { return peer_; }

   private:
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
      if (box.front().size() != bytes_.size()) {
        return fail(ErrorKind::peer, "rank {} sent {} bytes, expected {}", peer_, box.front().size(), bytes_.size());
      }
      std::memcpy(bytes_.data(), box.front().data(), bytes_.size());
      box.pop_front();
      return done_ = true;
    }
    std::int32_t peer() const override { return peer_; }

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

}  // namespace hocket
