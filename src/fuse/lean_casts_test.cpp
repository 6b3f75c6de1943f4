#include "hocket/fuse/lean_casts.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/parsed_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

constexpr std::string_view cast_op = "prims.convert_element_type.default";

void expect_unchanged(std::string_view text) {
  const auto changed = lean_casts(graph_of(text));
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_FALSE(changed->graph) << print(*changed->graph);
}

Graph expect_sound_change(std::string_view text) {
  const Graph graph = graph_of(text);
  auto changed = lean_casts(graph);
  EXPECT_TRUE(changed && changed->graph);
  EXPECT_EQ(problems_of(*changed->graph), "");
  EXPECT_TRUE(same_values(graph, *changed->graph));
  return std::move(*changed->graph);
}

// ---------------------------------------------------------------- what changes nothing

std::string idle_cast(std::string_view dtype, std::string_view after = "", std::string_view returned = "%done") {
  return fmt::format(R"(graph @g(%x: f32[4,4]) {{
  group @dp = ranks[0,1]
  %y = aten.relu(%x)
  %same = prims.convert_element_type(%y, {})
{}  %sum = _c10d_functional.reduce_scatter_tensor(%same, "sum", 2, @dp)
  %done = _c10d_functional.wait_tensor(%sum)
  return {}
}})",
                     dtype, after, returned);
}

TEST(LeanCasts, a_cast_to_the_dtype_that_is_there_goes) {
  EXPECT_EQ(count_of(expect_sound_change(idle_cast("f32")), cast_op), 0U);
  expect_unchanged(idle_cast("bf16"));
}

TEST(LeanCasts, what_is_written_later_or_returned_stays_apart) {
  expect_unchanged(idle_cast("f32", "  %w = aten.add_.Tensor(%y, %x)\n"));
  expect_unchanged(idle_cast("f32", "  %w = aten.add_.Tensor(%same, %x)\n"));
  expect_unchanged(idle_cast("f32", "", "%y, %same, %done"));
}

TEST(LeanCasts, what_is_not_beside_communication_is_left_alone) {
  expect_unchanged(R"(graph @g(%x: f32[4,4]) {
  %same = prims.convert_element_type(%x, f32)
  %y = aten.relu(%same)
  return %y
})");
}

// ---------------------------------------------------------------- parts of a cast

std::string partly_used(std::string_view dim, std::string_view more = "") {
  return fmt::format(R"(graph @g(%x: f32[8,8]) {{
  group @dp = ranks[0,1]
  %y = aten.relu(%x)
  %low = prims.convert_element_type(%y, bf16)
  %parts = aten.split.Tensor(%low, 2{})
  %mine = getitem(%parts, 1)
{}  %own = aten.clone(%mine)
  %high = prims.convert_element_type(%own, f32)
  %sum = _c10d_functional.reduce_scatter_tensor(%high, "sum", 2, @dp)
  %done = _c10d_functional.wait_tensor(%sum)
  return %done
}})",
                     dim, more);
}

TEST(LeanCasts, a_cast_of_which_a_part_is_used_casts_the_part) {
  const Graph changed = expect_sound_change(partly_used(""));
  EXPECT_EQ(count_of(changed, "aten.clone.default"), 0U) << "the part lies by itself";
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed.node(NodeId(i)).kind == NodeKind::op && changed.op_name(NodeId(i)) == cast_op) {
      EXPECT_EQ(changed.type(changed.outputs(NodeId(i))[0]).shape[0].value(), 2);
    }
  }
}

TEST(LeanCasts, a_cast_that_is_used_whole_or_split_otherwise_is_left_alone) {
  expect_unchanged(partly_used(", 1"));
  expect_unchanged(partly_used("", "  %other = aten.relu(%low)\n"));
  expect_unchanged(partly_used("",
                               "  %b = getitem(%parts, 0)\n  %c = getitem(%parts, 2)\n  %d = aten.cat([%b, %c])\n"
                               "  %e = aten.relu(%d)\n"));
}

// ---------------------------------------------------------------- a cast of what was put together

std::string cast_of_cat(std::string_view dim, std::string_view parts = "%a, %b", std::string_view more = "") {
  return fmt::format(R"(graph @g(%x: bf16[2,3,4]) {{
  group @tp = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %parts = aten.split.Tensor(%there, 2)
  %a = getitem(%parts, 0)
  %b = getitem(%parts, 1)
  %whole = aten.cat([{}], {})
  %flat = aten.view(%whole, [-1])
{}  %high = prims.convert_element_type(%flat, f32)
  %y = aten.relu(%high)
  return %y
}})",
                     parts, dim, more);
}

TEST(LeanCasts, parts_that_are_put_together_and_cast_are_copied_once) {
  for (const std::string_view dim : {"1", "2", "-1"}) {
    const Graph changed = expect_sound_change(cast_of_cat(dim));
    EXPECT_EQ(count_of(changed, "aten.cat.default"), 0U) << dim;
    EXPECT_EQ(count_of(changed, "aten.split.Tensor"), 0U) << dim;
    EXPECT_EQ(count_of(changed, "getitem"), 0U) << dim;
    EXPECT_EQ(count_of(changed, cast_op), 0U) << dim;
    EXPECT_EQ(count_of(changed, "aten._to_copy.default"), 1U) << dim;
  }
}

TEST(LeanCasts, other_orders_and_other_users_are_left_alone) {
  expect_unchanged(cast_of_cat("1", "%b, %a"));
  expect_unchanged(cast_of_cat("0"));
  expect_unchanged(cast_of_cat("1", "%a, %b", "  %z = aten.relu(%whole)\n"));
  expect_unchanged(cast_of_cat("1", "%a, %b", "  %z = aten.relu(%a)\n"));
  expect_unchanged(cast_of_cat("1", "%a, %b", "  %z = aten.add_.Tensor(%there, %there)\n"));
}

}  // namespace
}  // namespace hocket
