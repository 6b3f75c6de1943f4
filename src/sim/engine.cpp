#include "sim/engine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hocket {

namespace {

// A number in [0, 1) that depends on these three alone (splitmix64).
double uniform(std::uint64_t seed, std::uint64_t rank, std::uint64_t step) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + rank * 0xbf58476d1ce4e5b9U + step * 0x94d049bb133111ebU;
  for (int round = 0; round < 2; ++round) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

// Log-normal with mean 1 (Box-Muller).
double jittered(double deviation, std::uint64_t seed, std::uint64_t rank, std::uint64_t step) {
  const double a = std::max(uniform(seed, rank, 2 * step), 0x1.0p-53), b = uniform(seed, rank, 2 * step + 1);
  const double normal = std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b);
  return std::exp(deviation * normal - deviation * deviation / 2);
}

Nanoseconds whole(double picoseconds) { return Nanoseconds::from_picoseconds(std::llround(picoseconds)); }

}  // namespace

Engine::Engine(const Cluster& cluster, const SimOptions& options)
    : cluster_(cluster),
      options_(options),
      factor_(cluster.programs.size(), 1.0),
      ranks_(cluster.programs.size()),
      meetings_(cluster.meetings.size()) {
  const auto wanted = static_cast<std::uint32_t>(std::max(options.shown.value, 0));
  shown_ = wanted < ranks_.size() ? wanted : 0;
  for (const Straggler& slow : options.stragglers) factor_[static_cast<std::size_t>(slow.rank.value)] *= slow.factor;
  const SimProgram& program = *cluster.programs[shown_];
  for (auto* column : {&timeline_.begin, &timeline_.end, &timeline_.issued, &timeline_.stood})
    column->assign(program.size, Nanoseconds());
  shown_collectives_.resize(program.lanes.size());
  for (const SimStep& step : program.steps) {
    if (step.kind == StepKind::collective) shown_collectives_[step.lane].push_back(step.step);
  }
}

void Engine::run() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Work& work = ranks_[rank].work;
    work.active = true;
    work.left = rank < options_.late.size() ? static_cast<double>(options_.late[rank].picoseconds) : 0;
    schedule(work, rank, true);
  }
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    Work& work = event.is_rank ? ranks_[event.index].work : meetings_[event.index].work;
    if (!work.active || work.version != event.version) continue;
    ++event_count_;
    now_ = event.time;
    work.active = false;
    if (event.is_rank) advance(event.index);
    else end(event.index);
  }
}

// ---------------------------------------------------------------- time

void Engine::schedule(Work& work, std::uint32_t index, bool is_rank) {
  work.updated = now_;
  const std::uint32_t version = ++work.version;
  events_.push({now_ + work.left / work.rate, ++made_, index, version, is_rank});
}

void Engine::set_rate(Work& work, double rate, std::uint32_t index, bool is_rank) {
  if (!work.active || work.rate == rate) return;
  work.left = std::max(0.0, work.left - (now_ - work.updated) * work.rate);
  work.rate = rate;
  schedule(work, index, is_rank);
}

Engine::Picoseconds Engine::compute_time(std::uint32_t rank, std::size_t step) const {
  const auto time = static_cast<double>(cluster_.programs[rank]->steps[step].time.picoseconds);
  if (time == 0) return 0;
  const double drawn = options_.jitter > 0 ? jittered(options_.jitter, options_.seed, rank, step) : 1;
  return time * factor_[rank] * drawn;
}

// ---------------------------------------------------------------- ranks

