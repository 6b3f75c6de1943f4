#include "hocket/schedule/overlap_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace hocket {

namespace {

std::vector<std::size_t> places(std::span<const StepIndex> order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  return place;
}

// Where the first wait of each collective stands.
std::vector<std::size_t> wait_places(const StepGraph& steps, std::span<const StepIndex> order) {
  std::vector<std::size_t> place(steps.size(), order.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    if (steps.kind(order[p]) != StepKind::wait) continue;
    std::size_t& first = place[steps.awaited(order[p])];
    first = std::min(first, p);
  }
  return place;
}

// How long each collective ran while the compute lane worked: its span on the lane, less the time in which the compute lane stood still.
// The compute lane's pauses are few and in order, so two prefix sums answer for any span.
class WorkedTime {
 public:
  WorkedTime(const StepGraph& steps, std::span<const StepIndex> order, const Timeline& line) {
    Nanoseconds stood;
    for (const StepIndex step : order) {
      if (line.stood[step] == Nanoseconds() || steps.kind(step) != StepKind::wait) continue;
      pauses_.push_back({line.begin[step] - line.stood[step], line.begin[step], stood});
      stood += line.stood[step];
    }
    compute_end_ = line.compute + stood;
  }

  Nanoseconds between(Nanoseconds begin, Nanoseconds end) const { return until(end) - until(begin); }

 private:
  struct Pause {
    Nanoseconds begin, end, before;
  };
  Nanoseconds until(Nanoseconds time) const {
    const Nanoseconds inside = std::min(time, compute_end_);
    const auto next = std::upper_bound(pauses_.begin(), pauses_.end(), inside,
                                       [](Nanoseconds at, const Pause& pause) { return at < pause.begin; });
    if (next == pauses_.begin()) return inside;
    const Pause& last = *std::prev(next);
    return inside - last.before - (std::min(inside, last.end) - last.begin);
  }

  std::vector<Pause> pauses_;
  Nanoseconds compute_end_;
};

}  // namespace

std::vector<Nanoseconds> exposed_times(const StepGraph& steps, std::span<const StepIndex> order) {
  const Timeline line = timeline(steps, order);
  Nanoseconds compute_end;
  for (const StepIndex step : order) {
    if (steps.kind(step) != StepKind::collective) compute_end = std::max(compute_end, line.end[step]);
  }
  std::vector<Nanoseconds> exposed(steps.size());
  for (const StepIndex collective : steps.collectives()) {
    const Nanoseconds tail = line.end[collective] - std::max(compute_end, line.begin[collective]);
    exposed[collective] = line.stood[collective] + std::max(Nanoseconds(), tail);
  }
  return exposed;
}

OverlapReport overlap_report(const StepGraph& steps, std::span<const StepIndex> order, const ExposedBefore& was,
                             const IterativeResult* raised, const IterativeResult* sunk) {
  OverlapReport report;
  if (raised != nullptr) report.limit = raised->limit;
  if (sunk != nullptr) report.limit = sunk->limit;
  const Timeline line = timeline(steps, order);
  const auto exposed = exposed_times(steps, order);
  const auto start = places(order), wait = wait_places(steps, order);
  const WorkedTime worked(steps, order, line);
  for (std::size_t i = 0; i < steps.collectives().size(); ++i) {
    const StepIndex collective = steps.collectives()[i];
    CollectiveStats stats;
    stats.collective = collective;
    stats.time = steps.time(collective);
    stats.overlapped = worked.between(line.begin[collective], line.end[collective]);
    stats.exposed_before = was ? was(steps.name(collective)) : std::nullopt;
    stats.exposed_after = exposed[collective];
    stats.start = start[collective];
    stats.wait = wait[collective];
    if (raised != nullptr) stats.raised = raised->moves[i];
    if (sunk != nullptr) stats.sunk = sunk->moves[i];
    report.collectives.push_back(std::move(stats));
  }
  return report;
}

