#include <algorithm>

#include "hocket/sim/simulate.h"

namespace hocket {

namespace {

std::int64_t world_of(const Subject& subject) {
  std::int64_t ranks = 1;
  if (const auto* graph = std::get_if<Graph>(&subject)) ranks = std::max(ranks, graph->world_size());
  std::visit(
      [&](const auto& form) {
        for (const Group& group : form.groups()) {
          for (const Rank rank : group.ranks) ranks = std::max<std::int64_t>(ranks, rank.value + 1);
        }
      },
      subject);
  return ranks;
}

Rank rank_of(const Subject& subject) {
  const auto* graph = std::get_if<Graph>(&subject);
  return Rank{graph == nullptr || graph->rank() < 0 ? 0 : static_cast<std::int32_t>(graph->rank())};
}

// The groups behind the lanes of a StepGraph, which are named after the first group of these ranks.
Result<std::vector<SimLane>> lanes_of(const Subject& subject, const StepGraph& steps) {
  return std::visit(
      [&](const auto& form) -> Result<std::vector<SimLane>> {
        std::vector<SimLane> lanes;
        for (std::uint32_t lane = 0; lane < steps.lanes(); ++lane) {
          const auto groups = form.groups();
          const auto found = std::find_if(groups.begin(), groups.end(),
                                          [&](const Group& group) { return group.name == steps.lane_name(lane); });
          if (found == groups.end())
            return fail(ErrorKind::internal, "no group is named {}, as a lane is", steps.lane_name(lane));
          lanes.push_back({found->name, found->ranks});
        }
        return lanes;
      },
      subject);
}

}  // namespace

Result<SimProgram> sim_program(const Subject& subject, const CostModel& cost) {
  auto times = std::visit([&](const auto& form) { return cost.times(form); }, subject);
  return sim_program(subject, std::move(times), {}, world_of(subject));
}

Result<SimProgram> sim_program(const Subject& subject, std::vector<Nanoseconds> times, std::vector<SimLane> lanes,
                               std::int64_t world) {
  HOCKET_TRY(const StepGraph steps, std::visit([&](const auto& form) { return StepGraph::of(form, times); }, subject));
  SimProgram program;
  program.name = std::visit([](const auto& form) { return std::string(form.name()); }, subject);
  program.size = steps.size();
  program.rank = rank_of(subject);
  program.world = world;
  program.times = std::move(times);
  program.lanes = std::move(lanes);
  if (program.lanes.empty()) {
    HOCKET_TRY(program.lanes, lanes_of(subject, steps));
  }
  for (StepIndex step = 0; step < steps.size(); ++step) program.names.emplace_back(steps.name(step));
  std::vector<std::uint32_t> next(program.lanes.size(), 0), sequence(steps.size(), 0);
  for (const StepIndex step : steps.original_order()) {
    SimStep entry{steps.kind(step), steps.time(step), 0, 0, step, steps.blocks(step)};
    if (entry.kind == StepKind::collective || entry.blocks) {
      entry.kind = StepKind::collective;
      entry.lane = steps.lane(step);
      entry.sequence = sequence[step] = next[entry.lane]++;
    } else if (entry.kind == StepKind::wait) {
      entry.lane = steps.lane(steps.awaited(step));
      entry.sequence = sequence[steps.awaited(step)];
    }
    program.steps.push_back(entry);
    if (entry.blocks) program.steps.push_back({StepKind::wait, {}, entry.lane, entry.sequence, step, true});
  }
  return program;
}

}  // namespace hocket
