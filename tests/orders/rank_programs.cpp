#include "rank_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>

#include "hocket/ir/builder.h"

namespace hocket {

namespace {

// Divides by the size of every group.
constexpr std::int64_t unit = 60;

bool has(const std::vector<Rank>& group, std::size_t rank) {
  return std::find(group.begin(), group.end(), Rank{static_cast<std::int32_t>(rank)}) != group.end();
}

std::vector<std::vector<Rank>> random_groups(Random& random, int world) {
  std::set<std::vector<Rank>> groups;
  const auto wanted = static_cast<std::size_t>(random.between(1, world == 2 ? 1 : 5));
  for (int attempt = 0; attempt < 100 && groups.size() < wanted; ++attempt) {
    std::vector<Rank> members;
    for (int rank = 0; rank < world; ++rank) {
      if (random.chance(55)) members.push_back(Rank{rank});
    }
    if (members.size() >= 2) groups.insert(members);
  }
  return {groups.begin(), groups.end()};
}

// Starts in the order of the world, each wait somewhere behind its start: wherever it is, the earliest collective that has not taken
// place has no rank before it that waits for another one.
std::vector<RankEvent> events_of(const RankPrograms& all, std::size_t rank, Random& random) {
  std::vector<RankEvent> events;
  std::vector<std::size_t> open;
  const auto settle = [&](int percent) {
    for (std::size_t i = 0; i < open.size();) {
      if (!random.chance(percent)) {
        ++i;
        continue;
      }
      events.push_back({true, open[i]});
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  };
  for (std::size_t i = 0; i < all.collectives.size(); ++i) {
    if (!has(all.groups[all.collectives[i].group], rank)) continue;
    events.push_back({false, i});
    open.push_back(i);
    settle(60);
  }
  settle(100);
  return events;
}

// One rank as it runs: what it starts and waits for, by what all ranks can tell apart.
struct Action {
  enum class Kind { start, wait, start_and_wait };
  Kind kind = Kind::start;
  std::vector<Rank> group;
  std::string call;       // kind and size
  std::size_t start = 0;  // of a wait: the how-manieth start of this rank
};

// Inputs and the list of results have none.
std::string_view op_of(const Graph& graph, NodeId id) {
  return graph.node(id).kind == NodeKind::op ? graph.op_name(id) : std::string_view();
}
std::string_view op_of(const Program& program, StepId id) { return program.op_name(id); }

template <class Form, class Id, class AwaitedBy>
std::vector<Action> actions_of(const Form& form, AwaitedBy awaited_by) {
  std::vector<Action> actions;
  std::map<std::size_t, std::size_t> start_of;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const std::string_view op = op_of(form, Id(i));
    const Collective* const collective = form.collective(Id(i));
    if (collective != nullptr) {
      Action action;
      action.kind = op.starts_with("symm_mem.") ? Action::Kind::start_and_wait : Action::Kind::start;
      action.group = form.group(collective->group).ranks;
      action.call = fmt::format("{} of {}", name_of(collective->kind), collective->bytes_in.count);
      action.start = start_of.size();
      start_of.emplace(i, action.start);
      actions.push_back(std::move(action));
    } else if (op == "_c10d_functional.wait_tensor.default") {
      actions.push_back({Action::Kind::wait, {}, "", start_of.at(awaited_by(i))});
    }
  }
  return actions;
}

class Ranks {
 public:
  explicit Ranks(std::vector<std::vector<Action>> actions)
      : actions_(std::move(actions)), at_(actions_.size(), 0), has_started_(actions_.size(), false) {
    for (const auto& of_rank : actions_) finished_.emplace_back(of_rank.size(), false);
  }

  Outcome run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < actions_.size(); ++rank) {
        while (step(rank)) moved = true;
      }
      for (auto& [group, queues] : queues_) {
        while (meet(group, queues)) moved = true;
      }
      if (confused_) return Outcome::confused;
    }
    for (std::size_t rank = 0; rank < actions_.size(); ++rank) {
      if (at_[rank] < actions_[rank].size()) return Outcome::stuck;
    }
    // What nobody waited for must have taken place all the same: a program ends when its communication has.
    for (const auto& [group, queues] : queues_) {
      for (const auto& [rank, queue] : queues) {
        if (!queue.empty()) return Outcome::stuck;
      }
    }
    return Outcome::all_end;
  }

 private:
  struct Call {
    std::string what;
    std::size_t start;
  };
  using Queues = std::map<std::size_t, std::deque<Call>>;  // by rank

  bool step(std::size_t rank) {
    if (at_[rank] == actions_[rank].size()) return false;
    const Action& action = actions_[rank][at_[rank]];
    if (action.kind != Action::Kind::wait && !has_started_[rank]) {
      queues_[action.group][rank].push_back({action.call, action.start});
      has_started_[rank] = true;
    }
    if (action.kind != Action::Kind::start && !finished_[rank][action.start]) return false;
    has_started_[rank] = false;
    ++at_[rank];
    return true;
  }

  bool meet(const std::vector<Rank>& group, Queues& queues) {
    for (const Rank member : group) {
      if (queues[static_cast<std::size_t>(member.value)].empty()) return false;
    }
    const std::string what = queues[static_cast<std::size_t>(group[0].value)].front().what;
    for (const Rank member : group) {
      const auto rank = static_cast<std::size_t>(member.value);
      const Call call = queues[rank].front();
      queues[rank].pop_front();
      confused_ = confused_ || call.what != what;
      finished_[rank][call.start] = true;
    }
    return true;
  }

  std::vector<std::vector<Action>> actions_;
  std::vector<std::size_t> at_;
  std::vector<bool> has_started_;            // by rank: the action it stands at
  std::vector<std::vector<bool>> finished_;  // by rank and start
  std::map<std::vector<Rank>, Queues> queues_;
  bool confused_ = false;
};

}  // namespace

