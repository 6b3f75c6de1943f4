// A lane as process groups use it, one after the other: it stays as long as the world, so a group that is destroyed leaves it to the
// next one of the same ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket {

class Lane;

// Any thread may call what is here.
class GroupLane {
 public:
  // `number` is the same on all ranks, and no other lane of theirs has it; not 0.
  GroupLane(std::shared_ptr<Lane> lane, std::int64_t number, int ranks)
      : lane_(std::move(lane)),
        number_(number),
        sent_(static_cast<std::size_t>(ranks)),
        received_(static_cast<std::size_t>(ranks)) {}

  const std::shared_ptr<Lane>& lane() const { return lane_; }
  std::int64_t number() const { return number_; }

  // What has gone through it must have arrived before another group may have it.
  void count_call() { ++calls_; }
  void count_message() { --calls_; }  // that count_call() took for a collective
  void count_sent(int peer) { ++sent_[static_cast<std::size_t>(peer)]; }
  void count_received(int peer) { ++received_[static_cast<std::size_t>(peer)]; }
  // No other group may have it: a call has failed, or memory of it may still be in use.
  void spoil() { spoilt_ = true; }

  void give_back() { free_ = true; }
  void take() { free_ = false; }
  bool is_free() const { return free_ && !spoilt_; }

  // How many words say what has gone through a lane of so many ranks.
  static std::size_t words(int ranks) { return 2 + 2 * static_cast<std::size_t>(ranks); }
  void describe(std::int64_t* words) const;

 private:
  std::shared_ptr<Lane> lane_;
  std::int64_t number_;
  std::atomic<bool> free_ = false;
  std::atomic<bool> spoilt_ = false;
  std::atomic<std::int64_t> calls_ = 0;
  std::vector<std::atomic<std::int64_t>> sent_;  // by place
  std::vector<std::atomic<std::int64_t>> received_;
};

// What ranks say of one lane, each in so many words, by place: have all calls and messages come to their end?
bool is_quiet(const std::vector<const std::int64_t*>& said);

}  // namespace hocket
