#include "report/timeline_maker.h"

#include <algorithm>

#include "hocket/schedule/iterative.h"
#include "hocket/schedule/overlap_report.h"
#include "hocket/schedule/timeline.h"
#include "report/shown_steps.h"
#include "report/step_ties.h"

namespace hocket {

namespace {

// How long lane 0 computes within any stretch of time: sums over its spans, which are in order and apart from each other.
class ComputeTime {
 public:
  void add(Nanoseconds begin, Nanoseconds end) {
    if (end <= begin) return;
    spans_.push_back({begin, end, sum_});
    sum_ += end - begin;
  }
  Nanoseconds between(Nanoseconds begin, Nanoseconds end) const {
    return std::max(Nanoseconds(), until(end) - until(begin));
  }
  Nanoseconds sum() const { return sum_; }

 private:
  struct Busy {
    Nanoseconds begin, end, before;
  };
  Nanoseconds until(Nanoseconds time) const {
    const auto next = std::upper_bound(spans_.begin(), spans_.end(), time,
                                       [](Nanoseconds at, const Busy& span) { return at < span.begin; });
    if (next == spans_.begin()) return {};
    const Busy& last = *std::prev(next);
    return last.before + std::min(time, last.end) - last.begin;
  }
  std::vector<Busy> spans_;
  Nanoseconds sum_;
};

template <class Form>
class TimelineMaker {
 public:
  TimelineMaker(const Form& form, const StepGraph& steps, std::span<const StepIndex> order, const StepMoments& moments,
                const TimelineOptions& options)
      : form_(form), calls_(calls_of(form)), steps_(steps), order_(order), moments_(moments), options_(options) {}

  ShownTimeline make() {
    line_.title = options_.title;
    line_.source = options_.source;
    line_.limit = options_.limit;
    line_.step_time = moments_.total;
    line_.lanes.emplace_back("compute");
    for (std::uint32_t lane = 0; lane < steps_.lanes(); ++lane) line_.lanes.push_back(lane_in_words(lane));
    add_spans();
    add_ties();
    add_collectives();
    add_limits();
    add_memory();
    return std::move(line_);
  }

 private:
  // "dp (8 ranks)".
  std::string lane_in_words(std::uint32_t lane) const {
    const std::string_view name = steps_.lane_name(lane);
    for (const Group& group : form_.groups()) {
      if (group.name == name) return fmt::format("{} ({} ranks)", name, group.ranks.size());
    }
    return std::string(name);
  }

  bool is_shown(StepIndex step) const {
    const StepKind kind = steps_.kind(step);
    if (kind == StepKind::collective || kind == StepKind::wait) return true;
    return kind == StepKind::compute &&
           (moments_.end[step] > moments_.begin[step] || calls_.collective(step) != nullptr);
  }

  SpanKind kind_of(StepIndex step) const {
    if (steps_.kind(step) == StepKind::collective) return SpanKind::collective;
    if (steps_.kind(step) == StepKind::wait) return SpanKind::wait;
    return calls_.collective(step) != nullptr ? SpanKind::blocking : SpanKind::compute;
  }

  void add_spans() {
    shown_.assign(steps_.size(), false);
    span_.assign(steps_.size(), no_span);
    place_.assign(steps_.size(), 0);
    for (std::uint32_t p = 0; p < order_.size(); ++p) {
      const StepIndex step = order_[p];
      place_[step] = p;
      if (steps_.kind(step) != StepKind::collective) compute_end_ = std::max(compute_end_, moments_.end[step]);
      if (!is_shown(step)) continue;
      shown_[step] = true;
      span_[step] = static_cast<SpanIndex>(line_.spans.size());
      ShownSpan& span = line_.spans.emplace_back();
      span.name = steps_.name(step);
      span.op = calls_.op_name(step);
      span.shapes = shapes_of(calls_, step);
      span.bytes = bytes_of(calls_, step);
      span.kind = kind_of(step);
      span.lane = span.kind == SpanKind::collective ? steps_.lane(step) + 1 : 0;
      span.begin = moments_.begin[step];
      span.end = moments_.end[step];
      span.stood = moments_.stood[step];
      count(span);
    }
    line_.compute = computing_.sum();
    line_.exposed += std::max(Nanoseconds(), line_.step_time - compute_end_);
  }

  void count(const ShownSpan& span) {
    const Nanoseconds time = span.end - span.begin;
    line_.exposed += span.stood;
    if (span.kind == SpanKind::compute) computing_.add(span.begin, span.end);
    if (span.kind == SpanKind::collective || span.kind == SpanKind::blocking) line_.communication += time;
    if (span.kind == SpanKind::blocking) line_.exposed += time;
  }

