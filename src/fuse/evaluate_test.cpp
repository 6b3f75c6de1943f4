// evaluate.py of the captures knows nothing of hocket: it checks that a result does the same work and recomputes its times.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fuse/reference.h"
#include "hocket/fuse/bucket.h"
#include "hocket/fuse/ddp.h"
#include "hocket/fuse/schedule_comm_wait.h"
#include "hocket/ir/file.h"
#include "hocket/ir/stats.h"
#include "support/captures.h"

namespace hocket {
namespace {

constexpr std::uintmax_t small_file = 70'000;  // bytes; larger ones take python seconds

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  pclose(pipe);
  return output;
}

// Empty where the judge accepts the result and finds the same step time and peak.
std::string judged(const std::string& capture, const Graph& result) {
  const std::filesystem::path folder = std::filesystem::path(capture).parent_path();
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("hocket_evaluate_{}.json.gz", getpid());
  if (const Status written = write_graph(result, file); !written) return written.error().to_string();
  std::string output = output_of(fmt::format("python3 '{}' '{}' --result '{}' --json 2>&1",
                                             (folder / "evaluate.py").string(), capture, file.string()));
  std::filesystem::remove(file);
  const auto answer = nlohmann::json::parse(output, nullptr, false);
  if (answer.is_discarded()) return output;
  const double ours = fuse::two_lane_step_time(result).ms();
  const double theirs = answer["step_ms"];
  if (std::abs(ours - theirs) > 1e-6 * theirs) return fmt::format("step of {} ms, but {} by evaluate.py", ours, theirs);
  const std::int64_t peak = stats_of(result).peak.count;
  if (peak != answer["peak_bytes"])
    return fmt::format("peak of {}, but {} by evaluate.py", peak, answer["peak_bytes"].dump());
  return {};
}

class Evaluate : public testing::Test {
 protected:
  void SetUp() override {
    if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
    if (output_of("python3 --version 2>/dev/null").empty()) GTEST_SKIP() << "python3 is absent";
  }

  template <class Run>
  void for_each_capture(std::string_view kind, Run run) {
    for (const std::string& path : shared_captures()) {
      const bool fits = path.find(fmt::format("/{}", kind)) != std::string::npos;
      if (!fits || std::filesystem::file_size(path) > small_file) continue;
      const Result<Graph> graph = read_graph(path);
      ASSERT_TRUE(graph) << graph.error().to_string();
      run(path, *graph);
    }
  }

  const CostModel cost_{CostOptions{.machine = find_machine("h100x8").value()}};
};

TEST_F(Evaluate, accepts_fused_gradients) {
  for_each_capture("ddp_", [&](const std::string& path, const Graph& graph) {
    for (const auto pass : {fuse_ddp_with_concat, fuse_ddp_with_coalesced}) {
      const auto fused = pass(graph, {.cost = &cost_});
      ASSERT_TRUE(fused && fused->graph);
      const auto scheduled = schedule_comm_wait(*fused->graph);
      ASSERT_TRUE(scheduled && scheduled->graph);
      EXPECT_EQ(judged(path, *scheduled->graph), "") << path;
    }
  });
}

TEST_F(Evaluate, accepts_buckets_of_gathers_and_scatters) {
  for_each_capture("fsdp_", [&](const std::string& path, const Graph& graph) {
    for (const FusedForm form : {FusedForm::concat, FusedForm::coalesced}) {
      const auto gathered = bucket_all_gather(graph, {.form = form, .cost = &cost_});
      ASSERT_TRUE(gathered) << gathered.error().to_string();
      const Graph& between = gathered->graph ? *gathered->graph : graph;
      const auto scattered = bucket_reduce_scatter(between, {.form = form, .cost = &cost_});
      ASSERT_TRUE(scattered) << scattered.error().to_string();
      EXPECT_EQ(judged(path, scattered->graph ? *scattered->graph : between), "") << path;
    }
  });
}

}  // namespace
}  // namespace hocket
