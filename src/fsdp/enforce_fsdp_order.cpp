#include "hocket/fsdp/enforce_fsdp_order.h"

#include <algorithm>
#include <map>
#include <queue>

#include "fsdp/comm_groups.h"

namespace hocket {

namespace {

using fsdp::CommGroups;

// Nodes in units that move as one, and what has to come before what. Units are numbered by their place in the program: that of
// their collective or wait.
class UnitOrder {
 public:
  UnitOrder(const Graph& graph, const OrderConstraints& constraints)
      : constraints_(constraints), unit_of_(graph.size()), members_(graph.size()) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      unit_of_[i] = static_cast<std::uint32_t>(i);
      members_[i] = {NodeId(i)};
    }
  }

  void make_unit(const std::vector<NodeId>& nodes, NodeId place) {
    for (const NodeId id : nodes) {
      members_[id.index()].clear();
      unit_of_[id.index()] = place.value;
    }
    members_[place.index()] = nodes;
  }
  void put_before(NodeId earlier, NodeId later) {
    extra_.emplace_back(unit_of_[earlier.index()], unit_of_[later.index()]);
  }

  // The units in an order that keeps all constraints, the first in the program first; nothing where there is no such order.
  std::optional<std::vector<NodeId>> order() const {
    std::vector<std::vector<std::uint32_t>> after(members_.size());
    std::vector<std::uint32_t> missing(members_.size(), 0);
    const auto add = [&](std::uint32_t earlier, std::uint32_t later) {
      if (earlier == later) return;
      after[earlier].push_back(later);
      ++missing[later];
    };
    for (std::size_t i = 0; i < unit_of_.size(); ++i) {
      for (const NodeId earlier : constraints_.before(NodeId(i))) add(unit_of_[earlier.index()], unit_of_[i]);
    }
    for (const auto& [earlier, later] : extra_) add(earlier, later);
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    const auto output = static_cast<std::uint32_t>(members_.size() - 1);  // the last one stays the last
    for (std::uint32_t i = 0; i < output; ++i) {
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<NodeId> order;
    while (!ready.empty()) {
      const std::uint32_t unit = ready.top();
      ready.pop();
      order.insert(order.end(), members_[unit].begin(), members_[unit].end());
      for (const std::uint32_t later : after[unit]) {
        if (--missing[later] == 0 && later != output) ready.push(later);
      }
    }
    order.insert(order.end(), members_[output].begin(), members_[output].end());
    return order.size() == unit_of_.size() ? std::optional(std::move(order)) : std::nullopt;
  }

 private:
  const OrderConstraints& constraints_;
  std::vector<std::uint32_t> unit_of_;        // by node
  std::vector<std::vector<NodeId>> members_;  // by unit; empty for nodes that are in the unit of another
  std::vector<std::pair<std::uint32_t, std::uint32_t>> extra_;
};

bool gathers_or_scatters(const Graph& graph, NodeId id) {
  const Collective* collective = graph.collective(id);
  return collective != nullptr &&
         (collective->kind == CollectiveKind::all_gather || collective->kind == CollectiveKind::reduce_scatter);
}

// A node in two groups stays with the first.
void take_out_taken(std::vector<NodeId>& nodes, std::vector<bool>& taken) {
  std::erase_if(nodes, [&](NodeId id) { return taken[id.index()]; });
  for (const NodeId id : nodes) taken[id.index()] = true;
}

std::vector<CommGroups> find_groups(const Graph& graph, const OrderConstraints& constraints,
                                    std::vector<std::string>& notes) {
  std::vector<CommGroups> all;
  std::vector<bool> taken(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (!gathers_or_scatters(graph, id)) continue;
    Result<CommGroups> groups = fsdp::comm_groups(graph, constraints, id);
    if (!groups) {
      notes.push_back(fmt::format("{}: {}", graph.name(id), groups.error().message));
      continue;
    }
    take_out_taken(groups->start, taken);
    take_out_taken(groups->finish, taken);
    all.push_back(std::move(*groups));
  }
  return all;
}

}  // namespace

Result<RewriteResult> enforce_fsdp_order(const Graph& graph, const EnforceFsdpOrderOptions&) {
  const OrderConstraints constraints(graph);
  RewriteResult result;
  const std::vector<CommGroups> all = find_groups(graph, constraints, result.notes);
  UnitOrder units(graph, constraints);
  std::map<std::pair<GroupId, CollectiveKind>, const CommGroups*> last;  // the layer before
  for (const CommGroups& groups : all) {
    units.make_unit(groups.start, groups.collective);
    units.make_unit(groups.finish, groups.finish.front());
    const Collective& collective = *graph.collective(groups.collective);
    const CommGroups*& before = last[{collective.group, collective.kind}];
    if (before != nullptr) units.put_before(before->finish.front(), groups.collective);
    before = &groups;
  }
  result.report = fmt::format("{} collectives in groups, each after the wait of the one before", all.size());
  if (all.empty()) return result;
  const auto order = units.order();
  if (!order) {
    result.report = "left as it is";
    result.notes.emplace_back(
        "a collective has to start before the wait of the one before it: no order keeps the groups");
    return result;
  }
  if (!std::is_sorted(order->begin(), order->end())) {
    HOCKET_TRY(result.graph, with_order(graph, *order));
  }
  return result;
}

}  // namespace hocket