  void add_ties() {
    const StepTies ties = step_ties(steps_, order_, shown_);
    const auto span_of = [&](StepIndex step) { return step == no_step ? no_span : span_[step]; };
    for (const StepIndex step : order_) {
      if (!shown_[step]) continue;
      line_.spans[span_[step]].needs = span_of(ties.needs[step]);
      line_.spans[span_[step]].needed_by = span_of(ties.needed_by[step]);
    }
  }

  void add_collectives() {
    row_.assign(steps_.size(), no_span);
    for (const StepIndex step : order_) {
      if (calls_.collective(step) == nullptr || !shown_[step]) continue;
      row_[step] = static_cast<SpanIndex>(line_.collectives.size());
      const ShownSpan& span = line_.spans[span_[step]];
      ShownCollective& row = line_.collectives.emplace_back();
      row.span = span_[step];
      row.kind = name_of(calls_.collective(step)->kind);
      row.issued = moments_.issued[step];
      row.hidden = computing_.between(span.begin, span.end);
      if (span.kind == SpanKind::blocking) row.exposed = span.end - span.begin;
      else row.exposed = span.stood + std::max(Nanoseconds(), span.end - std::max(compute_end_, span.begin));
      if (span.kind == SpanKind::blocking) add_users(row, step);
    }
    for (const StepIndex step : order_) {
      if (steps_.kind(step) != StepKind::wait || row_[steps_.awaited(step)] == no_span) continue;
      ShownCollective& row = line_.collectives[row_[steps_.awaited(step)]];
      row.exposed += moments_.stood[step];
      if (row.wait == no_span) row.wait = span_[step];
      add_users(row, step);
    }
  }

  void add_users(ShownCollective& row, StepIndex step) {
    constexpr std::size_t most = 8;
    for (const StepIndex user : shown_users(steps_, step, shown_, place_, most)) {
      const SpanIndex span = span_[user];
      const bool known = std::find(row.users.begin(), row.users.end(), span) != row.users.end();
      if (!known && row.users.size() < most) row.users.push_back(span);
    }
  }

  // What stops each collective from starting earlier, and its wait from coming later, in the order as it stands.
  void add_limits() {
    IterativeOptions how;
    if (options_.limit > Bytes()) how.memory_limit = options_.limit;
    const std::vector<StepIndex> order(order_.begin(), order_.end());
    const IterativeResult raised = reorder_communication_preserving_peak_memory(steps_, order, how);
    for (const CollectiveMove& move : raised.moves) {
      ShownCollective& row = line_.collectives[row_[move.collective]];
      row.start_limit = in_words(row, move, raised.limit, Direction::earlier);
    }
    const IterativeResult sunk = sink_waits_iterative(steps_, order, how);
    for (const CollectiveMove& move : sunk.moves) {
      ShownCollective& row = line_.collectives[row_[move.collective]];
      row.wait_limit = in_words(row, move, sunk.limit, Direction::later);
    }
  }

  // A walk that ends where the collective is hidden has found a better place for it.
  std::string in_words(const ShownCollective& row, const CollectiveMove& move, Bytes limit, Direction direction) const {
    if (move.limit != Limit::hidden || row.exposed == Nanoseconds())
      return limit_in_words(steps_, move, limit, direction);
    if (move.passed == 0) return "nothing: it is hidden once others have moved";
    return fmt::format("nothing: {} steps {} it is hidden", move.passed,
                       direction == Direction::earlier ? "earlier" : "later");
  }

  // A point where the memory changes; of steps at the same moment the one that sees the most.
  void add_memory() {
    const MemoryCurve curve = memory_curve(steps_, order_);
    line_.peak = curve.peak;
    Nanoseconds now;
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const StepIndex step = order_[p];
      if (steps_.kind(step) != StepKind::fixed) now = std::max(now, moments_.issued[step]);
      std::vector<MemoryPoint>& points = line_.memory;
      if (!points.empty() && points.back().time == now)
        points.back().held = std::max(points.back().held, curve.live[p]);
      else if (points.empty() || points.back().held != curve.live[p]) points.push_back({now, curve.live[p]});
    }
  }

  const Form& form_;
  decltype(calls_of(std::declval<const Form&>())) calls_;
  const StepGraph& steps_;
  std::span<const StepIndex> order_;
  const StepMoments& moments_;
  const TimelineOptions& options_;
  ShownTimeline line_;
  std::vector<bool> shown_;            // by step
  std::vector<SpanIndex> span_, row_;  // by step
  std::vector<std::uint32_t> place_;   // by step
  ComputeTime computing_;
  Nanoseconds compute_end_;
};

}  // namespace

ShownTimeline make_timeline(const Subject& form, const StepGraph& steps, std::span<const StepIndex> order,
                            const StepMoments& moments, const TimelineOptions& options) {
  return std::visit(
      [&]<class Form>(const Form& one) { return TimelineMaker<Form>(one, steps, order, moments, options).make(); },
      form);
}

}  // namespace hocket
