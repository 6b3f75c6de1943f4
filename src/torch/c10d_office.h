// Brings messages and receives together, whichever comes first, and keeps the lines to other ranks.
#pragma once

#include <map>
#include <set>
#include <thread>

#include "torch/c10d_line.h"

namespace hocket {

class C10dOffice final : public C10dLine::Reader {
 public:
  // `shared`: the port's back end is used by others, too, who go on after this office has closed.
  C10dOffice(std::shared_ptr<const C10dPort> port, bool shared);
  // Waits a moment until the ranks that it has lines to have all that was sent.
  ~C10dOffice() override;
  C10dOffice(const C10dOffice&) = delete;
  C10dOffice& operator=(const C10dOffice&) = delete;

  std::int32_t rank() const { return port_->rank(); }
  Result<std::shared_ptr<Sending>> send(std::int32_t to, const LetterKey& key, std::span<const std::byte> bytes);
  std::shared_ptr<Receiving> receive(std::int32_t from, const LetterKey& key, std::span<std::byte> bytes);
  // A receive that nobody waits for any more.
  void forget(std::int32_t from, const LetterKey& key, const std::shared_ptr<Receiving>& receiving);
  // Whether a letter waits for a receive.
  bool has_letter(std::int32_t from, const LetterKey& key) const;
  // Drops what came for a channel that is no more.
  void forget(const Digest& channel);
  Status check(std::int32_t rank, bool has_begun) const;
  // Somebody is dead or stuck: whoever lives has heard all in less time.
  void abandon() { abandoned_ = true; }

 private:
  // Letters that wait for receives, or receives that wait for letters.
  struct Box {
    std::deque<Letter> letters;
    std::deque<std::shared_ptr<Receiving>> receivings;
  };
  using BoxName = std::pair<LetterKey, std::int32_t>;  // and the rank that sends

  void arrived(std::int32_t from, const LetterKey& key, std::span<const std::byte> bytes) override;
  void announced(std::int32_t from, const LetterKey& key, std::int64_t bytes, std::int32_t slot) override;
  // With the lock: the receive that is next, if one waits.
  std::shared_ptr<Receiving> next_receiving(std::int32_t from, const LetterKey& key);
  void deliver(std::int32_t from, std::span<const std::byte> bytes, Receiving& receiving);
  void fetch(std::int32_t from, const Letter& letter, std::shared_ptr<Receiving> receiving);
  // The line to another rank, made if it is the first time.
  C10dLine& line_to(std::int32_t rank, bool call);
  C10dLine* existing_line(std::int32_t rank) const;
  void answer_calls();
  void part();

  std::shared_ptr<const C10dPort> port_;
  const bool shared_;
  std::atomic<bool> abandoned_ = false;

  mutable std::mutex lines_mutex_;
  std::map<std::int32_t, std::unique_ptr<C10dLine>> lines_;

  mutable std::mutex mutex_;  // guards the boxes; taken before that of a line
  std::map<BoxName, Box> boxes_;

  std::mutex calls_mutex_;  // guards the two
  C10dPort::Message next_call_;
  bool closing_ = false;
  std::thread calls_thread_;
};

}  // namespace hocket
