#include "hocket/fuse/ddp.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "fuse/reference.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/soundness.h"

namespace hocket {
namespace {

using Pass = Result<RewriteResult> (*)(const Graph&, const FuseDdpOptions&);
constexpr std::array<Pass, 2> passes = {fuse_ddp_with_concat, fuse_ddp_with_coalesced};

std::vector<std::string> ddp_captures() {
  std::vector<std::string> paths = shared_captures().empty() ? shipped_captures() : shared_captures();
  std::erase_if(paths, [](const std::string& path) { return path.find("/ddp_") == std::string::npos; });
  return paths;
}

std::vector<std::vector<std::string>> names(const Graph& graph, const DdpBuckets& buckets) {
  std::vector<std::vector<std::string>> all;
  for (const auto& bucket : buckets.collectives) {
    all.emplace_back();
    for (const NodeId id : bucket) all.back().emplace_back(graph.name(id));
  }
  return all;
}

// tests/data/ddp_buckets.py asked PyTorch.
TEST(FuseDdp, forms_the_buckets_that_pytorch_forms) {
  const auto recorded = nlohmann::json::parse(std::ifstream(HOCKET_TEST_DATA "/ddp_buckets.json"));
  ASSERT_FALSE(ddp_captures().empty());
  for (const std::string& path : ddp_captures()) {
    const Result<Graph> graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    std::string name = path.substr(path.rfind('/') + 1);
    name.resize(name.find('.'));
    ASSERT_TRUE(recorded["captures"].contains(name)) << name;
    for (const auto& [size, expected] : recorded["captures"][name].items()) {
      const auto buckets = ddp_buckets(*graph, {.bucket_size_mb = std::stod(size)});
      ASSERT_TRUE(buckets) << buckets.error().to_string();
      EXPECT_EQ(nlohmann::json(names(*graph, *buckets)), expected) << name << " with buckets of " << size << " MiB";
      EXPECT_TRUE(buckets->notes.empty());
    }
  }
}

TEST(FuseDdp, a_capture_keeps_its_payload_and_stays_sound) {
  for (const std::string& path : ddp_captures()) {
    const Result<Graph> graph = read_graph(path);
    for (const Pass pass : passes) {
      const auto fused = pass(*graph, {});
      ASSERT_TRUE(fused) << fused.error().to_string();
      ASSERT_TRUE(fused->graph);
      EXPECT_EQ(problems_of(*fused->graph), "") << path;
      EXPECT_EQ(fuse::payload(*fused->graph), fuse::payload(*graph)) << path;
      EXPECT_LT(fuse::collectives_in(*fused->graph), 10U);
      EXPECT_EQ(pass(*graph, {})->graph->digest(), fused->graph->digest());
    }
  }
}

TEST(FuseDdp, random_programs_keep_their_payload_and_stay_sound) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraphOptions made = random_graph_options(seed);
    if (seed % 3 != 0)
      made = {.shape = GraphShape::ddp, .layers = 6, .in_place = seed % 2 == 0, .copy_back = seed % 5 < 2};
    if (seed % 6 == 1) made = {.shape = GraphShape::ddp, .layers = 6, .averages = true};
    const Graph graph = random_graph(seed, made);
    const double size_mb = static_cast<double>(seed % 4) * 256 / (1024.0 * 1024.0);
    for (const Pass pass : passes) {
      const auto fused = pass(graph, {.bucket_size_mb = size_mb * 2, .first_bucket_mb = size_mb});
      ASSERT_TRUE(fused) << "seed " << seed << ": " << fused.error().to_string();
      if (!fused->graph) continue;
      ++changed;
      EXPECT_EQ(problems_of(*fused->graph), "") << "seed " << seed << "\n" << print(*fused->graph);
      EXPECT_EQ(fuse::payload(*fused->graph), fuse::payload(graph)) << "seed " << seed;
    }
  }
  EXPECT_GT(changed, 100U);
}

TEST(FuseDdp, refuses_a_negative_size) {
  const Graph graph = random_graph(1, {.shape = GraphShape::ddp});
  const auto fused = fuse_ddp_with_concat(graph, {.bucket_size_mb = -1});
  ASSERT_FALSE(fused);
  EXPECT_EQ(fused.error().kind, ErrorKind::usage);
  EXPECT_EQ(fused.error().message, "a bucket of -1 MiB; expected 0 or more");
}

}  // namespace
}  // namespace hocket
