// Random changes of buckets keep all members, and leave alone what cannot be merged.
#include "schedule/bucket_moves.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/ir/text.h"
#include "support/estimated_steps.h"

namespace hocket::overlap {
namespace {

// Four sums that have nothing to do with each other, and a chain of gathers that follow from each other.
constexpr const char* program_text = R"(graph @g(%x: f32[64]) {
  group @dp = ranks[0,1]
  %s0 = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
  %s1 = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
  %s2 = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
  %s3 = _c10d_functional.all_reduce(%x, "sum", @dp) {est=0.01ms}
  %g0 = _c10d_functional.all_gather_into_tensor(%x, 2, @dp) {est=0.01ms}
  %w0 = _c10d_functional.wait_tensor(%g0)
  %g1 = _c10d_functional.all_gather_into_tensor(%w0, 2, @dp) {est=0.01ms}
  %w1 = _c10d_functional.wait_tensor(%g1)
  %d0 = _c10d_functional.wait_tensor(%s0)
  %d1 = _c10d_functional.wait_tensor(%s1)
  %d2 = _c10d_functional.wait_tensor(%s2)
  %d3 = _c10d_functional.wait_tensor(%s3)
  return %w1, %d0, %d1, %d2, %d3
}
)";

TEST(BucketMoves, leave_alone_the_classes_whose_members_follow_from_each_other) {
  const auto graph = parse_graph(program_text, "test");
  ASSERT_TRUE(graph);
  const StepGraph steps = estimated_steps(*graph);
  OverlapOptions options;
  for (int i = 0; i < 2; ++i) options.classes.push_back({[](Bytes) { return Nanoseconds::from_picoseconds(1); }});
  std::vector<StepIndex> sums, gathers;
  for (const StepIndex collective : steps.collectives()) {
    const bool is_sum = steps.name(collective)[0] == 's';
    (is_sum ? sums : gathers).push_back(collective);
    options.candidates.push_back({collective, is_sum ? 0U : 1U, Bytes(1)});
  }
  const auto grouping = UnitGraph::grouping(steps, options);
  const UnitGraph units(steps, grouping, options, {});
  const ClassSizes classes(options, units);
  ASSERT_FALSE(classes.serial[0]);
  ASSERT_TRUE(classes.serial[1]);
  const BucketMoves moves(steps, grouping, classes, steps.original_order(), {{sums[0], sums[1]}});
  const std::vector<Stall> stalls = {{gathers[0], 1000}, {sums[2], 1}};
  Dice dice;
  bool changed = false;
  for (int i = 0; i < 200; ++i) {
    const Buckets buckets = moves.changed(stalls, dice);
    for (const auto& bucket : buckets) {
      EXPECT_GT(bucket.size(), 1U);
      for (const StepIndex member : bucket)
        EXPECT_NE(std::find(sums.begin(), sums.end(), member), sums.end()) << "a gather in a bucket";
    }
    changed = changed || buckets != Buckets{{sums[0], sums[1]}};
  }
  EXPECT_TRUE(changed);
}

}  // namespace
}  // namespace hocket::overlap
