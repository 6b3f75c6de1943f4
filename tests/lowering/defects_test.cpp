// Seeded defects: what lowering and planning could get wrong is noticed by the verifier or by running the program over terms.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "hocket/ir/verify.h"
#include "hocket/lower/lower.h"
#include "hocket/plan/plan.h"
#include "support/program_draft.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/terms.h"

namespace hocket {
namespace {

struct Sample {
  Graph graph;
  Lowered lowered;
  Program planned;
};

Sample sample(std::uint64_t seed) {
  Graph graph = random_graph(seed, {.coalesced = true, .in_place = true});
  Lowered lowered = *lower(graph, {.force = ReduceAlgorithm::pipelined});
  Program planned = plan(lowered.program, {.alignment = 16})->program;
  return {std::move(graph), std::move(lowered), std::move(planned)};
}

bool is_noticed(const Sample& sample, const ProgramDraft& draft) {
  const auto broken = draft.build();
  if (!broken || !verify(*broken).empty()) return true;
  const TermsRun expected = run_terms(sample.graph);
  const TermsRun found = run_terms(*broken);
  return !found.problems.empty() || found.results != expected.results || found.inputs != expected.inputs;
}

// Breaks a draft in one way; false where there is no place for it.
using Defect = std::function<bool(ProgramDraft&, const Sample&, Random&)>;

// How often a defect was there, and how often it was noticed.
void expect_noticed(const Defect& defect, int at_least_percent) {
  int made = 0;
  int noticed = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Sample one = sample(seed);
    ProgramDraft draft = ProgramDraft::of(one.planned);
    Random random(seed);
    if (!defect(draft, one, random)) continue;
    ++made;
    noticed += is_noticed(one, draft) ? 1 : 0;
  }
  EXPECT_GE(made, 20);
  EXPECT_GE(noticed * 100, made * at_least_percent) << noticed << " of " << made;
}

TEST(LoweringDefects, none_is_seen_where_there_is_none) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Sample one = sample(seed);
    EXPECT_FALSE(is_noticed(one, ProgramDraft::of(one.planned))) << seed;
  }
}

TEST(LoweringDefects, a_missing_copy_is_noticed) {
  expect_noticed(
      [](ProgramDraft& draft, const Sample& one, Random& random) {
        if (one.lowered.report.copies.empty()) return false;
        draft.erase(random.pick(one.lowered.report.copies).step);
        return true;
      },
      95);  // the value may be dead
}

TEST(LoweringDefects, a_missing_wait_is_always_noticed) {
  expect_noticed(
      [](ProgramDraft& draft, const Sample&, Random& random) {
        std::vector<StepId> waits;
        for (std::size_t i = 0; i < draft.steps.size(); ++i) {
          if (draft.steps[i].waits_for.valid()) waits.push_back(StepId(i));
        }
        if (waits.empty()) return false;
        draft.erase(random.pick(waits));
        return true;
      },
      100);
}

// Where two buffers share bytes at the same time, the verifier says so; the terms alone must, too, when they are both read.
TEST(LoweringDefects, a_buffer_at_the_place_of_another_that_is_live_is_always_noticed) {
  expect_noticed(
      [](ProgramDraft& draft, const Sample&, Random& random) {
        std::vector<std::size_t> placed;
        for (std::size_t i = 0; i < draft.buffers.size(); ++i) {
          const DraftBuffer& buffer = draft.buffers[i];
          if (buffer.home == Home::arena && buffer.placed_at > 0 && buffer.bytes.value() > 0) placed.push_back(i);
        }
        if (placed.empty()) return false;
        // All of the arena in one place: some of them are live together.
        const std::size_t kept = random.pick(placed);
        for (const std::size_t i : placed) {
          if (i != kept) draft.buffers[i].placed_at = draft.buffers[kept].placed_at;
        }
        return placed.size() > 8;
      },
      100);
}

TEST(LoweringDefects, a_wrong_offset_of_a_result_is_noticed) {
  expect_noticed(
      [](ProgramDraft& draft, const Sample&, Random&) {
        for (const OperandId result : draft.results) {
          DraftOperand& operand = draft.operands[result.index()];
          const Dim bytes = draft.buffers[operand.buffer.index()].bytes;
          const bool has_elements =
              std::none_of(operand.shape.begin(), operand.shape.end(), [](Dim size) { return size == Dim(0); });
          if (!has_elements || operand.offset == Dim(0) || bytes.value() == 0) continue;
          operand.offset = Dim(operand.offset.value() - 1);
          return true;
        }
        return false;
      },
      100);
}

}  // namespace
}  // namespace hocket
