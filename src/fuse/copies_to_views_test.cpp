#include "hocket/fuse/copies_to_views.h"

#include <gtest/gtest.h>

#include "hocket/fuse/forward_copies.h"
#include "hocket/fuse/scatter_rows.h"
#include "hocket/ir/text.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

// x[batch,8,4] is scattered along its second dimension; `after` stands behind the cat.
Graph scattered(int batch, std::string_view after = "") {
  const std::string text = fmt::format(R"(graph @step(%x: f32[{},8,4]) {{
  group @tp = ranks[0,1]
  %y = aten.relu(%x)
  %parts = aten.split.Tensor(%y, 4, 1)
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %all = aten.cat([%a, %b])
{}  %sum = _c10d_functional.reduce_scatter_tensor(%all, "sum", 2, @tp)
  %done = _c10d_functional.wait_tensor(%sum)
  return %done
}})",
                                       batch, after);
  auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

std::size_t count_of(const Graph& graph, std::string_view op) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const NodeId id(i);
    count += graph.node(id).kind == NodeKind::op && graph.op_name(id) == op ? 1 : 0;
  }
  return count;
}
std::size_t copies_in(const Graph& graph) { return count_of(graph, "aten.cat.default"); }

TEST(CopiesToViews, a_batch_of_one_is_not_copied) {
  const Graph graph = scattered(1);
  const auto changed = copies_to_views(graph);
  ASSERT_TRUE(changed && changed->graph);
  EXPECT_EQ(problems_of(*changed->graph), "");
  EXPECT_EQ(copies_in(*changed->graph), 0U);
  EXPECT_EQ(count_of(*changed->graph, "aten.split.Tensor"), 0U) << "nobody needs the parts";
  EXPECT_EQ(count_of(*changed->graph, "getitem"), 0U);
  expect_same_values(graph, *changed->graph);
}

TEST(CopiesToViews, a_batch_of_two_is_left_alone) {
  const auto changed = copies_to_views(scattered(2));
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->graph);
}

TEST(CopiesToViews, what_is_written_later_stays_a_copy) {
  const auto changed = copies_to_views(scattered(1, "  %w = aten.add_.Tensor(%y, %x)\n"));
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->graph);
}

TEST(ScatterRows, a_batch_of_two_is_scattered_row_by_row_without_a_copy_of_the_input) {
  const Graph graph = scattered(2);
  const auto changed = scatter_rows(graph);
  ASSERT_TRUE(changed && changed->graph);
  EXPECT_EQ(problems_of(*changed->graph), "");
  EXPECT_EQ(copies_in(*changed->graph), 1U);  // of the result
  expect_same_values(graph, *changed->graph);
}

TEST(ScatterRows, a_large_batch_and_a_written_input_are_left_alone) {
  for (const Graph& graph : {scattered(9), scattered(2, "  %w = aten.add_.Tensor(%y, %x)\n"), scattered(1)}) {
    const auto changed = scatter_rows(graph);
    ASSERT_TRUE(changed);
    EXPECT_FALSE(changed->graph);
  }
}

TEST(ScatterRows, rows_that_do_not_lie_together_are_left_alone) {
  const auto graph = parse_graph(R"(graph @step(%x: f32[8,2,4]) {
  group @tp = ranks[0,1]
  %y = aten.permute(%x, [1, 0, 2])
  %parts = aten.split.Tensor(%y, 4, 1)
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %all = aten.cat([%a, %b])
  %sum = _c10d_functional.reduce_scatter_tensor(%all, "sum", 2, @tp)
  %done = _c10d_functional.wait_tensor(%sum)
  return %done
})",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto changed = scatter_rows(*graph);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->graph);
}

// Only the capture says what it does.
TEST(ForwardCopies, what_is_still_communicated_is_not_written_instead_of_its_copy) {
  auto graph = parse_graph(R"(graph @step(%x: f32[4]) {
  group @dp = ranks[0,1]
  %y = aten.relu(%x)
  %sum = _c10d_functional.all_reduce(%y, "sum", @dp)
  %to = aten.neg(%x)
  %copied = aten.copy_(%to, %y)
  %written = aten.mul_.Scalar(%copied, 2)
  %done = _c10d_functional.wait_tensor(%sum)
  return %written, %done
})",
                           "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_EQ(problems_of(*graph), "");
  const auto changed = forward_copies(*graph);
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_FALSE(changed->graph) << print(*changed->graph);
  ASSERT_EQ(changed->notes.size(), 1U);
  EXPECT_NE(changed->notes[0].find("y is still being communicated"), std::string::npos) << changed->notes[0];
}

TEST(ForwardCopies, a_copy_of_a_list_is_none_that_it_knows) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[8]) {
  %a = aten.relu(%x)
  %parts = aten.split.Tensor(%a, 4)
  %own = aten.empty.memory_format([4])
  %in = aten.copy_(%own, %parts) : f32[4] {view_of=%own, mutates=[%own]}
  return %in
})",
                                 "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto changed = forward_copies(*graph);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->graph);
  EXPECT_TRUE(changed->notes.empty()) << changed->notes[0];
}

}  // namespace
}  // namespace hocket
