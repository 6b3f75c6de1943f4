#include "comm/rounds.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/copy.h"
#include "comm/spread.h"

namespace hocket {

namespace {

constexpr auto longest_wait_for_a_record = std::chrono::seconds(1);
constexpr std::int64_t slots_alignment = 4096;
// About 10 µs. Of 2, 4, 8, 16 and 32 this gave the shortest calls of 8 B to 64 KiB between 4 ranks on 2 cores, a third less than none.
constexpr int looks_at_other_cores = 8;
constexpr std::uint32_t waits_between_looks_at_the_spread = 128;  // of some microseconds each

std::int64_t rounded_up(std::int64_t bytes, std::int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

Rounds::Rounds(std::shared_ptr<Host> host, std::vector<std::int32_t> members)
    : host_(std::move(host)), members_(std::move(members)) {}

Result<std::unique_ptr<Rounds>> Rounds::create(std::shared_ptr<Host> host, const Digest& name,
                                               std::vector<std::int32_t> members, Deadline deadline) {
  std::unique_ptr<Rounds> rounds(new Rounds(std::move(host), std::move(members)));
  const std::int64_t slots_at = rounded_up(sizeof(Control), slots_alignment);
  HOCKET_TRY(rounds->offset_, rounds->host_->publish_memory(name, Bytes(slots_at + turns * slot_bytes)));
  const std::int32_t self = rounds->host_->self();
  for (std::int32_t place = 0; place < rounds->size(); ++place) {
    if (rounds->member(place) == self) rounds->place_ = place;
    HOCKET_TRY(const std::int64_t offset, rounds->host_->find(name, rounds->member(place), deadline));
    std::byte* control = rounds->at(place, offset);
    rounds->controls_.push_back(reinterpret_cast<Control*>(control));
    rounds->slots_.push_back(control + slots_at);
  }
  return rounds;
}

Rounds::~Rounds() = default;  // the control block stays: others may still read it

const FlightRing& Rounds::flight_of(std::int32_t place) const { return control_of(place).flight; }

void Rounds::begin(const GroupCall& call, std::int64_t small_slot) {
  call_ = &call;
  small_slot_ = small_slot;
  fingerprint_ = call.fingerprint();
  is_recorded_ = false;
  used_ = call.algorithm;
}

void Rounds::end() {
  control_of(place_).flight.finish(call_->number);
  call_ = nullptr;
}

// A rank that only writes, and takes nothing, has to look whether the others still read.
Status Rounds::wait_for_slot() {
  const std::uint32_t needed = Turn::seen_before(round_);
  for (std::int32_t place = 0; place < size(); ++place) {
    if (place != place_) HOCKET_CHECK(wait(place, needed));
  }
  seen_by_all_ = needed;
  return {};
}

// The others have read the next line when it was last used: it is to be this core's own again by the time that it is written. That saves 5 to 10 %
// of a call of 4 KiB, and a quarter of one with two lines where cores share no cache. Calls with one line follow each other too soon: the
// others, who look for the next line already, take it away again, and 8 B take 5 to 12 % more.
void Rounds::fetch_to_write(const Line& line) const {
  if (small_slot_ == one_line_bytes) return;
  prefetch_to_write(&line);
  if (small_slot_ > 0) prefetch_to_write(reinterpret_cast<const std::byte*>(&line) + cache_line);
}

void Rounds::post(std::uint64_t note) {
  Line& line = line_of(place_);
  if (small_slot_ > one_line_bytes) {
    std::memcpy(line.small + one_line_bytes, draft_ + one_line_bytes, two_lines_bytes - one_line_bytes);
  }
  // All at once: the readers look at this line all the time, and take it away as soon as something has changed.
  if (small_slot_ > 0) std::memcpy(line.small, draft_, one_line_bytes);
  line.fingerprint = fingerprint_;
  line.note = note;
  raise(line.flag, round_);
  fetch_to_write(line_of(place_, round_ + 1));
  // Only now, while the others' flags are on their way.
  if (!is_recorded_) control_of(place_).flight.begin(*call_, used_);
  is_recorded_ = true;
}

tl::unexpected<Error> Rounds::called_something_else(std::int32_t place) {
  Error error = mismatch(place);
  fail_all(error);
  return fail(std::move(error));
}

bool Rounds::notes_are(std::uint64_t note) const {
  // Not what this rank wrote itself: a line that another one has read may have moved into its cache.
  for (std::int32_t place = 0; place < size(); ++place) {
    if (place != place_ && note_of(place) != note) return false;
  }
  return true;
}

Status Rounds::wait(std::int32_t place, std::uint32_t round) {
  const Flag& flag = line_of(place, round).flag;
  if (host_->policy().spin.count() > 0) {
    if (spin_briefly_until_raised(flag, round)) return {};
    // Who spins on the core of the one it waits for only keeps that one from going on. Where cores are free, the way out is to sleep:
    // the kernel looks for an idle core when it wakes somebody, not when somebody yields.
    if (shares_core_with(place)) return wait_long(place, round);
  } else if (spread_out(); all_here_have_come(round)) {
    // Whom this core could go to only waits, too. The others' cores need less time than going there and back.
    for (int i = 0; i < looks_at_other_cores; ++i) {
      if (spin_briefly_until_raised(flag, round)) return {};
    }
  }
  if (spin_until_raised(flag, round, host_->policy())) return {};
  return wait_long(place, round);
}

// Ranks say where they are when they wait. One more than the number of the core; 0 if nobody knows.
std::int32_t Rounds::say_where() {
  const std::int32_t here = sched_getcpu() + 1;
  std::atomic<std::int32_t>& mine = control_of(place_).core;
  if (mine.load(std::memory_order_relaxed) != here) mine.store(here, std::memory_order_relaxed);
  return here;
}

bool Rounds::was_on(std::int32_t place, std::int32_t core) const {
  return core > 0 && control_of(place).core.load(std::memory_order_relaxed) == core;
}

bool Rounds::shares_core_with(std::int32_t place) { return was_on(place, say_where()); }

bool Rounds::all_here_have_come(std::uint32_t round) {
  const std::int32_t here = say_where();
  for (std::int32_t place = 0; place < size(); ++place) {
    if (place != place_ && was_on(place, here) && !raised(line_of(place, round).flag, round)) return false;
  }
  return true;
}

// Only where all ranks of the host are in the group: of others nobody knows where they are.
void Rounds::spread_out() {
  if (++crowded_waits_ % waits_between_looks_at_the_spread != 0 || size() != host_->size()) return;
  std::vector<int> cores;
  for (const Control* control : controls_) cores.push_back(control->core.load(std::memory_order_relaxed) - 1);
  const auto core = better_core(cores, static_cast<std::size_t>(place_), allowed_cores());
  if (core) go_to_core(*core);
}

Status Rounds::wait_long(std::int32_t place, std::uint32_t round) {
  Flag& flag = line_of(place, round).flag;
  const Deadline deadline = call_->deadline();
  for (;;) {
    // Who has ended may have raised the flag before, so that is looked at last.
    const Status peers = check_peers();
    if (raised(flag, round)) return {};
    if (!peers) {
      fail_all(peers.error());
      return peers;
    }
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      Error error = late(place);
      fail_all(error);
      return fail(std::move(error));
    }
    sleep_until_raised(flag, round, std::min<std::chrono::nanoseconds>(left, between_looks_at_peers));
  }
}

// A failure that another rank has found out comes first: it knows the cause, and may have ended because of it.
Status Rounds::check_peers() const {
  if (const auto reason = failure()) return fail(ErrorKind::peer, "{}", *reason);
  return host_->check(members_);
}

std::optional<std::string> Rounds::failure() const {
  for (const Control* control : controls_) {
    if (control->failed.load(std::memory_order_acquire) == 2) return control->reason;
  }
  return std::nullopt;
}

void Rounds::fail_all(const Error& error) {
  Control& control = control_of(place_);
  std::uint32_t expected = 0;
  if (!control.failed.compare_exchange_strong(expected, 1)) return;  // the first reason stays
  std::strncpy(control.reason, error.message.c_str(), sizeof control.reason - 1);
  control.failed.store(2, std::memory_order_release);
  for (Line& line : control.lines) wake(line.flag);
}

Error Rounds::late(std::int32_t place) const {
  const FlightRing& flight = flight_of(place);
  const std::uint64_t begun = flight.begun();
  const std::uint64_t finished = flight.finished();
  std::string last = finished == 0 ? "nothing" : flight.describe(finished);
  if (begun != finished) last += fmt::format(" and is in {}", flight.describe(begun));
  return {ErrorKind::peer,
          fmt::format("rank {} (pid {}) is alive but did not come within {} ms to {}, which rank {} waits for: it last "
                      "finished {}",
                      world_rank(place), host_->pid(member(place)), call_->timeout.count(), call_->to_string(),
                      world_rank(place_), last),
          ""};
}

// As that place has recorded the call of this number.
std::string Rounds::call_of(std::int32_t place) const {
  const FlightRing& flight = flight_of(place);
  // Others record a call right after they have raised their flag, unless they lose their core or die in between.
  const Deadline soon = std::chrono::steady_clock::now() + longest_wait_for_a_record;
  while (flight.begun() < call_->number && host_->check({&members_[static_cast<std::size_t>(place)], 1}) &&
         std::chrono::steady_clock::now() < soon) {
    std::this_thread::yield();
  }
  return flight.begun() < call_->number ? "another call" : flight.describe(call_->number);
}

Error Rounds::mismatch(std::int32_t place) const {
  // The lower rank first, so that both sides say the same.
  const std::int32_t low = std::min(place, place_);
  const std::int32_t high = std::max(place, place_);
  return {ErrorKind::peer,
          fmt::format("ranks made different calls: rank {} made {}, rank {} made {}", world_rank(low), call_of(low),
                      world_rank(high), call_of(high)),
          ""};
}

}  // namespace hocket
