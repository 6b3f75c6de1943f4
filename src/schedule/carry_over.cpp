#include "hocket/schedule/carry_over.h"

#include <algorithm>
#include <limits>

#include "hocket/ir/tail.h"

namespace hocket {

namespace {

constexpr double worth_it = 0.99;       // of what a run took before
constexpr std::size_t most_tried = 20;  // first collectives to postpone, and as many last ones
constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// Runs of a program, one after the other, on one compute lane and a lane for each group.
class RunClock {
 public:
  RunClock(const Program& program, std::span<const Nanoseconds> times)
      : program_(program),
        times_(times),
        tail_(tail_of(program)),
        lane_free_(program.groups().size()),
        ends_(program.size()) {}

  Nanoseconds run() {
    for (std::size_t i = 0; i < tail_.begin; ++i) {
      if (!tail_.empty()) run_tail(tail_.due[i]);
      step(i);
    }
    run_tail(program_.size() - tail_.begin);
    done_of_tail_ = 0;
    left_tail_ = true;
    return now_;
  }

 private:
  void run_tail(std::size_t due) {
    for (; left_tail_ && done_of_tail_ < due; ++done_of_tail_) step(tail_.begin + done_of_tail_);
  }

  void step(std::size_t i) {
    const StepId id(i);
    const StepId awaited = program_.step(id).waits_for;
    if (const Collective* const collective = program_.collective(id)) {
      Nanoseconds& free = lane_free_[collective->group.index()];
      ends_[i] = free = std::max(now_, free) + times_[i];
      if (is_blocking(program_.op_spec(id))) now_ = free;
    } else if (awaited.valid()) {
      now_ = std::max(now_, ends_[awaited.index()]);
    } else {
      now_ += times_[i];
    }
  }

  const Program& program_;
  std::span<const Nanoseconds> times_;
  Tail tail_;
  Nanoseconds now_;
  std::vector<Nanoseconds> lane_free_;  // by group
  std::vector<Nanoseconds> ends_;       // by step: of its last run
  std::size_t done_of_tail_ = 0;
  bool left_tail_ = false;  // there was a run before
};

// Which steps can go to the tail, and what the next run needs of them first.
class TailMaker {
 public:
  TailMaker(const Program& program, const StepGraph& steps) : program_(program), steps_(steps) {
    choose();
    find_needs();
    find_movable();
  }

  std::size_t carried() const {
    const auto waits = [&](StepIndex step) { return steps_.kind(step) == StepKind::wait; };
    return static_cast<std::size_t>(std::ranges::count_if(tail_, waits));
  }
  std::size_t can_be_postponed() const { return movable_.size(); }

  // With these of the collectives that can be postponed, from `first` up to `last`, started after all others, and what only they need
  // computed before or after the others start.
  struct Late {
    std::vector<StepIndex> order;
    std::size_t deferred = 0;
  };
  Late order(std::size_t first, std::size_t last, bool deferring) const {
    std::vector<StepIndex> late(movable_.begin() + static_cast<std::ptrdiff_t>(first),
                                movable_.begin() + static_cast<std::ptrdiff_t>(last));
    std::ranges::stable_sort(late, {}, [&](StepIndex step) { return need_[steps_.first_wait(step)]; });
    std::vector<bool> waiting(steps_.size(), false);
    for (const StepIndex collective : late) waiting[collective] = true;
    Late made;
    if (deferring) made.deferred = defer(waiting);
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      if (in_tail_[step] || waiting[step]) continue;
      made.order.push_back(step);
      if (step != last_start_) continue;
      for (const StepIndex collective : late) append(made.order, collective, waiting);
    }
    const std::vector<StepIndex> tail = tail_after(made.order);
    made.order.insert(made.order.end(), tail.begin(), tail.end());
    return made;
  }

 private:
  // All that communication, results and effects need stays in the head; the tail begins with waits.
  void choose() {
    std::vector<bool> carriable = may_be_carried(program_);
    for (std::size_t i = carriable.size(); i-- > 0;) {
      if (carriable[i]) continue;
      for (const StepIndex earlier : steps_.before(static_cast<StepIndex>(i))) carriable[earlier] = false;
    }
    in_tail_.assign(steps_.size(), false);
    for (StepIndex step = 0; step < steps_.size(); ++step) {
      const auto before = steps_.before(step);
      const bool follows = std::ranges::any_of(before, [&](StepIndex earlier) { return in_tail_[earlier]; });
      in_tail_[step] = carriable[step] && (follows || steps_.kind(step) == StepKind::wait);
      if (in_tail_[step]) tail_.push_back(step);
    }
  }

  // Of each step of the tail the first step of the next run that can't do without it, or without what comes of it.
  void find_needs() {
    const std::size_t buffers = program_.buffers().size();
    std::vector<std::size_t> first_touch(buffers, never), first_write(buffers, never);
    for (std::size_t i = program_.size(); i-- > 0;) {
      if (in_tail_[i]) continue;
      visit_accesses(program_, StepId(i), [&](BufferId buffer, bool written) {
        first_touch[buffer.index()] = i;
        if (written) first_write[buffer.index()] = i;
      });
    }
    need_.assign(steps_.size(), never);
    for (auto step = tail_.rbegin(); step != tail_.rend(); ++step) {
      std::size_t& need = need_[*step];
      visit_accesses(program_, StepId(*step), [&](BufferId buffer, bool written) {
        need = std::min(need, (written && !completes(*step) ? first_touch : first_write)[buffer.index()]);
      });
      for (const StepIndex later : steps_.after(*step)) need = std::min(need, need_[later]);
    }
  }
  // A wait changes nothing itself: the next run's collective must not begin before it, and that comes with the first write.
  bool completes(StepIndex step) const { return steps_.kind(step) == StepKind::wait; }

