#include "hocket/fuse/gather_again.h"

#include <algorithm>
#include <map>
#include <set>

#include "fuse/bucket_candidates.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

constexpr std::string_view gather_op = "_c10d_functional.all_gather_into_tensor.default";

// One that is done twice: from `first_late` on, in program order, all take the second.
struct Twice {
  NodeId gather, first_late;
  std::vector<NodeId> again;  // it, its wait, and the views of its result that are used from there on, in program order
};

std::vector<bool> dependents(const Graph& graph, NodeId of) {
  std::vector<bool> depends(graph.size(), false);
  depends[of.index()] = true;
  for (std::size_t i = of.index() + 1; i < graph.size(); ++i) {
    const auto inputs = graph.inputs(NodeId(i));
    depends[i] = std::any_of(inputs.begin(), inputs.end(), [&](NodeId input) { return depends[input.index()]; });
  }
  return depends;
}

class Finder {
 public:
  Finder(const Graph& graph, NodeId peak)
      : graph_(graph), users_(graph), last_write_(last_writes(graph)), late_(dependents(graph, peak)) {}

  std::optional<Twice> find(const fuse::Candidate& candidate) const {
    const NodeId gather = candidate.block.collective;
    const NodeId input = candidate.block.input();
    if (candidate.bytes_out <= candidate.bytes_in || late_[gather.index()] || !stays(input, gather))
      return std::nullopt;
    std::vector<NodeId> chain = {gather, candidate.block.wait()};
    std::vector<NodeId> uses;
    for (std::size_t c = 1; c < chain.size(); ++c) {
      for (const NodeId user : users_.of(chain[c])) (is_plain_view(user, chain[c]) ? chain : uses).push_back(user);
    }
    Twice twice{gather, first_late(uses), {}};
    // Somebody early has to be left for the first one.
    if (!twice.first_late.valid() || graph_.node(twice.first_late).kind == NodeKind::output ||
        std::none_of(uses.begin(), uses.end(), [&](NodeId use) { return use < twice.first_late; }))
      return std::nullopt;
    if (std::any_of(uses.begin(), uses.end(), [&](NodeId use) { return graph_.node(use).kind == NodeKind::output; }))
      return std::nullopt;
    twice.again = used_from(twice.first_late, std::move(chain));
    return twice;
  }

 private:
  // Nobody writes it once it is gathered: the second one takes the same.
  bool stays(NodeId value, NodeId gathered) const {
    return std::all_of(graph_.outputs(value).begin(), graph_.outputs(value).end(), [&](const Output& output) {
      const NodeId write = last_write_[output.storage.index()];
      return !write.valid() || write < gathered;
    });
  }

  bool is_plain_view(NodeId id, NodeId of) const {
    return graph_.node(id).kind == NodeKind::op && graph_.node(id).view_of == of && !graph_.node(id).multi &&
           graph_.inputs(id).size() == 1 && graph_.mutates(id).empty() && !users_.of(id).empty();
  }

  // Of a collective, its wait and views: what is made before `here` and used from there on, by itself or by a view of it.
  std::vector<NodeId> used_from(NodeId here, std::vector<NodeId> chain) const {
    std::sort(chain.begin(), chain.end());
    std::set<NodeId> used;
    for (std::size_t c = chain.size(); c-- > 0;) {
      const auto users = users_.of(chain[c]);
      if (std::any_of(users.begin(), users.end(), [&](NodeId user) { return user >= here || used.contains(user); }))
        used.insert(chain[c]);
    }
    std::erase_if(chain, [&](NodeId node) { return node >= here || !used.contains(node); });
    return chain;
  }

  NodeId first_late(const std::vector<NodeId>& uses) const {
    NodeId first;
    for (const NodeId use : uses) {
      if (late_[use.index()] && (!first.valid() || use < first)) first = use;
    }
    return first;
  }

  const Graph& graph_;
  const Users users_;
  const std::vector<NodeId> last_write_;  // by storage
  const std::vector<bool> late_;          // by node: depends on the peak
};

// Fills in the graph and its second gathers.
Status rewrite(const Graph& graph, const std::vector<Twice>& list, const CostModel* cost, GatherAgainResult& result) {
  std::map<NodeId, std::vector<const Twice*>> before;
  for (const Twice& twice : list) before[twice.first_late].push_back(&twice);
  GraphRewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (const auto here = before.find(NodeId(i)); here != before.end()) {
      for (const Twice* twice : here->second) {
        for (const NodeId old : twice->again) {
          const NodeId node = rewriter.copy_again(old, fmt::format("{}_again", graph.name(old)));
          if (old != twice->gather || !node.valid()) continue;
          result.second.push_back(node);
          if (cost == nullptr) continue;
          const Collective& collective = *graph.collective(old);
          rewriter.set_time(node, cost->written_collective(collective.kind, graph.group(collective.group).ranks,
                                                           collective.bytes_in + collective.bytes_out));
        }
      }
    }
    rewriter.copy(NodeId(i));
  }
  HOCKET_TRY(result.rewrite.graph, rewriter.finish());
  return {};
}

}  // namespace

Result<GatherAgainResult> gather_again(const Graph& graph, const GatherAgainOptions& options) {
  const Finder finder(graph, options.peak);
  const std::set<NodeId> among(options.among.begin(), options.among.end());
  std::vector<Twice> list;
  Bytes saved;
  for (const fuse::Candidate& candidate : fuse::find_candidates(graph, gather_op).list) {
    if (!among.empty() && !among.contains(candidate.block.collective)) continue;
    if (auto twice = finder.find(candidate)) {
      list.push_back(std::move(*twice));
      saved += candidate.bytes_out - candidate.bytes_in;
    }
  }
  GatherAgainResult result;
  result.rewrite.report =
      fmt::format("{} all_gathers are done twice, {} need not be held between", list.size(), to_string(saved));
  if (!list.empty()) HOCKET_CHECK(rewrite(graph, list, options.cost, result));
  return result;
}

}  // namespace hocket
