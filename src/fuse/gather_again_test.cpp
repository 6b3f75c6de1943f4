#include "hocket/fuse/gather_again.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/parsed_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

constexpr std::string_view gather_op = "_c10d_functional.all_gather_into_tensor.default";

NodeId node_of(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.name(NodeId(i)) == name) return NodeId(i);
  }
  ADD_FAILURE() << "no node " << name;
  return NodeId::none();
}

// A gathered tensor that `early` uses, and behind the peak `late`; each with what a test puts between.
std::string program(std::string_view between = "", std::string_view late = "aten.mm(%there, %peak)",
                    std::string_view returned = "%early, %late") {
  return fmt::format(R"(graph @g(%w: f32[4,4], %v: f32[2,4]) {{
  group @tp = ranks[0,1]
  %x = aten.relu(%v)
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %turned = aten.permute(%there, [1, 0])
  %early = aten.mm(%there, %w)
  %peak = aten.relu(%w)
{}  %late = {}
  return {}
}})",
                     between, late, returned);
}

GatherAgainResult run_with_second(const Graph& graph, std::vector<NodeId> among = {}) {
  auto changed = gather_again(graph, {node_of(graph, "peak"), std::move(among), nullptr});
  EXPECT_TRUE(changed) << changed.error().to_string();
  return changed ? std::move(*changed) : GatherAgainResult{};
}

RewriteResult run(const Graph& graph) { return run_with_second(graph).rewrite; }

void expect_unchanged(std::string_view text) {
  const RewriteResult changed = run(graph_of(text));
  EXPECT_FALSE(changed.graph) << print(*changed.graph);
}

Graph expect_sound_change(std::string_view text) {
  const Graph graph = graph_of(text);
  RewriteResult changed = run(graph);
  EXPECT_TRUE(changed.graph) << text;
  if (!changed.graph) return graph_of(text);
  EXPECT_EQ(problems_of(*changed.graph), "");
  EXPECT_TRUE(same_values(graph, *changed.graph));
  EXPECT_EQ(count_of(*changed.graph, gather_op), count_of(graph, gather_op) + 1);
  return std::move(*changed.graph);
}

std::string input_of(const Graph& graph, std::string_view user, std::size_t argument) {
  return std::string(graph.name(graph.args(node_of(graph, user))[argument].as_node()));
}

TEST(GatherAgain, what_depends_on_the_peak_takes_the_second) {
  const Graph graph = expect_sound_change(program());
  EXPECT_EQ(input_of(graph, "early", 0), "there");
  EXPECT_EQ(input_of(graph, "late", 0), "there_again");
  EXPECT_GT(node_of(graph, "all_again"), node_of(graph, "peak"));
}

TEST(GatherAgain, views_follow_and_unused_ones_are_not_made_again) {
  const Graph turned = expect_sound_change(program("", "aten.mm(%turned, %peak)"));
  EXPECT_EQ(input_of(turned, "late", 0), "turned_again");
  EXPECT_EQ(input_of(turned, "turned_again", 0), "there_again");
  EXPECT_EQ(count_of(expect_sound_change(program()), "aten.permute.default"), 1U);
  const Graph later = expect_sound_change(
      program("  %mine = aten.mm(%turned, %peak)\n  %new = aten.permute(%there, [1, 0])\n", "aten.mm(%new, %mine)"));
  EXPECT_EQ(input_of(later, "new", 0), "there_again");
}

TEST(GatherAgain, from_the_first_that_depends_on_the_peak_all_take_the_second) {
  const Graph graph = expect_sound_change(
      program("  %mine = aten.mm(%there, %peak)\n  %other = aten.mm(%there, %w)\n", "aten.mm(%mine, %other)"));
  EXPECT_EQ(input_of(graph, "other", 0), "there_again");
}

TEST(GatherAgain, what_is_written_is_gathered_once) {
  expect_unchanged(program("  %write = aten.add_.Tensor(%x, %x)\n"));
  expect_unchanged(program("  %part = aten.slice.Tensor(%x, 0, 0, 1)\n  %write = aten.add_.Tensor(%part, %part)\n"));
  expect_unchanged(program("  %write = aten.add_.Tensor(%there, %w)\n"));
}

