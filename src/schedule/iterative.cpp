#include "hocket/schedule/iterative.h"

#include <algorithm>

#include "schedule/clock.h"

namespace hocket {

std::string_view name_of(Limit limit) {
  switch (limit) {
    case Limit::hidden: return "hidden";
    case Limit::dependency: return "dependency";
    case Limit::memory: return "memory";
    case Limit::collective_order: return "collective order";
    case Limit::lane_busy: return "lane busy";
    case Limit::end_of_program: return "end of program";
    case Limit::move_limit: return "move limit";
    case Limit::no_wait: return "no wait";
  }
  return "unknown";
}

namespace {

Bytes limit_of(Bytes peak, const IterativeOptions& options) {
  const double grown = static_cast<double>(peak.count) * (1 + std::max(options.memory_budget, 0.0));
  const Bytes budget =
      grown < 9e18 ? Bytes(static_cast<std::int64_t>(grown)) : Bytes(std::numeric_limits<std::int64_t>::max());
  return std::max(peak, options.memory_limit.value_or(budget));
}

// Only work that is cheap is taken along: what a matmul or another communication would lose by moving is not looked at.
bool may_join(const StepGraph& steps, StepIndex step) {
  return steps.kind(step) == StepKind::compute && !steps.gemm(step);
}

// ---------------------------------------------------------------- how exposed a collective is where the walk stands

// A collective that moves earlier. Everything before the walk's front is as the clock says, so the time of issue is known; the
// compute between there and the wait is what it had plus what the walk passed.
class Earlier {
 public:
  Earlier(const Clock& clock, const Schedule& schedule, StepIndex collective)
      : clock_(clock), schedule_(schedule), collective_(collective) {
    const std::size_t place = schedule.position(collective);
    issue_ = clock.at(place);
    lane_free_ = clock.lane_free_before(collective);
    between_ = clock.compute_between(place, clock.wait_position(schedule, collective));
  }

  Nanoseconds exposed() const { return penalty_ + left(issue_, lane_free_, between_, collective_); }
  bool lane_busy() const { return lane_free_ > issue_; }

  void pass(StepIndex step) {
    const StepGraph& steps = schedule_.steps();
    between_ += steps.time_on_compute(step);
    issue_ = clock_.at(schedule_.position(step)) + along_;
    if (steps.kind(step) == StepKind::collective && steps.lane(step) == steps.lane(collective_)) overtake(step);
  }
  void join(StepIndex step) {
    along_ += schedule_.steps().time_on_compute(step);
    issue_ = clock_.at(schedule_.position(step)) + along_;
  }

 private:
  Nanoseconds left(Nanoseconds issue, Nanoseconds free, Nanoseconds between, StepIndex collective) const {
    const Nanoseconds delay = std::max(Nanoseconds(), free - issue);
    return std::max(Nanoseconds(), delay + schedule_.steps().time(collective) - between);
  }

  // The other collective of the lane now comes behind this one. What it loses counts against the move.
  void overtake(StepIndex other) {
    const std::size_t place = schedule_.position(other);
    const Nanoseconds between = clock_.compute_between(place, clock_.wait_position(schedule_, other));
    const Nanoseconds before = left(clock_.at(place), clock_.lane_free_before(other), between, other);
    lane_free_ = clock_.lane_free_before(other);
    const Nanoseconds end = std::max(issue_, lane_free_) + schedule_.steps().time(collective_);
    penalty_ += left(clock_.at(place), end, between, other) - before;
  }

  const Clock& clock_;
  const Schedule& schedule_;
  StepIndex collective_;
  Nanoseconds issue_, lane_free_, between_;
  Nanoseconds along_;    // compute that moves along, before the collective
  Nanoseconds penalty_;  // what overtaken collectives lose
};

// A wait that moves later: its collective stays, so only the compute between the two grows.
class Later {
 public:
  Later(const Clock& clock, const Schedule& schedule, StepIndex wait) : steps_(schedule.steps()) {
    const StepIndex collective = steps_.awaited(wait);
    const std::size_t place = schedule.position(collective);
    const Nanoseconds delay = std::max(Nanoseconds(), clock.lane_free_before(collective) - clock.at(place));
    open_ = delay + steps_.time(collective) - clock.compute_between(place, schedule.position(wait));
  }

  Nanoseconds exposed() const { return std::max(Nanoseconds(), open_); }
  bool lane_busy() const { return false; }
  void pass(StepIndex step) { open_ -= steps_.time_on_compute(step); }
  void join(StepIndex) {}

 private:
  const StepGraph& steps_;
  Nanoseconds open_;
};

// ---------------------------------------------------------------- the walk

class Walker {
 public:
  Walker(const StepGraph& steps, std::vector<StepIndex> order, const IterativeOptions& options, Direction direction)
      : steps_(steps),
        options_(options),
        direction_(direction),
        schedule_(steps, std::move(order)),
        clock_(steps),
        limit_(limit_of(schedule_.peak(), options)) {}

