#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "hocket/fsdp/enforce_fsdp_order.h"
#include "hocket/fsdp/reinplace_all_gather.h"
#include "hocket/fsdp/remove_dead_getitems.h"
#include "hocket/fsdp/remove_unsharded_param_inputs.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/soundness.h"

namespace hocket {
namespace {

// Bytes taken, by kind and group, and bytes given: no pass here changes them.
std::map<std::tuple<CollectiveKind, std::string>, std::pair<std::int64_t, std::int64_t>> payload(const Graph& graph) {
  std::map<std::tuple<CollectiveKind, std::string>, std::pair<std::int64_t, std::int64_t>> bytes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Collective* collective = graph.collective(NodeId(i));
    if (collective == nullptr) continue;
    auto& entry = bytes[{collective->kind, graph.group(collective->group).name}];
    entry.first += collective->bytes_in.count;
    entry.second += collective->bytes_out.count;
  }
  return bytes;
}

void check(const Graph& graph, const Result<RewriteResult>& result, const std::string& what, std::size_t& changed) {
  ASSERT_TRUE(result) << what << ": " << result.error().to_string();
  if (!result->graph) return;
  ++changed;
  EXPECT_EQ(problems_of(*result->graph), "") << what << "\n" << print(*result->graph);
  EXPECT_EQ(payload(*result->graph), payload(graph)) << what;
}

TEST(FsdpPasses, random_programs_keep_their_payload_and_stay_sound) {
  std::size_t ordered = 0;
  std::size_t cleaned = 0;
  std::size_t others = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraphOptions made = random_graph_options(seed);
    if (seed % 2 == 0)
      made = {.shape = GraphShape::fsdp, .layers = 4, .coalesced = seed % 4 == 0, .in_place = seed % 3 != 0};
    const Graph graph = random_graph(seed, made);
    const std::string what = fmt::format("seed {}", seed);
    const auto order = enforce_fsdp_order(graph);
    check(graph, order, what, ordered);
    if (order->graph) {
      const auto problems = verify_order(graph, order_in(graph, *order->graph), {.keep_collective_order = false});
      EXPECT_TRUE(problems.empty()) << what << ": " << problems.front().to_string();
    }
    check(graph, remove_dead_getitems(graph), what, cleaned);
    check(graph, reinplace_all_gather(graph), what, others);
    check(graph, remove_unsharded_param_inputs(graph), what, others);
  }
  EXPECT_GT(ordered, 20U);
}

TEST(FsdpPasses, captures_stay_sound) {
  for (const std::string& path : shipped_captures()) {
    const Graph graph = read_graph(path).value();
    std::size_t changed = 0;
    check(graph, enforce_fsdp_order(graph), path, changed);
    check(graph, remove_dead_getitems(graph), path, changed);
    check(graph, reinplace_all_gather(graph), path, changed);
    check(graph, remove_unsharded_param_inputs(graph), path, changed);
  }
}

}  // namespace
}  // namespace hocket
