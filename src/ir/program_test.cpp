#include "hocket/ir/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "hocket/ir/text.h"
#include "support/program_draft.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::string_view example = R"(
program @step {
  group @dp = ranks[0,1]
  group @tp = ranks[0,2]
  buffer %x = input bytes 64
  buffer %y = symmetric @dp bytes 64 at 0
  buffer %z = arena bytes 128 at 64
  step "copy" = aten.clone(%x f32[4,4]) writes (%y f32[4,4]) {est=0.001ms, flops=1, read=2, written=3}
  step "sum" = _c10d_functional.all_reduce_(%y f32[4,4], "sum", @dp) writes (%y f32[4,4])
  step "wait" = _c10d_functional.wait_tensor(%y f32[4,4]) writes () {waits_for="sum"}
  step "mm" = aten.mm(%y f32[4,4], %x f32[4,4]) writes (%z f32[4,4] offset 16) {gemm}
  step "size" = aten.sym_size.int(%z f32[4,4] offset 16, 0, key=1.5) writes () {int=4}
  return (%z f32[4,4] offset 16)
})";

Program example_program() {
  auto program = parse_program(example, "example");
  EXPECT_TRUE(program) << program.error().to_string();
  return std::move(*program);
}

TEST(Program, answers_what_was_said) {
  const Program program = example_program();
  EXPECT_EQ(program.name(), "step");
  EXPECT_EQ(program.size(), 5U);
  ASSERT_EQ(program.buffers().size(), 3U);
  EXPECT_EQ(program.name(BufferId(1)), "y");
  EXPECT_EQ(program.buffer(BufferId(1)).home, Home::symmetric);
  EXPECT_EQ(program.group(program.buffer(BufferId(1)).group).name, "dp");
  EXPECT_EQ(program.buffer(BufferId(2)).placed_at, 64);
  EXPECT_EQ(program.buffer(BufferId(0)).placed_at, -1);
  EXPECT_EQ(program.name(StepId(3)), "mm");
  EXPECT_EQ(program.op_name(StepId(3)), "aten.mm.default");
  EXPECT_EQ(program.reads(StepId(3)).size(), 2U);
  ASSERT_EQ(program.writes(StepId(3)).size(), 1U);
  EXPECT_EQ(program.type(program.writes(StepId(3))[0]).offset, Dim(16));
  EXPECT_EQ(program.estimate(StepId(0)), Nanoseconds::from_ms(0.001));
  EXPECT_FALSE(program.estimate(StepId(3)));
  EXPECT_EQ(program.step(StepId(2)).waits_for, StepId(1));
  EXPECT_FALSE(program.step(StepId(1)).waits_for.valid());
  EXPECT_EQ(program.results().size(), 1U);
}

TEST(Program, fills_in_a_collective_from_the_operators_row) {
  const Program program = example_program();
  const Collective* collective = program.collective(StepId(1));
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(collective->kind, CollectiveKind::all_reduce);
  EXPECT_EQ(collective->bytes_in, Bytes(64));
  EXPECT_EQ(collective->bytes_out, Bytes(64));
  EXPECT_EQ(program.collective(StepId(0)), nullptr);
}

TEST(ProgramBuilder, does_not_count_an_out_argument_as_read) {
  const auto program = parse_program(R"(
    program @p {
      group @dp = ranks[0,1]
      buffer %x = input bytes 16
      buffer %o = arena bytes 32
      step "gather" = _c10d_functional.all_gather_into_tensor_out(%x f32[4], 2, @dp, out=%o f32[8]) writes (%o f32[8])
      step "wait" = _c10d_functional.wait_tensor(%o f32[8]) writes () {waits_for="gather"}
      return (%o f32[8])
    })",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_EQ(program->reads(StepId(0)).size(), 1U);
  EXPECT_EQ(program->collective(StepId(0))->bytes_in, Bytes(16));
  EXPECT_EQ(program->collective(StepId(0))->bytes_out, Bytes(32));
}

TEST(ProgramBuilder, refuses_what_does_not_exist) {
  ProgramBuilder waiting("p");
  StepSpec step;
  step.name = "wait";
  step.op = "_c10d_functional.wait_tensor.default";
  step.waits_for = StepId(7);
  waiting.step(step);
  const auto program = waiting.finish();
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("step wait waits for a step that does not exist"));

  ProgramBuilder lost("p");
  const std::vector<Dim> shape = {4};
  ASSERT_TRUE(lost.operand(BufferId(3), Dtype::f32, shape));
  EXPECT_FALSE(lost.finish());
}

TEST(ProgramBuilder, refuses_strides_that_are_not_as_many_as_the_sizes) {
  ProgramBuilder builder("p");
  const BufferId buffer = builder.buffer("x", Home::input, 16);
  const std::vector<Dim> shape = {2, 2};
  const std::vector<Dim> strides = {1};
  EXPECT_THAT(builder.operand(buffer, Dtype::f32, shape, Dims(strides)).error().message,
              HasSubstr("2 sizes but 1 strides"));
}

TEST(Home, is_found_by_its_name) {
  for (const Home home : {Home::input, Home::constant, Home::arena, Home::symmetric})
    EXPECT_EQ(home_from_name(name_of(home)), home);
  EXPECT_FALSE(home_from_name("heap"));
}

