#include "measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "hocket/ir/builder.h"
#include "hocket/ir/file.h"

namespace hocket {

namespace {

constexpr std::int64_t ranks = 8;
constexpr std::int64_t width = 256;

// One layer: gather the sharded weight, use it, and reduce-scatter a gradient of it. 12 nodes.
NodeId add_layer(GraphBuilder& b, GroupId dp, NodeId x, NodeId shard, std::vector<NodeId>& results) {
  const NodeId cast = b.op("prims.convert_element_type", {shard, Dtype::bf16});
  const NodeId gathered = b.op("_c10d_functional.all_gather_into_tensor", {cast, ranks, dp});
  const NodeId weight = b.op("_c10d_functional.wait_tensor", {gathered});
  const NodeId transposed = b.op("aten.permute", {weight, {1, 0}});
  const NodeId product = b.op("aten.mm", {x, transposed});
  const NodeId activated = b.op("aten.sigmoid", {product});
  const NodeId next = b.op("aten.mul.Tensor", {product, activated});
  const NodeId x_transposed = b.op("aten.permute", {x, {1, 0}});
  const NodeId gradient = b.op("aten.mm", {x_transposed, next});
  const NodeId wide = b.op("prims.convert_element_type", {gradient, Dtype::f32});
  const NodeId scattered = b.op("_c10d_functional.reduce_scatter_tensor", {wide, "avg", ranks, dp});
  results.push_back(b.op("_c10d_functional.wait_tensor", {scattered}));
  return next;
}

}  // namespace

Result<Graph> make_graph(std::size_t nodes) {
  GraphBuilder b(fmt::format("made_{}", nodes));
  std::vector<Rank> members;
  for (std::int32_t rank = 0; rank < ranks; ++rank) members.push_back(Rank{rank});
  const GroupId dp = b.group("dp", members);
  b.world(ranks, 0);
  NodeId x = b.input("x", Dtype::bf16, {width, width});
  constexpr std::size_t nodes_per_layer = 13;  // with the weight itself
  const std::size_t layers = std::max<std::size_t>(1, nodes / nodes_per_layer);
  std::vector<NodeId> shards;
  for (std::size_t i = 0; i < layers; ++i)
    shards.push_back(b.input(fmt::format("weight_{}", i), Dtype::f32, {width / ranks, width}));
  std::vector<NodeId> results;
  for (const NodeId shard : shards) x = add_layer(b, dp, x, shard, results);
  results.push_back(x);
  b.output(results);
  return b.finish();
}

std::vector<std::string> captures_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

double elapsed_ms(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

double lowest(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

void BenchFlags::add_to(CLI::App& app) {
  captures = HOCKET_SOURCE_DIR "/../shared/graphs";
  app.add_flag("--quick", quick, "under a minute");
  app.add_flag("--check", check, "exit with 1 and the points that miss the figures asked for");
  app.add_option("--json", json, "write the figures to this file");
  app.add_option("--captures", captures, "a folder with captured graphs, measured too")->capture_default_str();
}

int complain(std::string_view bench, const Error& error) {
  fmt::print(stderr, "{}: {}\n", bench, error.to_string());
  return 1;
}

int finish(std::string_view bench, const BenchFlags& flags, const std::string& figures,
           const std::vector<std::string>& missed) {
  if (!flags.json.empty()) {
    if (const Status status = write_bytes(flags.json, figures); !status) return complain(bench, status.error());
  }
  if (!flags.check) return 0;
  for (const std::string& miss : missed) fmt::print("missed: {}\n", miss);
  if (missed.empty()) fmt::print("\nall figures are met\n");
  return missed.empty() ? 0 : 1;
}

}  // namespace hocket