TEST(GatherAgain, what_is_written_before_it_is_gathered_is_gathered_again) {
  expect_sound_change(R"(graph @g(%w: f32[4,4], %v: f32[2,4]) {
  group @tp = ranks[0,1]
  %x = aten.relu(%v)
  %write = aten.add_.Tensor(%x, %v)
  %all = _c10d_functional.all_gather_into_tensor(%write, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %early = aten.mm(%there, %w)
  %peak = aten.relu(%w)
  %late = aten.mm(%there, %peak)
  return %early, %late
})");
}

TEST(GatherAgain, what_is_returned_or_used_on_one_side_only_is_left_alone) {
  expect_unchanged(program("", "aten.mm(%there, %peak)", "%early, %late, %there"));
  expect_unchanged(program("", "aten.mm(%there, %peak)", "%early, %late, %turned"));
  expect_unchanged(program("", "aten.mm(%w, %peak)"));
  expect_unchanged(R"(graph @g(%w: f32[4,4], %v: f32[2,4]) {
  group @tp = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%v, 2, @tp)
  %there = _c10d_functional.wait_tensor(%all)
  %peak = aten.relu(%w)
  %late = aten.mm(%there, %peak)
  %later = aten.mm(%there, %late)
  return %later
})");
}

TEST(GatherAgain, only_those_that_were_asked_for) {
  const Graph graph = graph_of(R"(graph @g(%w: f32[4,4], %v: f32[2,4]) {
  group @tp = ranks[0,1]
  %one = _c10d_functional.all_gather_into_tensor(%v, 2, @tp)
  %one_there = _c10d_functional.wait_tensor(%one)
  %x = aten.relu(%v)
  %two = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)
  %two_there = _c10d_functional.wait_tensor(%two)
  %early = aten.mm(%one_there, %two_there)
  %peak = aten.relu(%w)
  %late = aten.mm(%one_there, %peak)
  %later = aten.mm(%two_there, %late)
  return %early, %later
})");
  const auto [both, of_both] = run_with_second(graph);
  ASSERT_TRUE(both.graph);
  EXPECT_TRUE(same_values(graph, *both.graph));
  EXPECT_EQ(of_both, (std::vector{node_of(*both.graph, "one_again"), node_of(*both.graph, "two_again")}));
  const auto [second, of_second] = run_with_second(graph, {node_of(graph, "two")});
  ASSERT_TRUE(second.graph);
  EXPECT_EQ(of_second, std::vector{node_of(*second.graph, "two_again")});
  EXPECT_EQ(input_of(*second.graph, "late", 0), "one_there");
}

// A program may gather twice by itself: that is none of this pass's doing.
TEST(GatherAgain, what_was_gathered_twice_before_does_not_count) {
  const Graph graph =
      graph_of(program("  %mine = _c10d_functional.all_gather_into_tensor(%x, 2, @tp)\n"
                       "  %own = _c10d_functional.wait_tensor(%mine)\n",
                       "aten.mm(%there, %peak)", "%early, %late, %own"));
  const auto [changed, second] = run_with_second(graph);
  ASSERT_TRUE(changed.graph);
  EXPECT_EQ(second, std::vector{node_of(*changed.graph, "all_again")});
}

TEST(GatherAgain, the_second_takes_the_time_of_a_written_collective) {
  const Graph graph = graph_of(program());
  const CostModel cost((CostOptions()));
  const auto changed = gather_again(graph, {node_of(graph, "peak"), {}, &cost});
  ASSERT_TRUE(changed && changed->rewrite.graph);
  const Graph& twice = *changed->rewrite.graph;
  const Collective& collective = *graph.collective(node_of(graph, "all"));
  EXPECT_EQ(twice.node(node_of(twice, "all_again")).measured.picoseconds,
            cost.written_collective(collective.kind, graph.group(collective.group).ranks,
                                    collective.bytes_in + collective.bytes_out)
                .picoseconds);
}

}  // namespace
}  // namespace hocket
