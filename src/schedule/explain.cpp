#include "hocket/schedule/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hocket/schedule/overlap_report.h"

namespace hocket {

namespace {

constexpr Bytes any_memory{std::numeric_limits<std::int64_t>::max()};

Attempt attempt(const StepGraph& steps, std::span<const StepIndex> order, StepIndex collective, Direction direction,
                Bytes limit, bool reorder) {
  IterativeOptions options;
  options.memory_limit = limit;
  options.only = collective;
  options.reorder_collectives = reorder;
  const std::vector<StepIndex> start(order.begin(), order.end());
  const IterativeResult result = direction == Direction::earlier
                                     ? reorder_communication_preserving_peak_memory(steps, start, options)
                                     : sink_waits_iterative(steps, start, options);
  Attempt made;
  for (const CollectiveMove& move : result.moves) {
    if (move.collective == collective) made.move = move;
  }
  made.exposed = exposed_times(steps, result.order)[collective];
  made.step_time = timeline(steps, result.order).step_time;
  made.peak = memory_curve(steps, result.order).peak;
  return made;
}

std::string stop_in_words(const Attempt& made, const StepGraph& steps, Bytes limit, Direction direction) {
  const CollectiveMove& move = made.move;
  switch (move.limit) {
    case Limit::hidden: return "then it is hidden";
    case Limit::dependency:
      return fmt::format("then {} is in the way, which {}", steps.name(move.step),
                         direction == Direction::earlier ? "it depends on" : "depends on it");
    case Limit::memory:
      return fmt::format("then memory is in the way: {} at {}, the limit is {}", to_string(move.memory),
                         steps.name(move.step), to_string(limit));
    case Limit::collective_order:
      return fmt::format("then {} is in the way, which comes first on the same group", steps.name(move.step));
    case Limit::lane_busy:
      return fmt::format("from there on an earlier start gains nothing: the group is busy with {}",
                         move.step == no_step ? "an earlier collective" : steps.name(move.step));
    case Limit::end_of_program:
      return direction == Direction::earlier ? "then it stands at the beginning" : "then it stands at the end";
    case Limit::move_limit: return "then the limit on moves is reached";
    case Limit::no_wait: return "nobody waits for it";
  }
  return "";
}

// "past 12 steps, with 2 that go along: exposed 1.2 ms instead of 3.4 ms"
std::string gain_in_words(const Attempt& made, Nanoseconds exposed) {
  if (made.move.passed == 0) return "it cannot move";
  std::string text = fmt::format("it can move past {} step{}", made.move.passed, made.move.passed == 1 ? "" : "s");
  if (!made.move.grouped.empty())
    text += fmt::format(", together with {} that it is tied to", made.move.grouped.size());
  return text + fmt::format(": exposed {} instead of {}", to_string(made.exposed), to_string(exposed));
}

std::string direction_in_words(Direction direction, const Attempt& made, const Attempt& with_memory,
                               const Explanation& why, const StepGraph& steps) {
  std::string text =
      fmt::format("{}: {}; {}.\n", direction == Direction::earlier ? "Start it earlier" : "Wait for it later",
                  gain_in_words(made, why.exposed), stop_in_words(made, steps, why.limit, direction));
  if (with_memory.exposed < made.exposed && with_memory.peak > why.limit) {
    text += fmt::format("  With {} more memory ({} in all) {}; {}.\n", to_string(with_memory.peak - why.limit),
                        to_string(with_memory.peak), gain_in_words(with_memory, why.exposed),
                        stop_in_words(with_memory, steps, with_memory.peak, direction));
  }
  return text;
}

}  // namespace

Explanation explain(const StepGraph& steps, const StepGraph& free_order, std::span<const StepIndex> order,
                    StepIndex collective, Bytes limit) {
  Explanation why;
  const Timeline line = timeline(steps, order);
  why.collective = collective;
  why.time = steps.time(collective);
  why.begin = line.begin[collective];
  why.end = line.end[collective];
  why.exposed = exposed_times(steps, order)[collective];
  why.step_time = line.step_time;
  why.peak = memory_curve(steps, order).peak;
  why.limit = std::max(limit, why.peak);
  Nanoseconds now;
  for (const StepIndex step : order) {
    if (step == collective) why.issued = now;
    if (steps.kind(step) == StepKind::wait && steps.awaited(step) == collective && !why.awaited) why.awaited = now;
    if (steps.kind(step) != StepKind::collective) now = line.end[step];
    else if (steps.lane(step) == steps.lane(collective) && line.end[step] == why.begin && step != collective)
      why.behind = step;
  }
  if (why.begin == why.issued) why.behind = no_step;
  why.earlier = attempt(steps, order, collective, Direction::earlier, why.limit, false);
  why.earlier_with_memory = attempt(steps, order, collective, Direction::earlier, any_memory, false);
  why.earlier_out_of_order = attempt(free_order, order, collective, Direction::earlier, why.limit, true);
  why.later = attempt(steps, order, collective, Direction::later, why.limit, false);
  why.later_with_memory = attempt(steps, order, collective, Direction::later, any_memory, false);
  return why;
}

std::string in_words(const Explanation& why, const StepGraph& steps) {
  std::string text = fmt::format("{} takes {} on @{}", steps.name(why.collective), to_string(why.time),
                                 steps.lane_name(steps.lane(why.collective)));
  text += fmt::format(": issued at {}", to_string(why.issued));
  if (why.behind != no_step)
    text += fmt::format(", begun at {} when {} was done", to_string(why.begin), steps.name(why.behind));
  text += fmt::format(", done at {}.\n", to_string(why.end));
  if (why.awaited) text += fmt::format("Its wait comes at {}", to_string(*why.awaited));
  else text += "Nobody waits for it";
  if (why.exposed == Nanoseconds()) return text + ": it is hidden, the compute lane never stands still for it.\n";
  text += fmt::format(": the compute lane stands still for {} of {} that the step takes.\n", to_string(why.exposed),
                      to_string(why.step_time));
  text += direction_in_words(Direction::earlier, why.earlier, why.earlier_with_memory, why, steps);
  if (why.earlier_out_of_order.exposed < why.earlier.exposed) {
    text +=
        fmt::format("  If all ranks agree on another order of the collectives of @{} {}.\n",
                    steps.lane_name(steps.lane(why.collective)), gain_in_words(why.earlier_out_of_order, why.exposed));
  }
  if (why.awaited) text += direction_in_words(Direction::later, why.later, why.later_with_memory, why, steps);
  return text;
}

}  // namespace hocket