std::string limit_in_words(const StepGraph& steps, const CollectiveMove& move, Bytes limit, Direction direction) {
  switch (move.limit) {
    case Limit::hidden: return "hidden";
    case Limit::dependency:
      return fmt::format("{} {}", direction == Direction::earlier ? "depends on" : "needed by", steps.name(move.step));
    case Limit::memory: return fmt::format("memory {}, the limit is {}", to_string(move.memory), to_string(limit));
    case Limit::collective_order: return fmt::format("order: {} comes first", steps.name(move.step));
    case Limit::lane_busy: return fmt::format("lane busy with {}", steps.name(move.step));
    case Limit::end_of_program: return "nothing more to pass";
    case Limit::move_limit: return "limit on moves";
    case Limit::no_wait: return "nobody waits";
  }
  return "";
}

std::string table_of(const OverlapReport& report, const StepGraph& steps, std::size_t most) {
  std::vector<const CollectiveStats*> rows;
  for (const CollectiveStats& stats : report.collectives) rows.push_back(&stats);
  if (most != 0 && most < rows.size()) {
    std::stable_sort(rows.begin(), rows.end(), [](const CollectiveStats* a, const CollectiveStats* b) {
      return a->exposed_after > b->exposed_after;
    });
    rows.resize(most);
  }
  std::size_t width = 10;
  for (const CollectiveStats* stats : rows) width = std::max(width, steps.name(stats->collective).size());
  std::string text =
      fmt::format("{:<{}}  {:<8} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}  {}\n", "collective", width, "lane",
                  "time", "hidden", "exposed", "was", "earlier", "later", "grouped", "limited by");
  for (const CollectiveStats* stats : rows) {
    const auto lane = std::string(steps.lane_name(steps.lane(stats->collective)));
    std::string why;
    std::size_t earlier = 0, later = 0, grouped = 0;
    if (stats->raised) {
      earlier = stats->raised->passed;
      grouped += stats->raised->grouped.size();
      why = limit_in_words(steps, *stats->raised, report.limit, Direction::earlier);
    }
    if (stats->sunk) {
      later = stats->sunk->passed;
      grouped += stats->sunk->grouped.size();
      const std::string other = limit_in_words(steps, *stats->sunk, report.limit, Direction::later);
      if (why.empty()) why = other;
      else if (why != other) why += "; wait: " + other;
    }
    text += fmt::format(
        "{:<{}}  {:<8} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}  {}\n", steps.name(stats->collective), width,
        "@" + lane, to_string(stats->time), to_string(stats->overlapped), to_string(stats->exposed_after),
        stats->exposed_before ? to_string(*stats->exposed_before) : "new", earlier, later, grouped, why);
  }
  if (rows.size() < report.collectives.size())
    text += fmt::format("… {} more\n", report.collectives.size() - rows.size());
  return text;
}

std::string visualize_overlap(const StepGraph& steps, std::span<const StepIndex> order) {
  const Timeline line = timeline(steps, order);
  const auto last_wait = [&] {
    std::vector<std::size_t> last(steps.size(), 0);
    for (std::size_t p = 0; p < order.size(); ++p) {
      if (steps.kind(order[p]) == StepKind::wait) last[steps.awaited(order[p])] = p;
    }
    return last;
  }();
  std::string text;
  std::size_t in_flight = 0;
  for (std::size_t p = 0; p < order.size(); ++p) {
    const StepIndex step = order[p];
    if (steps.kind(step) == StepKind::fixed) continue;
    if (steps.kind(step) == StepKind::wait && last_wait[steps.awaited(step)] == p && in_flight > 0) --in_flight;
    std::string note;
    if (steps.kind(step) == StepKind::collective) {
      note = fmt::format("  {} on @{}", to_string(steps.time(step)), steps.lane_name(steps.lane(step)));
    } else if (steps.kind(step) == StepKind::wait) {
      note = fmt::format("  for {}", steps.name(steps.awaited(step)));
      if (line.stood[step] > Nanoseconds()) note += fmt::format(", exposed {}", to_string(line.stood[step]));
    } else if (steps.time(step) > Nanoseconds()) {
      note = "  " + to_string(steps.time(step));
    }
    text += fmt::format("{}{}{}\n", std::string(2 * in_flight, ' '), steps.name(step), note);
    if (steps.kind(step) == StepKind::collective && last_wait[step] > p) ++in_flight;
  }
  return text;
}

}  // namespace hocket