// ---------------------------------------------------------------- equality and digest

TEST(ProgramDigest, is_the_same_on_every_machine) {
  EXPECT_EQ(example_program().digest().to_string(), "a09cea7a493e42b12813c3ee3e2650b1");
}

struct Change {
  const char* what;
  std::function<void(ProgramDraft&)> apply;
};

std::vector<Change> changes() {
  return {
      {"name", [](ProgramDraft& d) { d.name = "other"; }},
      {"ranks", [](ProgramDraft& d) { d.groups[0].ranks.pop_back(); }},
      {"name of a group", [](ProgramDraft& d) { d.groups[0].name = "pp"; }},
      {"name of a buffer", [](ProgramDraft& d) { d.buffers[0].name = "other"; }},
      {"home", [](ProgramDraft& d) { d.buffers[0].home = Home::constant; }},
      {"group of a buffer", [](ProgramDraft& d) { d.buffers[1].group = GroupId(1); }},
      {"device", [](ProgramDraft& d) { d.buffers[0].device = "cuda:0"; }},
      {"bytes of a buffer", [](ProgramDraft& d) { d.buffers[0].bytes = 65; }},
      {"place of a buffer", [](ProgramDraft& d) { d.buffers[2].placed_at = 128; }},
      {"no place of a buffer", [](ProgramDraft& d) { d.buffers[2].placed_at = -1; }},
      {"one more buffer", [](ProgramDraft& d) { d.buffers.push_back(d.buffers[0]); }},
      {"name of a step", [](ProgramDraft& d) { d.steps[0].name = "other"; }},
      {"operator", [](ProgramDraft& d) { d.steps[0].op = "aten.relu.default"; }},
      {"an argument", [](ProgramDraft& d) { d.steps[4].args[1] = Arg::integer(1); }},
      {"a keyword", [](ProgramDraft& d) { d.steps[4].keywords[0].value = Arg::real(2.5); }},
      {"what is read", [](ProgramDraft& d) { d.steps[3].reads.pop_back(); }},
      {"what is written", [](ProgramDraft& d) { d.steps[2].writes = d.steps[2].reads; }},
      {"dtype of an operand", [](ProgramDraft& d) { d.operands[0].dtype = Dtype::i32; }},
      {"shape of an operand", [](ProgramDraft& d) { d.operands[0].shape[0] = 3; }},
      {"stride of an operand", [](ProgramDraft& d) { d.operands[0].strides[0] = 5; }},
      {"offset of an operand", [](ProgramDraft& d) { d.operands[0].offset = 1; }},
      {"buffer of an operand", [](ProgramDraft& d) { d.operands[0].buffer = BufferId(2); }},
      {"waits_for", [](ProgramDraft& d) { d.steps[2].waits_for = StepId::none(); }},
      {"no collective", [](ProgramDraft& d) { d.steps[1].collective.reset(); }},
      {"kind of a collective", [](ProgramDraft& d) { d.steps[1].collective->kind = CollectiveKind::p2p; }},
      {"group of a collective", [](ProgramDraft& d) { d.steps[1].collective->group = GroupId(1); }},
      {"bytes of a collective", [](ProgramDraft& d) { d.steps[1].collective->bytes_out = Bytes(1); }},
      {"gemm", [](ProgramDraft& d) { d.steps[3].gemm = false; }},
      {"integer", [](ProgramDraft& d) { d.steps[4].integer = 5; }},
      {"no integer", [](ProgramDraft& d) { d.steps[4].integer.reset(); }},
      {"estimate", [](ProgramDraft& d) { ++d.steps[0].measured.picoseconds; }},
      {"flops", [](ProgramDraft& d) { ++d.steps[0].measured.flops; }},
      {"bytes read", [](ProgramDraft& d) { ++d.steps[0].measured.read; }},
      {"bytes written", [](ProgramDraft& d) { ++d.steps[0].measured.written; }},
      {"results", [](ProgramDraft& d) { d.results.clear(); }},
      {"one step less", [](ProgramDraft& d) { d.steps.pop_back(); }},
      {"order of steps", [](ProgramDraft& d) { std::swap(d.steps[0], d.steps[3]); }},
  };
}

TEST(ProgramEquality, sees_a_change_of_anything_that_a_program_says) {
  const Program program = example_program();
  std::set<Digest> digests = {program.digest()};
  for (const Change& change : changes()) {
    ProgramDraft draft = ProgramDraft::of(program);
    change.apply(draft);
    const auto changed = draft.build();
    ASSERT_TRUE(changed) << change.what << ": " << changed.error().to_string();
    EXPECT_FALSE(*changed == program) << change.what;
    EXPECT_TRUE(digests.insert(changed->digest()).second) << change.what << ": the digest is that of another program";
  }
}

TEST(RandomProgram, is_the_same_for_the_same_seed) {
  std::set<Digest> digests;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(random_program(seed).digest(), random_program(seed).digest());
    digests.insert(random_program(seed).digest());
  }
  EXPECT_EQ(digests.size(), 200U);
}

}  // namespace
}  // namespace hocket