  IterativeResult run() {
    IterativeResult result;
    result.limit = limit_;
    std::vector<std::uint32_t> row(steps_.size());
    for (const StepIndex collective : steps_.collectives()) {
      row[collective] = static_cast<std::uint32_t>(result.moves.size());
      result.moves.emplace_back().collective = collective;
      if (steps_.first_wait(collective) == no_step) result.moves.back().limit = Limit::no_wait;
    }
    if (direction_ == Direction::later) clock_.advance(schedule_, schedule_.order().size());
    for (const StepIndex step : candidates()) {
      if (moved_ >= options_.max_moves) {
        result.moves[row[owner(step)]].limit = Limit::move_limit;
        continue;
      }
      clock_.advance(schedule_, schedule_.position(step) + 1);
      if (direction_ == Direction::earlier) {
        walk(step, Earlier(clock_, schedule_, step), result.moves[row[step]]);
      } else {
        walk(step, Later(clock_, schedule_, step), result.moves[row[owner(step)]]);
      }
    }
    result.order.assign(schedule_.order().begin(), schedule_.order().end());
    return result;
  }

 private:
  StepIndex owner(StepIndex step) const { return direction_ == Direction::earlier ? step : steps_.awaited(step); }

  // Collectives from the front, or waits from the back.
  std::vector<StepIndex> candidates() const {
    const StepKind wanted = direction_ == Direction::earlier ? StepKind::collective : StepKind::wait;
    std::vector<StepIndex> list;
    for (const StepIndex step : schedule_.order()) {
      if (steps_.kind(step) != wanted) continue;
      if (options_.only == no_step || owner(step) == options_.only) list.push_back(step);
    }
    if (direction_ == Direction::later) std::reverse(list.begin(), list.end());
    return list;
  }

  template <class Exposure>
  void walk(StepIndex step, Exposure exposure, CollectiveMove& report) {
    Schedule::Move move(schedule_, step, direction_);
    const Nanoseconds before = exposure.exposed();
    Nanoseconds best = before;
    std::size_t best_count = 0;
    while (!ends(move, exposure, report)) {
      const StepIndex neighbour = move.next();
      if (move.tie() != no_step) {
        move.join();
        exposure.join(neighbour);
        continue;
      }
      const Bytes most = move.pass();
      if (most > limit_) {
        report.limit = Limit::memory;
        report.memory = most;
        report.step = neighbour;
        break;
      }
      exposure.pass(neighbour);
      const bool better = options_.use_estimates ? exposure.exposed() < best : true;
      if (!better) continue;
      best = exposure.exposed();
      best_count = move.count();
    }
    report.exposed_before += before;
    report.exposed_after += best;
    if (best_count > 0) carry_out(move, best_count, report);
  }

  // Is there a reason to stop? Then the report says which.
  template <class Exposure>
  bool ends(const Schedule::Move& move, const Exposure& exposure, CollectiveMove& report) const {
    const StepIndex neighbour = move.next();
    const auto stop = [&](Limit limit, StepIndex step) {
      report.limit = limit;
      report.step = step;
      return true;
    };
    if (options_.use_estimates && exposure.exposed() <= Nanoseconds()) return stop(Limit::hidden, no_step);
    if (neighbour == no_step) return stop(Limit::end_of_program, no_step);
    if (options_.use_estimates && !options_.reorder_collectives && exposure.lane_busy())
      return stop(Limit::lane_busy, clock_.previous_on_lane(move.group().front()));
    if (move.passes() >= options_.max_passes_each) return stop(Limit::move_limit, no_step);
    const StepIndex member = move.tie();
    if (member == no_step) return false;
    const bool same_lane = steps_.kind(neighbour) == StepKind::collective &&
                           steps_.kind(member) == StepKind::collective && steps_.lane(neighbour) == steps_.lane(member);
    if (same_lane) return stop(Limit::collective_order, neighbour);
    if (!options_.group || !may_join(steps_, neighbour)) return stop(Limit::dependency, neighbour);
    return false;
  }

  void carry_out(const Schedule::Move& move, std::size_t count, CollectiveMove& report) {
    ++moved_;
    const std::size_t place = schedule_.position(move.group().front());
    const auto order = schedule_.order();
    for (std::size_t i = 0, joined = 1; i < count; ++i) {
      const StepIndex step = order[direction_ == Direction::earlier ? place - 1 - i : place + 1 + i];
      if (joined < move.group().size() && move.group()[joined] == step) {
        report.grouped.push_back(step);
        ++joined;
      } else {
        ++report.passed;
      }
    }
    // The clock takes back the steps whose places change while it still knows their old order.
    clock_.retreat(schedule_, direction_ == Direction::earlier ? place - count : place);
    schedule_.apply(move, count);
  }

  const StepGraph& steps_;
  const IterativeOptions& options_;
  Direction direction_;
  Schedule schedule_;
  Clock clock_;
  Bytes limit_;
  std::size_t moved_ = 0;
};

}  // namespace

IterativeResult reorder_communication_preserving_peak_memory(const StepGraph& steps, std::vector<StepIndex> order,
                                                             const IterativeOptions& options) {
  return Walker(steps, std::move(order), options, Direction::earlier).run();
}

IterativeResult sink_waits_iterative(const StepGraph& steps, std::vector<StepIndex> order,
                                     const IterativeOptions& options) {
  return Walker(steps, std::move(order), options, Direction::later).run();
}

}  // namespace hocket
