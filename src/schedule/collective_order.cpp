#include "hocket/schedule/collective_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hocket {

namespace {

template <class Form, class IdOf>
RankOrder gather(const Form& form, Rank rank, IdOf id_of) {
  RankOrder order;
  order.rank = rank;
  std::map<std::string, std::size_t> issued;
  std::map<std::size_t, CommunicationEvent> event_of;
  std::vector<bool> named(form.groups().size(), false);
  for (std::size_t i = 0; i < form.size(); ++i) {
    const auto [collective, awaited] = id_of(i);
    using Id = std::decay_t<decltype(awaited)>;
    if (collective != nullptr) {
      if (collective->kind == CollectiveKind::p2p) continue;
      const Group& group = form.group(collective->group);
      if (!named[collective->group.index()]) order.groups.push_back(group);
      named[collective->group.index()] = true;
      CommunicationEvent event;
      event.group = group.name;
      event.sequence = issued[group.name]++;
      event.name = std::string(form.name(Id(i)));
      event.kind = collective->kind;
      event.bytes_in = collective->bytes_in;
      order.events.push_back(event);
      if (is_blocking(form.op_spec(Id(i)))) {
        event.waits = true;
        order.events.push_back(std::move(event));
      } else {
        event_of[i] = std::move(event);
      }
      continue;
    }
    if (!awaited.valid()) continue;
    const auto found = event_of.find(awaited.index());
    if (found == event_of.end()) continue;
    CommunicationEvent event = found->second;
    event.waits = true;
    order.events.push_back(std::move(event));
  }
  return order;
}

class Run {
 public:
  explicit Run(std::span<const RankOrder> ranks) : ranks_(ranks), at_(ranks.size(), 0) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      index_of_[ranks[i].rank] = i;
      for (const Group& group : ranks[i].groups) members_.try_emplace(group.name, group.ranks);
    }
  }

  // Every rank goes on until it must wait; a round in which nobody moves is the end.
  std::optional<CyclicWait> go() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < ranks_.size(); ++i) moved = advance(i) || moved;
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (at_[i] < ranks_[i].events.size()) return cycle_from(i);
    }
    return std::nullopt;
  }

 private:
  bool advance(std::size_t i) {
    const auto& events = ranks_[i].events;
    const std::size_t before = at_[i];
    while (at_[i] < events.size() && (!events[at_[i]].waits || !missing(events[at_[i]]))) {
      if (!events[at_[i]].waits) ++issued_[{events[at_[i]].group, ranks_[i].rank}];
      ++at_[i];
    }
    return at_[i] != before;
  }

  // A rank that has not issued the collective yet. Those before it on the group were issued before it.
  std::optional<Rank> missing(const CommunicationEvent& event) const {
    for (const Rank member : members_.at(event.group)) {
      if (!index_of_.contains(member)) continue;  // not under this roof: taken to keep up
      const auto count = issued_.find({event.group, member});
      if (count == issued_.end() || count->second <= event.sequence) return member;
    }
    return std::nullopt;
  }

  CyclicWait cycle_from(std::size_t start) const {
    CyclicWait result;
    std::vector<std::size_t> seen;
    std::size_t i = start;
    while (std::find(seen.begin(), seen.end(), i) == seen.end()) {
      seen.push_back(i);
      if (at_[i] >= ranks_[i].events.size()) break;
      const CommunicationEvent& event = ranks_[i].events[at_[i]];
      const Rank next = *missing(event);
      result.cycle.push_back({ranks_[i].rank, event.name, event.group, next});
      i = index_of_.at(next);
    }
    const auto first = std::find(seen.begin(), seen.end(), i) - seen.begin();
    if (at_[i] < ranks_[i].events.size()) result.cycle.erase(result.cycle.begin(), result.cycle.begin() + first);
    return result;
  }

  std::span<const RankOrder> ranks_;
  std::vector<std::size_t> at_;  // by entry of ranks_: the next event
  std::map<Rank, std::size_t> index_of_;
  std::map<std::string, std::vector<Rank>> members_;
  std::map<std::pair<std::string, Rank>, std::size_t> issued_;
};

}  // namespace

RankOrder communication_of(const Graph& graph, Rank rank) {
  return gather(graph, rank,
                [&](std::size_t i) { return std::pair(graph.collective(NodeId(i)), graph.node(NodeId(i)).wait_of); });
}

RankOrder communication_of(const Program& program, Rank rank) {
  return gather(program, rank, [&](std::size_t i) {
    return std::pair(program.collective(StepId(i)), program.step(StepId(i)).waits_for);
  });
}

std::string CyclicWait::to_string() const {
  std::string text;
  for (const StuckRank& stuck : cycle) {
    text += fmt::format("{}rank {} waits for {} on @{}, which rank {} has not started", text.empty() ? "" : "; ",
                        stuck.rank.value, stuck.waits_for, stuck.group, stuck.missing.value);
  }
  return text;
}

std::optional<CyclicWait> find_cyclic_wait(std::span<const RankOrder> ranks) { return Run(ranks).go(); }

Status check_collective_order(std::span<const RankOrder> ranks) {
  std::map<std::string, std::pair<Rank, std::vector<const CommunicationEvent*>>> first_of;
  for (const RankOrder& order : ranks) {
    std::map<std::string, std::vector<const CommunicationEvent*>> mine;
    for (const Group& group : order.groups) mine[group.name];
    for (const CommunicationEvent& event : order.events) {
      if (!event.waits) mine[event.group].push_back(&event);
    }
    for (auto& [group, events] : mine) {
      const auto [entry, is_new] = first_of.try_emplace(group, order.rank, events);
      if (is_new) continue;
      const auto& [other_rank, others] = entry->second;
      for (std::size_t k = 0; k < std::max(events.size(), others.size()); ++k) {
        const auto words = [&](const auto& list) {
          return k < list.size()
                     ? fmt::format("{} ({}, {})", list[k]->name, name_of(list[k]->kind), to_string(list[k]->bytes_in))
                     : std::string("nothing");
        };
        const bool same = k < events.size() && k < others.size() && events[k]->kind == others[k]->kind &&
                          (events[k]->kind == CollectiveKind::all_to_all || events[k]->bytes_in == others[k]->bytes_in);
        if (same) continue;
        return fail(ErrorKind::input, "collective {} of group @{} differs: rank {} starts {}, rank {} starts {}", k,
                    group, other_rank.value, words(others), order.rank.value, words(events));
      }
    }
  }
  return {};
}

}  // namespace hocket
