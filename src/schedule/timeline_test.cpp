// The two-lane model against the judge of ../shared/graphs and against a naive simulation.
#include "hocket/schedule/timeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "hocket/ir/file.h"
#include "support/captures.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

std::vector<Nanoseconds> captured_times(const Graph& graph) {
  std::vector<Nanoseconds> times(graph.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = graph.estimate(NodeId(i)).value_or(Nanoseconds());
  return times;
}

struct Judged {
  const char* graph;
  double step_ms, exposed_ms;
  std::int64_t peak_bytes;
  double lower_bound_ms;
};

// What `evaluate.py GRAPH --json` says of the captures in tests/data.
constexpr Judged judged[] = {
    {"ddp_gpt2_12l", 83.38095343999973, 5.932489413000042, 19109891368, 77.44846402699969},
    {"fsdp_llama_1l_fwd", 0.21651116100000004, 0.15523250900000005, 17781120, 0.15523250900000002},
    {"fsdp_llama_tiny", 1.4374776669999998, 1.018188763000001, 87295720, 1.0181887629999995},
    {"fsdp_tp_llama_tiny", 1.6190992889999942, 1.4354395340000001, 43784946, 0.8864195770000004},
};

TEST(Timeline, of_captures_is_what_the_judge_says) {
  for (const Judged& expected : judged) {
    SCOPED_TRACE(expected.graph);
    const auto graph = read_graph(std::string(HOCKET_TEST_DATA "/") + expected.graph + ".json.gz");
    ASSERT_TRUE(graph) << graph.error().to_string();
    const auto steps = StepGraph::of(*graph, captured_times(*graph));
    ASSERT_TRUE(steps) << steps.error().to_string();
    const Timeline line = timeline(*steps, steps->original_order());
    EXPECT_NEAR(line.step_time.ms(), expected.step_ms, expected.step_ms * 1e-9);
    EXPECT_NEAR(line.exposed.ms(), expected.exposed_ms, expected.step_ms * 1e-9);
    EXPECT_EQ(memory_curve(*steps, steps->original_order()).peak.count, expected.peak_bytes);
    // Our bound knows more dependencies than the judge's: it may be higher, and no order may be below it.
    EXPECT_GE(time_bound(*steps).best().ms(), expected.lower_bound_ms * (1 - 1e-9));
    EXPECT_LE(time_bound(*steps).best(), line.step_time);
  }
}

// Step times of the original orders in RESULTS.md, four digits.
TEST(Timeline, of_shared_captures_is_what_results_says) {
  const std::map<std::string, std::pair<double, double>> results = {{"ap_dsv3_bw_64", {643, 42.59}},
                                                                    {"ap_dsv3_fw_128", {460.9, 43.34}},
                                                                    {"ap_llama3_8b_bw_256_2d", {440.6, 8.907}},
                                                                    {"ap_llama3_8b_bw_64_1d", {1995, 36.3}},
                                                                    {"ap_llama3_8b_fw_256_2d", {186.1, 4.756}},
                                                                    {"ap_llama3_8b_fw_64_2d", {121.9, 5.107}},
                                                                    {"ddp_resnet50", {38.93, 5.831}},
                                                                    {"fsdp_llama_1b", {200.3, 28.88}},
                                                                    {"fsdp_llama_8b_aot_bwd", {1419, 51.33}},
                                                                    {"fsdp_llama_8b_aot_fwd", {574.6, 47.41}},
                                                                    {"fsdp_llama_L16", {5.172, 0.2444}},
                                                                    {"fsdp_llama_L32", {10.15, 0.4618}},
                                                                    {"fsdp_llama_L64", {20.11, 0.8967}},
                                                                    {"fsdp_llama_L8", {2.682, 0.1357}},
                                                                    {"fsdp_tp_llama_70b", {2897, 14.44}},
                                                                    {"fsdp_tp_llama_8b", {278.2, 12.67}},
                                                                    {"moe_ep_16l", {393.5, 27.82}},
                                                                    {"tp_llama_8b", {193.4, 26.95}}};
  const auto paths = shared_captures();
  if (paths.empty()) GTEST_SKIP() << no_shared_captures;
  std::size_t seen = 0;
  for (const std::string& path : paths) {
    const std::string stem = path.substr(path.rfind('/') + 1, path.rfind(".json.gz") - path.rfind('/') - 1);
    const auto expected = results.find(stem);
    if (expected == results.end()) continue;
    SCOPED_TRACE(stem);
    ++seen;
    const auto graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const auto steps = StepGraph::of(*graph, captured_times(*graph));
    ASSERT_TRUE(steps) << steps.error().to_string();
    EXPECT_NEAR(timeline(*steps, steps->original_order()).step_time.ms() / expected->second.first, 1, 6e-4);
    EXPECT_NEAR(static_cast<double>(memory_curve(*steps, steps->original_order()).peak.count) / (1 << 30) /
                    expected->second.second,
                1, 6e-4);
  }
  EXPECT_EQ(seen, results.size());
}

// Picosecond by picosecond: which lane is busy with what.
Nanoseconds ticked(const StepGraph& steps, const std::vector<StepIndex>& order) {
  std::vector<std::vector<StepIndex>> queues(steps.lanes());
  std::vector<std::int64_t> left(steps.size());
  for (StepIndex step = 0; step < steps.size(); ++step) left[step] = steps.time(step).picoseconds;
  std::size_t at = 0;
  std::int64_t now = 0;
  const auto settle = [&] {  // whatever takes no time
    for (bool again = true; again;) {
      again = false;
      for (auto& queue : queues) {
        if (!queue.empty() && left[queue.front()] == 0) queue.erase(queue.begin()), again = true;
      }
      if (at == order.size()) continue;
      const StepIndex step = order[at];
      if (steps.kind(step) == StepKind::collective) queues[steps.lane(step)].push_back(step), ++at, again = true;
      else if (steps.kind(step) == StepKind::wait ? left[steps.awaited(step)] == 0 : left[step] == 0)
        ++at, again = true;
    }
  };
  const auto busy = [&] {
    return at < order.size() ||
           std::any_of(queues.begin(), queues.end(), [](const auto& queue) { return !queue.empty(); });
  };
  for (settle(); busy(); settle()) {
    ++now;
    for (auto& queue : queues) {
      if (!queue.empty()) --left[queue.front()];
    }
    if (at < order.size() && steps.kind(order[at]) == StepKind::compute) --left[order[at]];
  }
  return Nanoseconds::from_picoseconds(now);
}

TEST(Timeline, of_random_graphs_is_that_of_a_simulation_tick_by_tick) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times(graph.size());
    for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(0, 12));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps);
    const Timeline line = timeline(*steps, steps->original_order());
    ASSERT_EQ(line.step_time, ticked(*steps, steps->original_order()));
    ASSERT_EQ(line.step_time, line.compute + line.exposed);
    ASSERT_LE(time_bound(*steps).best(), line.step_time);
  }
}