  // Compute that nothing but what already waits, and the tail, depends on waits as well. How many steps that are.
  std::size_t defer(std::vector<bool>& waiting) const {
    std::size_t deferred = 0;
    for (StepIndex step = last_start_; step-- > 0;) {
      const auto after = steps_.after(step);
      const auto waits = [&](StepIndex later) { return waiting[later]; };
      const bool can = steps_.kind(step) == StepKind::compute && !in_tail_[step] && std::ranges::any_of(after, waits) &&
                       std::ranges::all_of(after, [&](StepIndex later) { return waiting[later] || in_tail_[later]; });
      if (!can) continue;
      waiting[step] = true;
      ++deferred;
    }
    return deferred;
  }

  // A step behind those that wait and lead to it, which are fewer from then on.
  void append(std::vector<StepIndex>& order, StepIndex step, std::vector<bool>& waiting) const {
    std::vector<StepIndex> found = {step};
    waiting[step] = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const StepIndex earlier : steps_.before(found[i])) {
        if (!waiting[earlier]) continue;
        waiting[earlier] = false;
        found.push_back(earlier);
      }
    }
    std::ranges::sort(found);
    order.insert(order.end(), found.begin(), found.end());
  }

  // In the order in which communication ends: what is there early is done while the next run waits for what it needs first.
  std::vector<StepIndex> tail_after(const std::vector<StepIndex>& head) const {
    std::vector<std::size_t> place(steps_.size(), 0);
    for (std::size_t i = 0; i < head.size(); ++i) place[head[i]] = i;
    for (const StepIndex step : tail_) {
      if (completes(step)) place[step] = place[steps_.awaited(step)];
      for (const StepIndex earlier : steps_.before(step)) {
        if (in_tail_[earlier]) place[step] = std::max(place[step], place[earlier]);
      }
    }
    std::vector<StepIndex> tail = tail_;
    std::ranges::stable_sort(tail, {}, [&](StepIndex step) { return place[step]; });
    return tail;
  }

  void find_movable() {
    for (const StepIndex step : steps_.collectives()) {
      last_start_ = step;
      const auto after = steps_.after(step);
      if (std::ranges::all_of(after, [&](StepIndex later) { return in_tail_[later]; }) &&
          steps_.first_wait(step) != no_step)
        movable_.push_back(step);
    }
    // The last one to start stays where it is: the others go behind it.
    if (!movable_.empty() && movable_.back() == last_start_) movable_.pop_back();
  }

  const Program& program_;
  const StepGraph& steps_;
  std::vector<bool> in_tail_;       // by step
  std::vector<StepIndex> tail_;     // in order
  std::vector<std::size_t> need_;   // by step
  std::vector<StepIndex> movable_;  // collectives that nothing of the head needs, in order
  StepIndex last_start_ = no_step;
};

// The best of the orders that are tried.
class Trials {
 public:
  Trials(const Program& program, std::span<const Nanoseconds> times, const std::function<bool(const Program&)>& fits,
         const StepGraph& steps)
      : program_(program), times_(times), fits_(fits), maker_(program, steps) {
    best_.order = steps.original_order();
    best_.period_before = best_.period = period_of(program, times);
  }

  Result<CarryOver> run() && {
    HOCKET_CHECK(consider(0, 0, false));
    const std::size_t count = maker_.can_be_postponed();
    const std::size_t stride = 1 + count / most_tried;
    for (std::size_t first = 0; first < count; first += stride) {
      for (std::size_t last = first; last < count;) {
        last = std::min(last + stride, count);
        HOCKET_CHECK(consider(first, last, false));
        // The first to start come from the last layers, which the next run needs last.
        if (first == 0) HOCKET_CHECK(consider(first, last, true));
      }
    }
    return std::move(best_);
  }

 private:
  Status consider(std::size_t first, std::size_t last, bool deferring) {
    TailMaker::Late late = maker_.order(first, last, deferring);
    std::vector<StepId> ids;
    std::vector<Nanoseconds> moved;
    for (const StepIndex step : late.order) {
      ids.emplace_back(step);
      moved.push_back(times_[step]);
    }
    HOCKET_TRY(const Program reordered, with_order(program_, ids));
    const Nanoseconds period = period_of(reordered, moved);
    if (period.seconds() > worth_it * best_.period.seconds() || (fits_ && !fits_(reordered))) return {};
    best_.order = std::move(late.order);
    best_.period = period;
    best_.carried = maker_.carried();
    best_.postponed = last - first;
    best_.deferred = late.deferred;
    return {};
  }

  const Program& program_;
  std::span<const Nanoseconds> times_;
  const std::function<bool(const Program&)>& fits_;
  TailMaker maker_;
  CarryOver best_;
};

}  // namespace

// The first runs fill the lanes, or have no tail to begin with.
Nanoseconds period_of(const Program& program, std::span<const Nanoseconds> times) {
  constexpr int before = 3;
  constexpr int counted = 6;
  RunClock clock(program, times);
  Nanoseconds begin;
  for (int i = 0; i < before; ++i) begin = clock.run();
  Nanoseconds end = begin;
  for (int i = 0; i < counted; ++i) end = clock.run();
  return Nanoseconds::from_picoseconds((end - begin).picoseconds / counted);
}

Result<CarryOver> carry_over(const Program& program, std::span<const Nanoseconds> times,
                             const std::function<bool(const Program&)>& fits) {
  HOCKET_TRY(const StepGraph steps, StepGraph::of(program, times, {.keep_collective_order = false}));
  return Trials(program, times, fits, steps).run();
}

}  // namespace hocket
