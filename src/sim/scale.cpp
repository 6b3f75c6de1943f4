#include "hocket/sim/scale.h"

#include "cost/calls.h"

namespace hocket {

namespace {

// What one group becomes.
Result<EvenGroup> scaled(const Group& group, std::int64_t world, std::int64_t ranks) {
  const auto even = even_group(group.ranks);
  if (!even) {
    return fail(ErrorKind::usage, "group {} has ranks that are not evenly spaced, so it can't be scaled to {} ranks",
                group.name, ranks);
  }
  const std::int64_t block = even->stride * even->size;
  EvenGroup result = *even;
  if (block >= world) result.size = ranks / even->stride;
  if (result.size < 1 || result.stride * result.size > ranks || ranks % (result.stride * result.size) != 0) {
    return fail(ErrorKind::usage,
                "{} ranks don't hold whole groups like {}, of {} ranks that are {} apart; it takes a multiple of {}",
                ranks, group.name, even->size, even->stride, block >= world ? even->stride : block);
  }
  return result.of(group.ranks.front());
}

// What a collective moves in a group of another size: what is whole stays, parts shrink or grow.
Bytes moved(const Collective& comm, std::int64_t ranks) {
  switch (comm.kind) {
    case CollectiveKind::all_gather: return comm.bytes_out + Bytes(comm.bytes_out.count / ranks);
    case CollectiveKind::reduce_scatter: return comm.bytes_in + Bytes(comm.bytes_in.count / ranks);
    default: return comm.bytes_in + comm.bytes_out;
  }
}

template <class Calls>
Status time_collectives(Calls calls, const CostModel& cost, const std::vector<std::vector<Rank>>& groups,
                        std::vector<Nanoseconds>& times) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Collective* comm = calls.collective(i);
    if (comm == nullptr) continue;
    const auto& ranks = groups[comm->group.index()];
    times[i] = cost.collective(comm->kind, ranks, moved(*comm, static_cast<std::int64_t>(ranks.size())));
  }
  return {};
}

}  // namespace

Result<SimProgram> scale_program(const Subject& subject, const CostModel& cost, const ScaleOptions& options) {
  HOCKET_TRY(const SimProgram captured, sim_program(subject, cost));
  if (options.ranks < 1) return fail(ErrorKind::usage, "{} ranks; at least one is needed", options.ranks);
  std::vector<std::vector<Rank>> groups;
  const auto form_groups = std::visit([](const auto& form) { return form.groups(); }, subject);
  for (const Group& group : form_groups) {
    HOCKET_TRY(const EvenGroup even, scaled(group, captured.world, options.ranks));
    groups.push_back(even.ranks());
  }
  std::vector<SimLane> lanes = captured.lanes;
  for (SimLane& lane : lanes) {
    for (std::size_t g = 0; g < form_groups.size(); ++g) {
      if (form_groups[g].name == lane.name) lane.ranks = groups[g];
    }
  }
  std::vector<Nanoseconds> times = captured.times;
  if (const auto* graph = std::get_if<Graph>(&subject)) {
    HOCKET_CHECK(time_collectives(GraphCalls(*graph), cost, groups, times));
  } else {
    HOCKET_CHECK(time_collectives(ProgramCalls(std::get<Program>(subject)), cost, groups, times));
  }
  return sim_program(subject, std::move(times), std::move(lanes), options.ranks);
}

}  // namespace hocket
