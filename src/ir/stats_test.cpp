#include "hocket/ir/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

GraphStats stats_of_text(std::string_view text) {
  const auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return stats_of(*graph);
}

// What shared/graphs/evaluate.py says about the captures: an independent program with the same model.
struct Judged {
  const char* name;
  std::size_t nodes;
  std::size_t collectives;
  std::int64_t peak_bytes;
  double compute_ms;
  double communication_ms;
  double critical_path_ms;
};

constexpr Judged judged[] = {
    {"fsdp_llama_1l_fwd", 213, 12, 17781120, 0.061278652, 0.155232509, 0.074015186},
    {"fsdp_llama_tiny", 1517, 78, 87295720, 0.419288904, 1.018188763, 0.310990671},
    {"fsdp_tp_llama_tiny", 1968, 124, 43784946, 0.183659755, 0.886419577 + 0.549019957, 0.6093409},
    {"ddp_gpt2_12l", 2261, 149, 19109891368, 77.448464027, 43.421514934, 37.084158266},
};

TEST(Stats, agree_with_an_independent_judge_on_captures) {
  for (const Judged& expected : judged) {
    SCOPED_TRACE(expected.name);
    const auto graph = read_graph(std::string(HOCKET_TEST_DATA "/") + expected.name + ".json.gz");
    ASSERT_TRUE(graph) << graph.error().to_string();
    const GraphStats stats = stats_of(*graph);
    EXPECT_EQ(stats.nodes, expected.nodes);
    EXPECT_EQ(stats.collectives, expected.collectives);
    EXPECT_EQ(stats.waits, expected.collectives);
    EXPECT_EQ(stats.peak, Bytes(expected.peak_bytes));
    EXPECT_EQ(stats.compute, Nanoseconds::from_ms(expected.compute_ms));
    EXPECT_EQ(stats.communicate, Nanoseconds::from_ms(expected.communication_ms));
    EXPECT_EQ(stats.critical_path, Nanoseconds::from_ms(expected.critical_path_ms));
    EXPECT_EQ(stats.without_estimate, 0U);
    EXPECT_EQ(stats.opaque, 0U);
  }
}

TEST(Stats, count_what_a_graph_holds) {
  const GraphStats stats = stats_of_text(R"(
    graph @g(%x: f32[4,4], %s: f32[s0]) {
      group @dp = ranks[0,1]
      %t = aten.permute(%x, [1, 0])
      %m = aten.mm(%x, %t) {est=0.5ms}
      %c = _c10d_functional.all_reduce(%m, "sum", @dp) {est=2.0ms}
      %a = aten.add_.Tensor(%x, 1)
      %w = _c10d_functional.wait_tensor(%c)
      %u = mylib.op(%w) : f32[4] {est=0.25ms}
      %v = mylib.op(%u) : f32[4] {est=0.25ms}
      return %v, %a
    })");
  EXPECT_EQ(stats.name, "g");
  EXPECT_EQ(stats.nodes, 10U);
  EXPECT_EQ(stats.inputs, 2U);
  EXPECT_EQ(stats.ops, 7U);
  EXPECT_EQ(stats.outputs, 2U);
  EXPECT_EQ(stats.views, 1U);
  EXPECT_EQ(stats.gemms, 1U);
  EXPECT_EQ(stats.mutations, 1U);
  EXPECT_EQ(stats.waits, 1U);
  EXPECT_EQ(stats.collectives, 1U);
  EXPECT_EQ(stats.symbolic, 1U);
  EXPECT_EQ(stats.opaque, 2U);
  EXPECT_EQ(stats.opaque_ops.at("mylib.op.default"), 2U);
  EXPECT_EQ(stats.without_estimate, 1U);  // add_
  EXPECT_EQ(stats.compute, Nanoseconds::from_ms(1));
  EXPECT_EQ(stats.communicate, Nanoseconds::from_ms(2));
  EXPECT_EQ(stats.critical_path, Nanoseconds::from_ms(3));
  ASSERT_EQ(stats.communication.size(), 1U);
  EXPECT_EQ(stats.communication[0].group, "dp");
  EXPECT_EQ(stats.communication[0].ranks, 2U);
  EXPECT_EQ(stats.communication[0].bytes_in, Bytes(64));
}

TEST(Stats, memory_lives_from_the_first_to_the_last_touch) {
  // x lives throughout (16 bytes); a dies when b is made, b when c is: two of them at a time
  const GraphStats stats = stats_of_text(R"(
    graph @g(%x: f32[4]) {
      %a = aten.relu(%x)
      %b = aten.relu(%a)
      %c = aten.relu(%b)
      return %c
    })");
  EXPECT_EQ(stats.input_bytes, Bytes(16));
  EXPECT_EQ(stats.peak, Bytes(48));
  EXPECT_EQ(stats.peak_at, "b");
}

TEST(Stats, an_alias_keeps_memory_alive) {
  const GraphStats stats = stats_of_text(R"(
    graph @g(%x: f32[4]) {
      %a = aten.relu(%x)
      %v = aten.alias(%a)
      %b = aten.relu(%x)
      %c = aten.relu(%b)
      %d = aten.add.Tensor(%v, %c)
      return %d
    })");
  EXPECT_EQ(stats.peak, Bytes(16 + 16 + 16 + 16));  // x, a, c and b or d
}

TEST(Stats, what_a_collective_reads_lives_until_its_wait) {
  const std::string_view with_late_wait = R"(
    graph @g(%x: f32[4]) {
      group @dp = ranks[0,1]
      %a = aten.relu(%x)
      %c = _c10d_functional.all_reduce(%a, "sum", @dp)
      %b = aten.relu(%x)
      %w = _c10d_functional.wait_tensor(%c)
      return %w, %b
    })";
  EXPECT_EQ(stats_of_text(with_late_wait).peak, Bytes(64));  // 16 each for x, a, c, b
}

TEST(Stats, are_written_as_one_json_object) {
  const auto json =
      nlohmann::json::parse(stats_json(stats_of(random_graph(1, {.shape = GraphShape::fsdp, .odd_names = true}))));
  EXPECT_EQ(json["name"], "fsdp_1");
  EXPECT_EQ(json["collectives"], json["waits"]);
  EXPECT_EQ(json["communication"].size(), 2U);
  EXPECT_GT(json["peak_bytes"], 0);
}

TEST(Stats, summary_names_what_matters) {
  const std::string text = summary(stats_of(random_graph(1, {.shape = GraphShape::tensor})));
  EXPECT_THAT(text, HasSubstr("peak memory"));
  EXPECT_THAT(text, HasSubstr("@tp"));
  EXPECT_THAT(text, HasSubstr("@dp"));
  EXPECT_THAT(text, Not(HasSubstr("opaque")));
  EXPECT_THAT(summary(stats_of_text("graph @g() { return () }")), HasSubstr("not known: no operator has an estimate"));
}

TEST(Table, has_a_row_for_each_node_or_step_up_to_the_limit) {
  const Graph graph = random_graph(5);
  const auto lines = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  EXPECT_EQ(lines(table_of(random_graph(2, {.shape = GraphShape::ddp}))),
            1 + random_graph(2, {.shape = GraphShape::ddp}).size());
  EXPECT_THAT(table_of(graph, 3), HasSubstr("more nodes"));
  EXPECT_EQ(lines(table_of(graph, 3)), 1 + 3 + 1U);
  const Program program = random_program(5, {});
  EXPECT_EQ(lines(table_of(program)), 1 + program.size());
}

}  // namespace
}  // namespace hocket
