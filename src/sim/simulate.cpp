#include "hocket/sim/simulate.h"

#include <algorithm>
#include <cmath>

#include "hocket/schedule/collective_order.h"
#include "sim/engine.h"

namespace hocket {

namespace {

// A rank has some kilobytes of state, and every rank walks through all steps: beyond this, folding is what one wants.
constexpr std::int64_t most_ranks_in_full = 16'384;

Status check_for(const SimOptions& options, std::int64_t ranks) {
  HOCKET_CHECK(check(options));
  for (const Straggler& slow : options.stragglers) {
    if (slow.rank.value < 0 || slow.rank.value >= ranks)
      return fail(ErrorKind::usage, "rank {} is to be slow, and there are {} ranks", slow.rank.value, ranks);
  }
  if (!options.late.empty() && static_cast<std::int64_t>(options.late.size()) != ranks)
    return fail(ErrorKind::usage, "{} ranks are said to be late, and there are {} ranks", options.late.size(), ranks);
  return {};
}

// One rank for all is right only where nothing tells ranks apart.
bool all_alike(const SimOptions& options) {
  return options.fold && options.jitter == 0 && options.stragglers.empty() && options.late.empty();
}

// What a rank does on the network, for the check of cyclic waits. Groups of the same ranks get the same name.
RankOrder order_of(const SimProgram& program, Rank rank) {
  RankOrder order;
  order.rank = rank;
  for (const SimLane& lane : program.lanes) {
    std::vector<Rank> ranks = lane.ranks;
    std::sort(ranks.begin(), ranks.end());
    std::string name;
    for (const Rank one : ranks) name += fmt::format("{}{}", name.empty() ? "" : ",", one.value);
    order.groups.push_back({name, std::move(ranks)});
  }
  for (const SimStep& step : program.steps) {
    if (step.kind != StepKind::collective && step.kind != StepKind::wait) continue;
    CommunicationEvent event;
    event.waits = step.kind == StepKind::wait;
    event.group = order.groups[step.lane].name;
    event.sequence = step.sequence;
    event.name = program.names[step.step];
    order.events.push_back(std::move(event));
  }
  return order;
}

Status check_ends(std::span<const SimProgram> programs) {
  std::vector<RankOrder> orders;
  for (std::size_t rank = 0; rank < programs.size(); ++rank)
    orders.push_back(order_of(programs[rank], Rank{static_cast<std::int32_t>(rank)}));
  if (const auto stuck = find_cyclic_wait(orders))
    return fail(ErrorKind::input, "the ranks wait for each other for ever: {}", stuck->to_string());
  return {};
}

Result<SimResult> run(const Cluster& cluster, const SimOptions& options) {
  Engine engine(cluster, options);
  engine.run();
  if (!engine.all_done()) return fail(ErrorKind::internal, "the simulation ended before all ranks were done");
  return engine.result();
}

}  // namespace

Status check(const SimOptions& options) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!positive(options.slowdown))
    return fail(ErrorKind::usage, "a slowdown is a positive number, not {}", options.slowdown);
  if (!std::isfinite(options.jitter) || options.jitter < 0 || options.jitter > 3)
    return fail(ErrorKind::usage, "jitter is a number from 0 to 3, not {}", options.jitter);
  for (const Straggler& slow : options.stragglers) {
    if (!positive(slow.factor))
      return fail(ErrorKind::usage, "rank {} is to be {} times slower; a positive number is needed", slow.rank.value,
                  slow.factor);
  }
  return {};
}

Result<SimResult> simulate(const SimProgram& program, const Machine& machine, const SimOptions& options) {
  HOCKET_CHECK(check_for(options, program.world));
  const bool folded = all_alike(options);
  if (!folded && program.world > most_ranks_in_full) {
    return fail(ErrorKind::usage, "{} ranks that differ from each other are too many to simulate; at most {}",
                program.world, most_ranks_in_full);
  }
  Cluster cluster;
  if (folded) cluster = folded_cluster(program, machine);
  else {
    HOCKET_TRY(cluster, spmd_cluster(program, machine));
  }
  HOCKET_TRY(SimResult result, run(cluster, options));
  result.ranks = program.world;
  return result;
}

Result<SimResult> simulate(std::span<const SimProgram> programs, const Machine& machine, const SimOptions& options) {
  const auto ranks = static_cast<std::int64_t>(programs.size());
  HOCKET_CHECK(check_for(options, ranks));
  for (const SimProgram& program : programs) {
    for (const SimLane& lane : program.lanes) {
      for (const Rank rank : lane.ranks) {
        if (rank.value >= ranks)
          return fail(ErrorKind::usage, "{} has rank {} in group {}, and there are {} programs, one for each rank",
                      program.name, rank.value, lane.name, ranks);
      }
    }
  }
  HOCKET_CHECK(check_ends(programs));
  HOCKET_TRY(SimResult result, run(cluster_of(programs, machine), options));
  result.ranks = ranks;
  return result;
}

}  // namespace hocket
