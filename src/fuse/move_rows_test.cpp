#include "hocket/fuse/move_rows.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/parsed_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

void expect_sound_change(const std::string& text, std::string_view op) {
  const Graph graph = graph_of(text);
  const auto changed = move_rows(graph);
  ASSERT_TRUE(changed && changed->graph) << text;
  EXPECT_EQ(problems_of(*changed->graph), "");
  EXPECT_EQ(count_of(*changed->graph, op), 1U) << print(*changed->graph);
  EXPECT_EQ(count_of(*changed->graph, "aten.cat.default"), 0U) << print(*changed->graph);
  EXPECT_EQ(count_of(*changed->graph, "aten.split.Tensor"), 0U) << print(*changed->graph);
  expect_same_values(graph, *changed->graph);
}

void expect_unchanged(const std::string& text) {
  const auto changed = move_rows(graph_of(text));
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_FALSE(changed->graph) << print(*changed->graph);
}

// x of this shape is gathered along `dim`; `more` stands behind the cat.
std::string gathered(std::string_view shape, int first, int dim, std::string_view parts = "%a, %b",
                     std::string_view more = "", std::string_view returned = "%z") {
  return fmt::format(R"(graph @step(%x: f32[{}]) {{
  group @tp = ranks[0,1]
  %y = aten.relu(%x)
  %all = _c10d_functional.all_gather_into_tensor(%y, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %parts = aten.split.Tensor(%there, {})
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %whole = aten.cat([{}], {})
{}  %z = aten.neg(%whole)
  return {}
}})",
                     shape, first, parts, dim, more, returned);
}

std::string scattered(std::string_view shape, int part, int dim, std::string_view more = "",
                      std::string_view returned = "%done") {
  return fmt::format(R"(graph @step(%x: f32[{}]) {{
  group @tp = ranks[0,1]
  %y = aten.relu(%x)
  %parts = aten.split.Tensor(%y, {}, {})
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %all = aten.cat([%a, %b])
{}  %sum = _c10d_functional.reduce_scatter_tensor(%all, "sum", 2, @tp)
  %done = _c10d_functional.wait_tensor(%sum)
  return {}
}})",
                     shape, part, dim, more, returned);
}

constexpr std::string_view gather_op = "hocket.all_gather_along.default";
constexpr std::string_view scatter_op = "hocket.reduce_scatter_along.default";

TEST(MoveRows, a_gather_along_a_later_dimension_needs_no_copy) {
  expect_sound_change(gathered("2,3,4", 2, 1), gather_op);
  expect_sound_change(gathered("2,3,4", 2, -2), gather_op);
  expect_sound_change(gathered("2,3,4", 2, 2), gather_op);
  expect_sound_change(gathered("3,5", 3, 1), gather_op);
}

TEST(MoveRows, a_scatter_along_a_later_dimension_needs_no_copy) {
  expect_sound_change(scattered("2,8,4", 4, 1), scatter_op);
  expect_sound_change(scattered("2,3,8", 4, 2), scatter_op);
  expect_sound_change(scattered("2,8,4", 4, 1, "", "%done, %sum"), scatter_op);
}

TEST(MoveRows, a_batch_of_one_and_a_large_batch_are_left_alone) {
  expect_unchanged(gathered("1,3,4", 1, 1));
  expect_unchanged(gathered("9,3,4", 9, 1));
  expect_unchanged(scattered("1,8,4", 4, 1));
  expect_unchanged(scattered("3,3,8", 4, 2));
}

TEST(MoveRows, parts_in_another_order_or_with_other_users_are_left_alone) {
  expect_unchanged(gathered("2,3,4", 2, 1, "%b, %a"));
  expect_unchanged(gathered("2,3,4", 2, 1, "%a, %b", "  %other = aten.neg(%a)\n", "%z, %other"));
  expect_unchanged(gathered("2,3,4", 2, 1, "%a, %b", "  %other = aten.neg(%there)\n", "%z, %other"));
  expect_unchanged(gathered("2,3,4", 2, 0));
  expect_unchanged(scattered("2,8,4", 4, 1, "  %other = aten.neg(%all)\n", "%done, %other"));
}

TEST(MoveRows, parts_that_are_not_those_of_the_ranks_are_left_alone) {
  expect_unchanged(R"(graph @step(%x: f32[2,3]) {
  group @tp = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %parts = aten.split.Tensor(%there, 1)
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %c = getitem(%parts, 2)
  %d = getitem(%parts, 3)
  %whole = aten.cat([%a, %b, %c, %d], 1)
  %z = aten.neg(%whole)
  return %z
})");
}

TEST(MoveRows, what_is_written_after_the_copy_is_left_alone) {
  expect_unchanged(scattered("2,8,4", 4, 1, "  %w = aten.add_.Tensor(%y, %x)\n"));
}

TEST(MoveRows, a_small_copy_is_not_worth_a_collective_that_cannot_be_merged) {
  const CostModel cost(CostOptions{.machine = *find_machine("h100x8")});
  const auto small = move_rows(graph_of(gathered("2,3,4", 2, 1)), {.cost = &cost});
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->graph);
  const auto large = move_rows(graph_of(gathered("2,4096,4096", 2, 1)), {.cost = &cost});
  ASSERT_TRUE(large && large->graph);
  const Graph& graph = *large->graph;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Collective* collective = graph.collective(NodeId(i));
    if (collective == nullptr) continue;
    EXPECT_EQ(graph.estimate(NodeId(i)),
              cost.collective(CollectiveKind::all_gather, graph.group(collective->group).ranks,
                              collective->bytes_in + collective->bytes_out));
  }
}

// Nothing could be merged with them.
TEST(MoveRows, small_collectives_that_follow_from_each_other_need_no_copy) {
  const std::string text = R"(graph @step(%x: f32[2,3,4]) {
  group @tp = ranks[0,1]
  %a1 = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)
  %w1 = _c10d_functional.wait_tensor(%a1)
  %s1 = aten.split.Tensor(%w1, 2)
  %g1 = getitem(%s1, 0)
  %h1 = getitem(%s1, 1)
  %c1 = aten.cat([%g1, %h1], 1)
  %y = aten.slice.Tensor(%c1, 1, 0, 3)
  %z = aten.relu(%y)
  %a2 = _c10d_functional.all_gather_into_tensor(%z, 2, @tp)
  %w2 = _c10d_functional.wait_tensor(%a2)
  %s2 = aten.split.Tensor(%w2, 2)
  %g2 = getitem(%s2, 0)
  %h2 = getitem(%s2, 1)
  %c2 = aten.cat([%g2, %h2], 1)
  return %c2
})";
  const CostModel cost(CostOptions{.machine = *find_machine("h100x8")});
  const Graph graph = graph_of(text);
  const auto changed = move_rows(graph, {.cost = &cost});
  ASSERT_TRUE(changed && changed->graph);
  EXPECT_EQ(count_of(*changed->graph, gather_op), 2U) << print(*changed->graph);
  expect_same_values(graph, *changed->graph);
}

}  // namespace
}  // namespace hocket
