// The rounds in which the members of a group that share a host exchange data: each writes its slot, raises its flag, waits for
// the flags of the others and reads their slots.
//
//   rounds.begin(call);
//   HOCKET_TRY(std::byte* slot, rounds.open());
//   … write the slot …
//   rounds.post();
//   for (each other place) { HOCKET_TRY(const std::byte* theirs, rounds.take(place)); … read … }
//
// There are four slots and four flags, which rounds use in turn. A rank opens round n only when it has seen the flags of
// round n-3 of all others; they raised them after they had read all of round n-4, whose slot round n overwrites. So one
// synchronisation for each round is enough, and a rank that only writes may run three rounds ahead of its readers. One that writes
// and reads may open and write round n before it reads round n-1 (`back` is 1 then), which it must do before it posts round n.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/flag.h"
#include "comm/flight_ring.h"
#include "comm/host.h"
#include "hocket/comm/group.h"

namespace hocket {

class Rounds {
 public:
  static constexpr std::uint32_t turns = 4;
  using Turn = Turns<turns>;
  static constexpr std::int64_t slot_bytes = std::int64_t{256} << 10;
  // So much fits beside the flag into its cache line, and comes with it; so much into that line and the next.
  static constexpr std::int64_t one_line_bytes = 40;
  static constexpr std::int64_t two_lines_bytes = 104;

  // Collective over the group's members that are on this host, `members` being their indices there by place.
  static Result<std::unique_ptr<Rounds>> create(std::shared_ptr<Host> host, const Digest& name,
                                                std::vector<std::int32_t> members, Deadline deadline);
  ~Rounds();

  std::int32_t place() const { return place_; }
  std::int32_t size() const { return static_cast<std::int32_t>(members_.size()); }
  Host& host() { return *host_; }

  // All rounds until end() are of this call. A small slot, of one or two lines, stands beside the flag; 0: a large one.
  void begin(const GroupCall& call, std::int64_t small_slot = 0);
  std::int64_t small_slot() const { return small_slot_; }
  // For the flight record: what the call's algorithm came to.
  void use(CollectiveAlgorithm algorithm) {
    if (used_ != algorithm) is_recorded_ = false;
    used_ = algorithm;
  }
  void end();

  // Begins a round: this rank's slot for it.
  Result<std::byte*> open() {
    HOCKET_CHECK(open_empty());
    if (small_slot_ > 0) return draft_;
    ++with_slots_;
    return const_cast<std::byte*>(slot_of(place_));
  }
  // The same of a round in which nobody writes a slot.
  Status open_empty() {
    ++round_;
    if (static_cast<std::int32_t>(seen_by_all_ - Turn::seen_before(round_)) < 0) return wait_for_slot();
    return {};
  }
  // The slot is written. `note` is a number that the others get along with it.
  void post(std::uint64_t note = 0);
  // Waits until that place has posted the round, or the one before, and made the same call; its slot.
  Result<const std::byte*> take(std::int32_t place, std::uint32_t back = 0) {
    const std::uint32_t round = round_ - back;
    const Line& line = line_of(place, round);
    if (!raised(line.flag, round)) HOCKET_CHECK(wait(place, round));
    if (line.fingerprint != fingerprint_) return called_something_else(place);
    return slot_of(place, back);
  }
  // take() of all.
  Status take_all(std::uint32_t back = 0) {
    for (std::int32_t place = 0; place < size(); ++place) {
      if (place != place_) HOCKET_CHECK(take(place, back));
    }
    seen_by_all_ = round_ - back;
    return {};
  }
  // What came with a slot that was taken; whether all have this.
  std::uint64_t note_of(std::int32_t place) const { return line_of(place).note; }
  bool notes_are(std::uint64_t note) const;
  const std::byte* slot_of(std::int32_t place, std::uint32_t back = 0) const {
    if (small_slot_ > 0) return line_of(place, round_ - back).small;
    const std::uint32_t round = with_slots_ - back;
    return slots_[Turn::owner_of(static_cast<std::uint32_t>(place), round, static_cast<std::uint32_t>(size()))] +
           Turn::slot_of(round) * slot_bytes;
  }

  // From now on every open() and take() here and on the other ranks fails with this reason.
  void fail_all(const Error& error);

  // What another place has at an offset of its segment.
  std::byte* at(std::int32_t place, std::int64_t offset) const { return host_->memory().at(member(place), offset); }
  std::int32_t member(std::int32_t place) const { return members_[static_cast<std::size_t>(place)]; }
  std::int32_t world_rank(std::int32_t place) const { return host_->world_rank(member(place)); }
  pid_t pid(std::int32_t place) const { return host_->pid(member(place)); }
  const FlightRing& flight_of(std::int32_t place) const;
  // Why the group has failed, if it has. Any thread.
  std::optional<std::string> failure() const;
  // What that place has called as this call, to be said in an error.
  std::string call_of(std::int32_t place) const;

 private:
  // Flag, fingerprint and small data in one cache line, or two: processors fetch lines in pairs.
  struct alignas(128) Line {
    Flag flag;
    std::uint64_t fingerprint;
    std::uint64_t note;
    std::byte small[two_lines_bytes];
  };
  // What a rank has in its own segment for one group: zeroed memory, then used by all.
  struct Control {
    Line lines[turns];
    alignas(128) std::atomic<std::uint32_t> failed;  // 1: being written, 2: the reason is there
    char reason[508];
    alignas(128) std::atomic<std::int32_t> core;  // one more than the number of the one on which this rank last waited
    alignas(128) FlightRing flight;
  };

  Rounds(std::shared_ptr<Host> host, std::vector<std::int32_t> members);
  Control& control_of(std::int32_t place) const { return *controls_[static_cast<std::size_t>(place)]; }
  Line& line_of(std::int32_t place, std::uint32_t round) const { return control_of(place).lines[Turn::slot_of(round)]; }
  Line& line_of(std::int32_t place) const { return line_of(place, round_); }
  void fetch_to_write(const Line& line) const;
  Status wait(std::int32_t place, std::uint32_t round);
  Status wait_for_slot();
  tl::unexpected<Error> called_something_else(std::int32_t place);
  std::int32_t say_where();
  bool was_on(std::int32_t place, std::int32_t core) const;
  bool shares_core_with(std::int32_t place);
  bool all_here_have_come(std::uint32_t round);
  void spread_out();
  Status wait_long(std::int32_t place, std::uint32_t round);
  Status check_peers() const;
  Error late(std::int32_t place) const;
  Error mismatch(std::int32_t place) const;

  std::shared_ptr<Host> host_;
  std::vector<std::int32_t> members_;
  std::vector<Control*> controls_;
  std::vector<std::byte*> slots_;
  std::int64_t offset_ = 0;  // of the control block in this rank's segment
  std::int32_t place_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t with_slots_ = 0;   // rounds until now in which slots are written: only those take turns with them
  std::uint32_t seen_by_all_ = 0;  // a round that all are known to have posted
  const GroupCall* call_ = nullptr;
  std::uint64_t fingerprint_ = 0;
  std::int64_t small_slot_ = 0;
  std::byte draft_[two_lines_bytes] = {};  // of a small slot
  bool is_recorded_ = false;
  std::uint32_t crowded_waits_ = 0;
  CollectiveAlgorithm used_ = CollectiveAlgorithm::automatic;
};

}  // namespace hocket
