// Filling buckets.
//
// A fused collective stands behind its last input, and what depends on an early member moves behind it. That is possible as long as no
// member depends on another. Averages are numbered in program order, and each is told the highest number of an average that it
// depends on in any way; an open bucket that begins at or before that number closes first.
#include "fuse/ddp_buckets.h"

#include <algorithm>
#include <map>

#include "ir/node_facts.h"

namespace hocket::fuse {

namespace {

constexpr double bytes_in_a_mib = 1024.0 * 1024.0;
constexpr std::int64_t nothing = -1;

bool reduces_one_tensor(const Graph& graph, NodeId id) {
  return graph.collective(id) != nullptr && (graph.op_name(id) == "_c10d_functional.all_reduce.default" ||
                                             graph.op_name(id) == "_c10d_functional.all_reduce_.default");
}

void find_averages(const Graph& graph, GradientPlan& plan) {
  const Users users(graph);
  const std::vector<NodeId> last_write = last_writes(graph);
  const auto average_at = [&](NodeId id) -> Result<GradientAverage> {
    HOCKET_TRY(GradientAverage average, gradient_average(graph, users, id));
    HOCKET_CHECK(check_only_read(graph, last_write, average.block));
    return average;
  };
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    if (!reduces_one_tensor(graph, id)) continue;
    Result<GradientAverage> average = average_at(id);
    if (average) plan.averages.push_back(std::move(*average));
    else plan.notes.push_back(fmt::format("{}: {}", graph.name(id), average.error().message));
  }
}

// For each average: the highest number of an average that it depends on through nodes of others; its own number where something
// stands between its parts that must stay there.
std::vector<std::int64_t> find_dependencies(const Graph& graph, const OrderConstraints& constraints,
                                            const std::vector<GradientAverage>& averages) {
  std::vector<std::int64_t> owner(graph.size(), nothing);
  for (std::size_t i = 0; i < averages.size(); ++i) {
    const CommBlock& block = averages[i].block;
    for (const NodeId id : {averages[i].anchor(), block.collective, block.wait()})
      owner[id.index()] = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> reached(graph.size(), nothing);  // by node that is no average's own
  std::vector<std::int64_t> depends_on(averages.size(), nothing);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    std::int64_t highest = nothing;
    for (const NodeId earlier : constraints.before(NodeId(i))) {
      const std::int64_t of = owner[earlier.index()];
      if (of == nothing) highest = std::max(highest, reached[earlier.index()]);
      else if (of != owner[i]) highest = std::max(highest, of);
    }
    if (owner[i] == nothing) {
      reached[i] = highest;
    } else {
      std::int64_t& all = depends_on[static_cast<std::size_t>(owner[i])];
      all = std::max(all, highest);
    }
  }
  return depends_on;
}

class BucketFiller {
 public:
  BucketFiller(const Graph& graph, const FuseDdpOptions& options, GradientPlan& plan)
      : graph_(graph), options_(options), plan_(plan) {}

  void run(const std::vector<std::int64_t>& depends_on) {
    for (std::size_t i = 0; i < plan_.averages.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      const GradientAverage& average = plan_.averages[i];
      if (depends_on[i] != nothing) close_up_to(depends_on[i]);
      if (depends_on[i] >= number || (depends_on[i] != nothing && average.anchor() < last_closed_)) {
        plan_.notes.push_back(
            fmt::format("{}: it depends on another gradient's average, or something that must keep its "
                        "place stands between it and its input",
                        graph_.name(average.block.collective)));
      } else {
        add(i);
      }
    }
  }

 private:
  void add(std::size_t number) {
    const GradientAverage& average = plan_.averages[number];
    const auto [entry, is_new] = open_.try_emplace(average.kind, plan_.buckets.size());
    if (is_new) plan_.buckets.emplace_back();
    GradientBucket& bucket = plan_.buckets[entry->second];
    if (bucket.members.empty() || bucket.last_input < average.anchor()) bucket.last_input = average.anchor();
    bucket.members.push_back(number);
    bucket.bytes += average.bytes;
    const double limit = (entry->second == 0 ? options_.first_bucket_mb : options_.bucket_size_mb) * bytes_in_a_mib;
    if (static_cast<double>(bucket.bytes.count) >= limit) {
      note_closed(bucket);
      open_.erase(entry);
    }
  }

  // Closes the open buckets that begin at or before this average.
  void close_up_to(std::int64_t number) {
    for (auto entry = open_.begin(); entry != open_.end();) {
      const GradientBucket& bucket = plan_.buckets[entry->second];
      const bool closes = static_cast<std::int64_t>(bucket.members.front()) <= number;
      if (closes) note_closed(bucket);
      entry = closes ? open_.erase(entry) : std::next(entry);
    }
  }

  void note_closed(const GradientBucket& bucket) {
    if (!last_closed_.valid() || last_closed_ < bucket.last_input) last_closed_ = bucket.last_input;
  }

  const Graph& graph_;
  const FuseDdpOptions& options_;
  GradientPlan& plan_;
  std::map<GradientKind, std::size_t> open_;  // numbers of buckets
  NodeId last_closed_{0};                     // where the last fused collective of a closed bucket stands
};

}  // namespace

GradientPlan plan_gradients(const Graph& graph, const OrderConstraints& constraints, const FuseDdpOptions& options) {
  GradientPlan plan;
  find_averages(graph, plan);
  BucketFiller(graph, options, plan).run(find_dependencies(graph, constraints, plan.averages));
  return plan;
}

}  // namespace hocket::fuse
