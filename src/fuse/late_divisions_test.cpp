#include "hocket/fuse/late_divisions.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/parsed_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

// x / divisor is scattered over two ranks; `more` stands behind the division.
std::string scattered(std::string_view divisor, std::string_view more = "", std::string_view returned = "%done",
                      std::string_view op = "sum", std::string_view dtype = "f32") {
  return fmt::format(R"(graph @g(%x: {}[4,4]) {{
  group @dp = ranks[0,1]
  %y = aten.relu(%x)
  %part = aten.div.Tensor(%y, {})
{}  %sum = _c10d_functional.reduce_scatter_tensor(%part, "{}", 2, @dp)
  %done = _c10d_functional.wait_tensor(%sum)
  return {}
}})",
                     dtype, divisor, more, op, returned);
}

Result<RewriteResult> changed(const Graph& graph) { return late_divisions(graph); }

void expect_unchanged(const std::string& text) {
  const auto result = changed(graph_of(text));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_FALSE(result->graph) << print(*result->graph);
}

TEST(LateDivisions, what_a_rank_gets_is_divided) {
  for (const char* divisor : {"8", "0.25", "1"}) {
    const Graph graph = graph_of(scattered(divisor));
    const auto result = changed(graph);
    ASSERT_TRUE(result && result->graph);
    EXPECT_EQ(problems_of(*result->graph), "");
    expect_same_values(graph, *result->graph);
    bool found = false;
    for (std::size_t i = 0; i < result->graph->size(); ++i) {
      const NodeId id(i);
      if (result->graph->node(id).kind != NodeKind::op || result->graph->op_name(id) != "aten.div.Tensor") continue;
      found = true;
      EXPECT_EQ(result->graph->type(result->graph->outputs(id)[0]).shape[0].value(), 2);
    }
    EXPECT_TRUE(found);
  }
}

TEST(LateDivisions, by_as_many_as_there_are_ranks_is_an_average) {
  const Graph graph = graph_of(scattered("2"));
  const auto result = changed(graph);
  ASSERT_TRUE(result && result->graph);
  EXPECT_NE(print(*result->graph).find("\"avg\""), std::string::npos);
  EXPECT_EQ(print(*result->graph).find("aten.div"), std::string::npos);
  expect_same_values(graph, *result->graph);
}

TEST(LateDivisions, other_divisors_users_and_operations_are_left_alone) {
  expect_unchanged(scattered("3"));
  expect_unchanged(scattered("-2"));
  expect_unchanged(scattered("8", "  %other = aten.neg(%part)\n", "%done, %other"));
  expect_unchanged(scattered("8", "", "%done, %sum"));
  expect_unchanged(scattered("8", "", "%done", "avg"));
  expect_unchanged(scattered("8", "", "%done", "max"));
}

TEST(LateDivisions, sums_of_f16_stay_small_and_averages_of_it_are_divided_before_they_are_rounded) {
  expect_unchanged(scattered("8", "", "%done", "sum", "f16"));
  const auto average = changed(graph_of(scattered("2", "", "%done", "sum", "f16")));
  ASSERT_TRUE(average && average->graph);
  EXPECT_NE(print(*average->graph).find("\"avg\""), std::string::npos);
  EXPECT_TRUE(changed(graph_of(scattered("8", "", "%done", "sum", "bf16")))->graph);
}

TEST(LateDivisions, what_is_written_before_the_wait_is_left_alone) {
  expect_unchanged(scattered("8", "  %w = aten.add_.Tensor(%y, %x)\n"));
}

}  // namespace
}  // namespace hocket
