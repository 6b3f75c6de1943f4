#include "measure_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core_distance.h"
#include "hocket/base/median.h"
#include "measuring.h"

namespace hocket::comm_bench {

namespace {

// A repetition lasts at least this long, so that looking at the clock (some 25 ns) does not count.
constexpr double shortest_repetition_us = 20;
constexpr double largest_batch = 200;
constexpr double fewest_repetitions = 3;
constexpr double most_repetitions = 500;
constexpr std::int32_t trial_repetitions = 3;
constexpr std::size_t most_times_the_rounds = 3;  // where the cores move apart and together again
constexpr int most_attempts = 3;                  // at a measurement during which they do not

Task task_for(const Point& point, const Entrant& entrant) {
  Task task;
  task.op = point.op;
  task.bytes = point.bytes;
  task.buffers = entrant.buffers;
  task.fill = point.fill;
  // broadcast has no other form in MPI and gloo. What is filled anew every time, or lies in symmetric memory, may be summed in
  // place.
  const bool sum_in_place = point.fill || entrant.buffers == BufferKind::symmetric_memory;
  task.in_place = point.op == Operator::broadcast || (point.op == Operator::all_reduce && sum_in_place);
  return task;
}

// Another one begins in every round, and every second round goes the other way round, so that none always follows the same.
std::size_t whose_turn(std::size_t turn, std::size_t round, std::size_t entrants) {
  return (round % 2 == 0 ? round + turn : round + entrants - turn) % entrants;
}

// The task to measure, if the result is right.
Result<Task> try_out(const Point& point, Entrant& entrant, const Effort& effort) {
  Task task = task_for(point, entrant);
  task.kind = Task::Kind::check;
  HOCKET_TRY(const auto checked, entrant.contestant->ask(task));
  task.kind = Task::Kind::measure;
  task.repetitions = trial_repetitions;
  HOCKET_TRY(const auto trial, entrant.contestant->measure(task));
  const Amount amount = amount_for(lowest(trial), upper_median(trial), effort.measurement_us);
  task.repetitions = amount.repetitions;
  task.batch = amount.batch;
  return task;
}

// One round of one of them, from begin to end in one state of the machine if it can be had. `distance` of the cores is that before, and then
// that behind it.
void measure_round(Entrant& entrant, const Task& task, Series& series, double& distance) {
  for (int attempt = 1;; ++attempt) {
    Result<std::vector<double>> times = entrant.contestant->measure(task);
    if (!times) {
      series.absent = times.error().to_string();
      return;
    }
    const double before = std::exchange(distance, core_round_trip_ns());
    if (is_same_distance(before, distance) || attempt == most_attempts) {
      series.rounds.push_back(std::move(*times));
      series.round_trips_ns.push_back(std::max(before, distance));
      return;
    }
  }
}

}  // namespace

Amount amount_for(double lowest_us, double usual_us, double measurement_us) {
  constexpr double least = 1e-3;  // a call of no time at all
  const double batch = std::clamp(std::ceil(shortest_repetition_us / std::max(lowest_us, least)), 1.0, largest_batch);
  const double repetition = std::max(usual_us, least) * batch;
  const double repetitions = std::clamp(measurement_us / repetition, fewest_repetitions, most_repetitions);
  return {static_cast<std::int32_t>(repetitions), static_cast<std::int32_t>(batch)};
}

Point measure_point(const Point& asked, std::vector<Entrant>& entrants, const Effort& effort) {
  Point point = asked;
  std::vector<Task> tasks(entrants.size());
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    Series& series = point.series.emplace_back(Series{entrants[i].title, entrants[i].side, {}, {}, {}});
    Result<Task> task = try_out(point, entrants[i], effort);
    if (task) tasks[i] = *task;
    if (!task) series.absent = task.error().to_string();
  }
  const auto rounds = static_cast<std::size_t>(effort.rounds);
  double distance = core_round_trip_ns();
  for (std::size_t round = 0; round < most_times_the_rounds * rounds && point.fair_rounds() < rounds; ++round) {
    for (std::size_t turn = 0; turn < entrants.size(); ++turn) {
      const std::size_t i = whose_turn(turn, round, entrants.size());
      if (point.series[i].absent.empty()) measure_round(entrants[i], tasks[i], point.series[i], distance);
    }
  }
  Task release;
  release.kind = Task::Kind::release;
  for (Entrant& entrant : entrants) {
    if (entrant.contestant->alive()) std::ignore = entrant.contestant->ask(release);
  }
  return point;
}

}  // namespace hocket::comm_bench