RankPrograms random_rank_programs(std::uint64_t seed) {
  Random random(seed);
  RankPrograms all;
  const auto world = static_cast<int>(random.between(2, 6));
  while (all.groups.empty()) all.groups = random_groups(random, world);
  const std::int64_t count = random.between(3, 14);
  for (std::int64_t i = 0; i < count; ++i) {
    WorldCollective collective;
    collective.kind = random.pick({CollectiveKind::all_reduce, CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                   CollectiveKind::reduce_scatter, CollectiveKind::broadcast});
    collective.group = random.index(all.groups.size());
    collective.elements = unit * (i + 1);
    all.collectives.push_back(collective);
  }
  for (int rank = 0; rank < world; ++rank) all.ranks.push_back(events_of(all, static_cast<std::size_t>(rank), random));
  return all;
}

bool invert(RankPrograms& programs, Random& random) {
  std::vector<std::size_t> fitting;
  for (std::size_t rank = 0; rank < programs.ranks.size(); ++rank) {
    if (programs.ranks[rank].size() >= 4) fitting.push_back(rank);
  }
  if (fitting.empty()) return false;
  std::vector<RankEvent>& events = programs.ranks[random.pick(fitting)];
  std::vector<std::size_t> started;
  for (const RankEvent& event : events) {
    if (!event.waits) started.push_back(event.collective);
  }
  // Mostly of two groups: on one group it is always noticed by what the calls are.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i + 1 < started.size(); ++i) {
    const bool same = programs.collectives[started[i]].group == programs.collectives[started[i + 1]].group;
    if (!same || random.chance(20)) places.push_back(i);
  }
  const std::size_t first = places.empty() ? random.index(started.size() - 1) : random.pick(places);
  const std::size_t a = started[first];
  const std::size_t b = started[first + 1];
  for (RankEvent& event : events) {
    if (event.collective == a) event.collective = b;
    else if (event.collective == b) event.collective = a;
  }
  return true;
}

std::vector<Graph> graphs_of(const RankPrograms& programs) {
  std::vector<Graph> graphs;
  for (std::size_t rank = 0; rank < programs.ranks.size(); ++rank) {
    GraphBuilder builder(fmt::format("rank{}", rank));
    std::vector<GroupId> groups;
    for (std::size_t i = 0; i < programs.groups.size(); ++i)
      groups.push_back(builder.group(fmt::format("g{}", i), programs.groups[i]));
    std::vector<NodeId> inputs;
    for (std::size_t i = 0; i < programs.collectives.size(); ++i)
      inputs.push_back(builder.input(fmt::format("x{}", i), Dtype::f32, {programs.collectives[i].elements}));
    std::map<std::size_t, NodeId> started;
    std::vector<NodeId> results;
    for (const RankEvent& event : programs.ranks[rank]) {
      const WorldCollective& what = programs.collectives[event.collective];
      const GroupId group = groups[what.group];
      const auto size = static_cast<std::int64_t>(programs.groups[what.group].size());
      const NodeId x = inputs[event.collective];
      if (event.waits) {
        results.push_back(builder.op("_c10d_functional.wait_tensor", {started.at(event.collective)}));
      } else if (what.kind == CollectiveKind::all_reduce) {
        started[event.collective] = builder.op("_c10d_functional.all_reduce", {x, "sum", group});
      } else if (what.kind == CollectiveKind::all_gather) {
        started[event.collective] = builder.op("_c10d_functional.all_gather_into_tensor", {x, size, group});
      } else if (what.kind == CollectiveKind::reduce_scatter) {
        started[event.collective] = builder.op("_c10d_functional.reduce_scatter_tensor", {x, "sum", size, group});
      } else {
        started[event.collective] = builder.op("_c10d_functional.broadcast", {x, 0, group});
      }
    }
    builder.output(results);
    Result<Graph> graph = builder.finish();
    if (!graph) throw std::logic_error(graph.error().to_string());
    graphs.push_back(std::move(*graph));
  }
  return graphs;
}

Outcome outcome_of(const std::vector<Graph>& graphs) {
  std::vector<std::vector<Action>> actions;
  for (const Graph& graph : graphs) {
    actions.push_back(
        actions_of<Graph, NodeId>(graph, [&](std::size_t i) { return graph.node(NodeId(i)).wait_of.index(); }));
  }
  return Ranks(std::move(actions)).run();
}

Outcome outcome_of(const std::vector<Program>& programs) {
  std::vector<std::vector<Action>> actions;
  for (const Program& program : programs) {
    actions.push_back(
        actions_of<Program, StepId>(program, [&](std::size_t i) { return program.step(StepId(i)).waits_for.index(); }));
  }
  return Ranks(std::move(actions)).run();
}

}  // namespace hocket
