#include "fuse/two_lanes.h"

#include <algorithm>

namespace hocket::fuse {

namespace {

// How many events behind a merge its effect is looked at. Long enough for time that a busy lane saves to reach the compute lane.
constexpr std::size_t window_events = 256;

void set(std::vector<Nanoseconds>& done, std::size_t collective, Nanoseconds time) { done[collective] = time; }
template <class Overlay>
void set(Overlay& done, std::size_t collective, Nanoseconds time) {
  done.set(collective, time);
}

}  // namespace

TwoLanes::TwoLanes(std::span<const Nanoseconds> compute) {
  reached_.resize(2 * compute.size() + 1);
  for (std::size_t i = 0; i < compute.size(); ++i) {
    reached_[2 * i + 1] = reached_[2 * i] + compute[i];
    reached_[2 * i + 2] = reached_[2 * i + 1];
  }
}

std::size_t TwoLanes::add(const Added& collective) {
  const std::size_t number = collectives_.size();
  collectives_.push_back({collective, number, collective.light, {}});
  lanes_ = std::max(lanes_, collective.lane + 1);
  insert_events(number);
  return number;
}

void TwoLanes::erase_events(std::size_t collective) {
  const Collective& record = collectives_[collective];
  if (record.unit == collective) events_.erase({record.added.start, Event::start, collective});
  if (record.added.light != Nanoseconds()) events_.erase({record.added.own, Event::skip, collective});
  events_.erase({record.added.wait, Event::wait, collective});
}

void TwoLanes::insert_events(std::size_t collective) {
  const Collective& record = collectives_[collective];
  if (record.unit == collective) events_.insert({record.added.start, Event::start, collective});
  if (record.added.light != Nanoseconds()) events_.insert({record.added.own, Event::skip, collective});
  events_.insert({record.added.wait, Event::wait, collective});
}

TwoLanes::State TwoLanes::initial() const {
  State state;
  state.clock.free_at.resize(lanes_);
  state.done.resize(collectives_.size());
  return state;
}

template <class Done>
void TwoLanes::advance(Clock& clock, Slot to, Done& done) const {
  for (auto event = events_.lower_bound({clock.slot, Event::wait, 0}); event != events_.end() && event->slot < to;
       ++event) {
    clock.slot = event->slot;
    const Collective& record = collectives_[event->collective];
    switch (event->kind) {
      case Event::start: {
        clock.stalled += record.before_start;
        Nanoseconds& free_at = clock.free_at[record.added.lane];
        free_at = std::max(free_at, now(clock)) + record.added.time;
        set(done, event->collective, free_at);
        break;
      }
      case Event::skip: clock.stalled -= record.added.light; break;
      case Event::wait: {
        const Nanoseconds end = done[record.unit];
        if (end > now(clock)) clock.stalled += end - now(clock);
        clock.stalled += record.copies_out;
        break;
      }
    }
  }
  clock.slot = std::max(clock.slot, to);
}

TwoLanes::Clock TwoLanes::run_from(const State& state, Slot to) {
  written_.resize(collectives_.size());
  Overlay done{state.done, written_, ++runs_};
  Clock clock = state.clock;
  advance(clock, to, done);
  return clock;
}

void TwoLanes::advance(State& state, Slot to) const { advance(state.clock, to, state.done); }

Slot TwoLanes::window_end(Slot from) const {
  auto event = events_.upper_bound({from, Event::start, collectives_.size()});
  for (std::size_t i = 0; i < window_events && event != events_.end(); ++i) ++event;
  return event == events_.end() ? static_cast<Slot>(reached_.size() - 1) : event->slot;
}

bool TwoLanes::no_later(const Clock& merged, const Clock& apart) const {
  if (now(merged) > now(apart)) return false;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (std::max(merged.free_at[lane], now(merged)) > std::max(apart.free_at[lane], now(apart))) return false;
  }
  return true;
}

// Collectives whose records a merge changes, each once.
std::vector<std::size_t> TwoLanes::changed_by(const Merge& merge) const {
  std::vector<std::size_t> changed = {merge.first, merge.other};
  for (const auto& [collective, slot] : merge.waits) changed.push_back(collective);
  for (const auto& [collective, light] : merge.light) changed.push_back(collective);
  for (const auto& [collective, copies] : merge.copies_out) changed.push_back(collective);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

void TwoLanes::apply(const Merge& merge) {
  const std::vector<std::size_t> changed = changed_by(merge);
  for (const std::size_t collective : changed) erase_events(collective);
  Collective& first = collectives_[merge.first];
  first.added.start = merge.start;
  first.added.time = merge.time;
  first.before_start = merge.before_start;
  collectives_[merge.other].unit = merge.first;
  for (const auto& [collective, slot] : merge.waits) collectives_[collective].added.wait = slot;
  for (const auto& [collective, light] : merge.light) collectives_[collective].added.light = light;
  for (const auto& [collective, copies] : merge.copies_out) collectives_[collective].copies_out = copies;
  for (const std::size_t collective : changed) insert_events(collective);
}

bool TwoLanes::is_no_later(const State& state, const Merge& merge) {
  const Slot last_start =
      std::max({collectives_[merge.first].added.start, collectives_[merge.other].added.start, merge.start});
  const Slot end = window_end(last_start);
  const Clock apart = run_from(state, end);
  const std::vector<std::size_t> changed = changed_by(merge);
  std::vector<Collective> before;
  for (const std::size_t collective : changed) before.push_back(collectives_[collective]);
  apply(merge);
  const Clock merged = run_from(state, end);
  for (const std::size_t collective : changed) erase_events(collective);
  for (std::size_t i = 0; i < changed.size(); ++i) collectives_[changed[i]] = before[i];
  for (const std::size_t collective : changed) insert_events(collective);
  return no_later(merged, apart);
}

Nanoseconds TwoLanes::step_time() const {
  State state = initial();
  advance(state, static_cast<Slot>(reached_.size() - 1));
  Nanoseconds last = now(state.clock);
  for (const Nanoseconds free_at : state.clock.free_at) last = std::max(last, free_at);
  return last;
}

}  // namespace hocket::fuse