// The compute lane goes on: to the end of its next computing, to a wait, or to its end.
void Engine::advance(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  const std::vector<SimStep>& steps = cluster_.programs[rank]->steps;
  while (state.next < steps.size()) {
    const SimStep& step = steps[state.next];
    if (step.kind == StepKind::collective) {
      if (!state.launched && options_.launch > Nanoseconds()) {
        state.launched = true;
        state.work.left = static_cast<double>(options_.launch.picoseconds);
        state.work.active = true;
        state.work.rate = 1;
        return schedule(state.work, rank, true);
      }
      state.launched = false;
      issue(rank, step);
      ++state.next;
    } else if (step.kind == StepKind::wait) {
      const std::uint32_t meeting = cluster_.meeting_of[rank][step.lane];
      if (!state.waits) state.waits_since = now_;
      state.waits = meetings_[meeting].ended <= step.sequence;
      if (state.waits) return meetings_[meeting].waiting.push_back(rank);
      state.stood += now_ - state.waits_since;
      if (is_shown(rank)) {
        // What blocks is shown as the collective that it is, and stands only until that begins.
        const auto began = static_cast<double>(timeline_.begin[step.step].picoseconds);
        note(timeline_.stood, step, (step.blocks ? began : now_) - state.waits_since);
        if (!step.blocks) {
          note(timeline_.issued, step, state.waits_since);
          note(timeline_.begin, step, now_);
          note(timeline_.end, step, now_);
        }
      }
      ++state.next;
    } else if (compute(rank)) {
      return;
    }
  }
  state.done = now_;
  ++done_;
}

// Starts what is computed up to the next communication; of the rank that is shown one step at a time. Is there anything to do?
bool Engine::compute(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  const std::vector<SimStep>& steps = cluster_.programs[rank]->steps;
  const auto computes = [&] {
    return state.next < steps.size() &&
           (steps[state.next].kind == StepKind::compute || steps[state.next].kind == StepKind::fixed);
  };
  Picoseconds sum = 0;
  while (computes() && (!is_shown(rank) || sum == 0)) {
    const Picoseconds time = compute_time(rank, state.next);
    if (is_shown(rank)) {
      note(timeline_.issued, steps[state.next], now_);
      note(timeline_.begin, steps[state.next], now_);
      note(timeline_.end, steps[state.next], now_);
    }
    sum += time;
    ++state.next;
  }
  if (sum == 0) return false;
  state.work.left = sum;
  state.work.active = true;
  state.work.rate = state.in_flight.empty() ? 1 : 1 / options_.slowdown;
  schedule(state.work, rank, true);
  return true;
}

void Engine::issue(std::uint32_t rank, const SimStep& step) {
  const std::uint32_t index = cluster_.meeting_of[rank][step.lane];
  MeetingState& meeting = meetings_[index];
  const std::size_t place = step.sequence - meeting.ended;
  if (meeting.pending.size() <= place) meeting.pending.resize(place + 1);
  Pending& pending = meeting.pending[place];
  ++pending.arrived;
  pending.time = std::max(pending.time, static_cast<double>(step.time.picoseconds));
  if (is_shown(rank)) {
    note(timeline_.issued, step, now_);
    if (options_.launch > Nanoseconds()) note(timeline_.stood, step, static_cast<double>(options_.launch.picoseconds));
  }
  try_begin(index);
}

// ---------------------------------------------------------------- communication

void Engine::try_begin(std::uint32_t index) {
  MeetingState& meeting = meetings_[index];
  if (meeting.work.active || meeting.pending.empty()) return;
  if (meeting.pending.front().arrived < cluster_.meetings[index].arrivals) return;
  note_meeting(index, true);
  meeting.work.active = true;
  meeting.work.left = meeting.pending.front().time;
  meeting.work.rate = 1;
  schedule(meeting.work, index, false);
  change_load(index, true);
}

void Engine::end(std::uint32_t index) {
  MeetingState& meeting = meetings_[index];
  note_meeting(index, false);
  ++meeting.ended;
  meeting.pending.erase(meeting.pending.begin());
  change_load(index, false);
  try_begin(index);
  std::vector<std::uint32_t> waiting;
  waiting.swap(meeting.waiting);
  for (const std::uint32_t rank : waiting) advance(rank);
}

