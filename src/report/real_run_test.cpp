// The executor, the simulator and the report on one program: two ranks, of which one is slow. Kernels sleep, so that what they take is
// known; a loaded machine makes single runs longer, so the best of some is compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "hocket/ir/text.h"
#include "hocket/report/report.h"
#include "hocket/run/executor.h"
#include "report/sleeping_kernels.h"
#include "support/world_threads.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

// Everybody meets at w0. Then rank 0 issues s1 after 10 ms and rank 1, four times slower, after 40; rank 0 has 20 ms of work beside it.
constexpr const char* text = R"(graph @g(%x: f32[4]) {
  group @both = ranks[0,1]
  %s0 = _c10d_functional.all_reduce(%x, "max", @both) {est=0.0ms}
  %w0 = _c10d_functional.wait_tensor(%s0)
  %a = aten.neg(%w0) {est=10.0ms}
  %s1 = _c10d_functional.all_reduce(%a, "max", @both) {est=0.0ms}
  %b = aten.relu(%w0) {est=20.0ms}
  %w1 = _c10d_functional.wait_tensor(%s1)
  %y = aten.add.Tensor(%w1, %b) {est=0.0ms}
  return %y
})";
constexpr double slow = 4;

const ShownSpan& span_of(const ShownTimeline& line, const std::string& op) {
  const ShownSpan* last = nullptr;
  for (const ShownSpan& span : line.spans) {
    if (span.op == op) last = &span;
  }
  if (last == nullptr) ADD_FAILURE() << "no span of " << op;
  return *last;
}

TEST(RealRun, is_what_the_simulator_says_of_a_slow_rank) {
  CompileOptions options;
  options.passes = *parse_passes("lower,plan");
  const auto compiled = compile(*parse_graph(text, "test"), options);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  const Program& program = *compiled->program();

  auto worlds = World::threads(2, {.join_timeout = 20s, .timeout = 20s});
  ASSERT_TRUE(worlds) << worlds.error().message;
  std::mutex lock;
  double stood[2][2] = {{1e9, 0}, {1e9, 0}};  // by rank: the least and the most that the second wait took, in ms
  each_in_a_thread(std::move(*worlds), [&](const World& world) {
    SleepingKernels kernels(world.rank() == 0 ? 1 : slow);
    auto executor = Executor::create(program, kernels, world, {.record = true});
    ASSERT_TRUE(executor) << executor.error().to_string();
    float x[4] = {};
    BufferId input;
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      if (program.buffer(BufferId(i)).home == Home::input) input = BufferId(i);
    }
    for (int run = 0; run < 4; ++run) {
      ASSERT_TRUE((*executor)->run(std::vector<InputMemory>{{input, reinterpret_cast<std::byte*>(x)}}));
      const auto line = measured_timeline(program, (*executor)->last_run(), {.title = "measured"});
      ASSERT_TRUE(line) << line.error().to_string();
      const double wait = span_of(*line, "_c10d_functional.wait_tensor.default").stood.ms();
      const std::scoped_lock guard(lock);
      auto& [least, most] = stood[world.rank()];
      least = std::min(least, wait);
      most = std::max(most, wait);
      EXPECT_GE(line->step_time.ms(), world.rank() == 0 ? 30 : 30 * slow);
    }
  });

  const auto simulated = sim_program(program, CostModel(options.cost));
  for (const int rank : {0, 1}) {
    const auto result =
        simulate(*simulated, options.cost.machine, {.stragglers = {{Rank{1}, slow}}, .shown = Rank{rank}});
    ASSERT_TRUE(result) << result.error().to_string();
    const auto line = simulated_timeline(program, *simulated, *result, {});
    const double expected = span_of(*line, "_c10d_functional.wait_tensor.default").stood.ms();
    EXPECT_DOUBLE_EQ(expected, rank == 0 ? 10 : 0);
    EXPECT_GE(stood[rank][1], expected - 2);
    EXPECT_LE(stood[rank][0], expected + 8);
  }
}

}  // namespace
}  // namespace hocket
