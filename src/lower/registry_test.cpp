#include "hocket/lower/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/lower/emitter.h"
#include "hocket/lower/lower.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// y = mylib.scale(x, factor): an operator of a user's own, made of one that every executor has.
Status lower_scale(Emitter& emit, NodeId node) {
  const OperandId result = emit.operand(node);
  emit.step(node, "aten.mul.Tensor", emit.arguments(node), {}, {&result, 1});
  return {};
}

// An all-reduce of a user's own, blocking, on a buffer in symmetric memory.
Status lower_by_own_kernel(Emitter& emit, NodeId node) {
  const Graph& graph = emit.graph();
  const OperandId value = emit.operand(graph.inputs(node)[0]);
  const GroupId group = graph.collective(node)->group;
  if (emit.realize(value, group)) return fail(ErrorKind::usage, "the kernel needs symmetric memory");
  const OperandId result = emit.operand(node);
  const StepId step =
      emit.step(node, "symm_mem.multimem_one_shot_all_reduce.default", emit.arguments(node), {}, {&result, 1});
  emit.communicates(node, step, {});
  return {};
}

Graph parsed(std::string_view text, const OpTable& table = OpTable::builtin()) {
  auto graph = parse_graph(text, "test", table);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

// A number that an operator gives whose effects nobody knows: it may do anything else besides, whatever the capture says of the number.
TEST(Lower, keeps_the_step_of_an_opaque_operator_that_gives_a_number) {
  for (const bool opaque : {false, true}) {
    OpTable table = OpTable::builtin();
    OpSpec row;
    row.name = "mylib.count.default";
    row.effects.opaque = opaque;
    row.metadata_only = true;
    table.add(row);
    const Graph graph = parsed(R"(graph @g(%x: f32[4,4]) {
  %n = mylib.count(%x) : int = 4
  %y = aten.full([%n], 0.0) : f32[4]
  return %y
})",
                               table);
    const auto lowered = lower(graph);
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    EXPECT_EQ(lowered->program.size(), opaque ? 2U : 1U) << print(lowered->program);
  }
}

TEST(Lower, a_number_of_a_list_follows_from_sizes_only_if_all_are_known) {
  OpTable table = OpTable::builtin();
  OpSpec row;
  row.name = "mylib.count.default";
  row.metadata_only = true;
  table.add(row);
  for (const bool known : {false, true}) {
    const Graph graph = parsed(fmt::format(R"(graph @g(%x: f32[s0]) {{
  %parts = mylib.parts(%x) : (f32[2], f32[{}])
  %n = mylib.count(%parts) : int = 4
  %y = aten.full([%n], 0.0) : f32[4]
  return %y
}})",
                                           known ? "2" : "s0"),
                               table);
    const auto lowered = lower(graph);
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    EXPECT_EQ(lowered->program.size(), known ? 2U : 3U) << print(lowered->program);
  }
}

TEST(LoweringRegistry, lowers_a_users_operator) {
  OpTable table = OpTable::builtin();
  OpSpec row;
  row.name = "mylib.scale.default";
  table.add(row);
  const Graph graph = parsed("graph @g(%x: f32[4]) {\n  %y = mylib.scale(%x, 2.0) : f32[4]\n  return %y\n}", table);
  LoweringRegistry registry = LoweringRegistry::builtin();
  registry.set({"mylib.scale.default", "as a product", lower_scale});
  const auto lowered = lower(graph, {}, registry);
  ASSERT_TRUE(lowered) << lowered.error().to_string();
  EXPECT_TRUE(verify(lowered->program).empty());
  EXPECT_THAT(print(lowered->program), HasSubstr("step \"y\" = aten.mul.Tensor(%x f32[4], 2.0)"));
  EXPECT_THAT(print(lower(graph)->program), HasSubstr("step \"y\" = mylib.scale(%x f32[4], 2.0)"));
}

constexpr std::string_view sum = R"(
graph @g(%x: f32[4]) {
  group @dp = ranks[0,1]
  %a = aten.relu(%x)
  %sum = _c10d_functional.all_reduce(%a, "sum", @dp)
  %w = _c10d_functional.wait_tensor(%sum)
  return %w
})";

TEST(LoweringRegistry, replaces_a_built_in_lowering) {
  const Graph graph = parsed(sum);
  LoweringRegistry registry = LoweringRegistry::builtin();
  registry.set({"_c10d_functional.all_reduce.default", "my kernel", lower_by_own_kernel});
  const auto lowered = lower(graph, {}, registry);
  ASSERT_TRUE(lowered) << lowered.error().to_string();
  EXPECT_TRUE(verify(lowered->program).empty());
  EXPECT_THAT(print(lowered->program), HasSubstr("step \"sum\" = symm_mem.multimem_one_shot_all_reduce(%a f32[4]"));
  ASSERT_EQ(lowered->report.dropped_waits.size(), 1U);
  EXPECT_EQ(lowered->report.dropped_waits[0].reason, DroppedWaitReason::blocking);
}

TEST(LoweringRegistry, says_which_node_a_lowering_failed_for) {
  const Graph graph = parsed(sum);
  LoweringRegistry registry = LoweringRegistry::builtin();
  registry.set({"_c10d_functional.all_reduce.default", "my kernel", lower_by_own_kernel});
  const auto lowered = lower(graph, {.symmetric = false}, registry);
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().to_string(), "node sum: the kernel needs symmetric memory");
}

TEST(LoweringRegistry, has_a_row_for_every_collective_of_the_operator_table_that_moves_whole_tensors) {
  const LoweringRegistry& registry = LoweringRegistry::builtin();
  for (const OpSpec& row : OpTable::builtin().rows()) {
    const bool functional = row.name.starts_with("_c10d_functional") || row.name.starts_with("_dtensor");
    if (!functional || !row.effects.comm || row.effects.comm->kind == CollectiveKind::p2p) continue;
    EXPECT_NE(registry.find(row.name), nullptr) << row.name;
  }
}

TEST(LoweringRegistry, names_only_operators_that_exist) {
  for (const auto& [op, lowering] : LoweringRegistry::builtin().rows()) {
    EXPECT_NE(OpTable::builtin().find(op), nullptr) << op;
    EXPECT_FALSE(lowering.summary.empty());
  }
}

}  // namespace
}  // namespace hocket