// A communication begins or ends on its ranks: they compute at another speed, and links are shared by others.
void Engine::change_load(std::uint32_t index, bool begins) {
  bool alone = true;
  for (const std::uint32_t rank : cluster_.meetings[index].ranks) {
    RankState& state = ranks_[rank];
    if (begins) state.in_flight.push_back(index);
    else std::erase(state.in_flight, index);
    alone = alone && state.in_flight.size() == (begins ? 1U : 0U);
    if (options_.slowdown != 1) set_rate(state.work, state.in_flight.empty() ? 1 : 1 / options_.slowdown, rank, true);
  }
  if (options_.share_links && !alone) share_links(index);
}

// What shares a rank with this one, directly or through others.
std::vector<std::uint32_t> Engine::connected(std::uint32_t index) const {
  std::vector<std::uint32_t> found{index};
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const std::uint32_t rank : cluster_.meetings[found[at]].ranks) {
      for (const std::uint32_t other : ranks_[rank].in_flight) {
        if (std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
      }
    }
  }
  std::erase_if(found, [&](std::uint32_t one) { return !meetings_[one].work.active; });
  return found;
}

void Engine::share_links(std::uint32_t index) {
  const std::vector<std::uint32_t> flows = connected(index);
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t flow : flows) {
    const auto& members = cluster_.meetings[flow].ranks;
    ranks.insert(ranks.end(), members.begin(), members.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const std::size_t levels = cluster_.levels;
  std::vector<LinkUses> uses(flows.size());
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const MeetingPoint& point = cluster_.meetings[flows[f]];
    for (const std::uint32_t rank : point.ranks) {
      const auto place = static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
      for (std::size_t level = 0; level < levels; ++level) {
        if (point.share[level] > 0)
          uses[f].push_back({static_cast<std::uint32_t>(place * levels + level), point.share[level]});
      }
    }
  }
  const std::vector<double> rates = fair_rates(uses, ranks.size() * levels);
  for (std::size_t f = 0; f < flows.size(); ++f)
    set_rate(meetings_[flows[f]].work, std::max(rates[f], 1e-9), flows[f], false);
}

// ---------------------------------------------------------------- what is kept

void Engine::note(std::vector<Nanoseconds>& column, const SimStep& step, Picoseconds time) {
  column[step.step] = whole(time);
}

void Engine::note_meeting(std::uint32_t index, bool begins) {
  const auto& lanes = cluster_.meeting_of[shown_];
  const auto lane = static_cast<std::size_t>(std::find(lanes.begin(), lanes.end(), index) - lanes.begin());
  if (lane == lanes.size()) return;
  const std::uint32_t step = shown_collectives_[lane][meetings_[index].ended];
  (begins ? timeline_.begin : timeline_.end)[step] = whole(now_);
}

SimResult Engine::result() const {
  SimResult result;
  result.step_time = whole(now_);
  result.shown = timeline_;
  // The end of what is computed is when the next step begins: the lane is never idle in between.
  const SimProgram& program = *cluster_.programs[shown_];
  Picoseconds sum = 0, latest = -1;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankState& state = ranks_[rank];
    sum += state.stood + now_ - state.done;
    const Picoseconds busy = state.done - state.stood;
    if (busy > latest) {
      latest = busy;
      result.slowest = Rank{static_cast<std::int32_t>(rank)};
    }
  }
  Nanoseconds after = whole(ranks_[shown_].done);
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const SimStep& step = program.steps[i];
    if (step.kind == StepKind::compute || step.kind == StepKind::fixed) result.shown.end[step.step] = after;
    after = result.shown.issued[step.step];
    if (step.kind == StepKind::collective) after -= options_.launch;
  }
  result.exposed = whole(ranks_[shown_].stood + now_ - ranks_[shown_].done);
  result.mean_exposed = whole(sum / static_cast<double>(ranks_.size()));
  result.simulated = static_cast<std::int64_t>(ranks_.size());
  result.events = event_count_;
  return result;
}

}  // namespace hocket