// What passes at least from the beginning of a step to the end of all, followed from the front: what an issued collective holds up is
// its wait and the next on its lane.
Nanoseconds longest_from(const StepGraph& steps, StepIndex step, std::map<StepIndex, Nanoseconds>& known) {
  const auto found = known.find(step);
  if (found != known.end()) return found->second;
  Nanoseconds longest = steps.time(step);
  for (const StepIndex later : steps.after(step)) {
    const bool held_up = steps.kind(step) != StepKind::collective || steps.kind(later) == StepKind::wait ||
                         (steps.kind(later) == StepKind::collective && steps.lane(later) == steps.lane(step));
    longest = std::max(longest, (held_up ? steps.time(step) : Nanoseconds()) + longest_from(steps, later, known));
  }
  return known[step] = longest;
}

TEST(Timeline, bounds_and_peaks_are_what_the_definitions_say) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Graph graph = random_graph(seed);
    std::vector<Nanoseconds> times(graph.size());
    for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(0, 12));
    const auto steps = StepGraph::of(graph, times);
    ASSERT_TRUE(steps);
    Nanoseconds longest;
    std::map<StepIndex, Nanoseconds> known;
    for (StepIndex step = 0; step < steps->size(); ++step)
      longest = std::max(longest, longest_from(*steps, step, known));
    EXPECT_EQ(time_bound(*steps).critical_path, longest);

    const MemoryCurve curve = memory_curve(*steps, steps->original_order());
    const auto highest = std::max_element(curve.live.begin(), curve.live.end());
    EXPECT_EQ(curve.peak, std::max(*highest, steps->input_bytes()));
    EXPECT_EQ(curve.live[curve.peak_at], *highest);
  }
}

}  // namespace
}  // namespace hocket
