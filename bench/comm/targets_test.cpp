#include "targets.h"

#include <gmock/gmock.h>

namespace hocket::comm_bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Point point(Operator op, std::int64_t bytes, bool fill, double ours, double other) {
  const Side side = fill ? Side::hocket_symmetric : Side::hocket;
  return {"pinned", 2, op, bytes, fill, {{"hocket", side, {{ours}}, {}}, {"Open MPI", Side::other, {{other}}, {}}}};
}

TEST(Targets, a_point_that_is_slower_than_the_best_is_a_miss) {
  const std::vector<Point> points = {point(Operator::broadcast, 8, false, 10, 9),
                                     point(Operator::broadcast, 64, false, 1, 9),
                                     point(Operator::barrier, 0, false, 1, 9)};
  EXPECT_THAT(misses(points, {}), ElementsAre(AllOf(HasSubstr("broadcast 8 B"), HasSubstr("0.90 times as fast"))));
}

TEST(Targets, more_than_half_of_the_points_must_be_clearly_faster) {
  std::vector<Point> points = {point(Operator::barrier, 0, false, 1, 2), point(Operator::all_gather, 8, false, 1, 1.2)};
  EXPECT_THAT(misses(points, {}), ElementsAre(HasSubstr("1 of 2 points are at least 1.5")));
  points.push_back(point(Operator::all_gather, 64, false, 1, 1.5));
  EXPECT_THAT(misses(points, {}), IsEmpty());
}

TEST(Targets, with_the_input_filled_symmetric_buffers_must_be_twice_as_fast) {
  const std::int64_t large = 256 << 10;
  EXPECT_THAT(misses({point(Operator::all_to_all, large, true, 1, 1.9)}, {}), ElementsAre(HasSubstr("input filled")));
  EXPECT_THAT(misses({point(Operator::all_to_all, large, true, 1, 2)}, {}), IsEmpty());
  EXPECT_THAT(misses({point(Operator::all_to_all, 8, true, 1, 1)}, {}), IsEmpty());
}

TEST(Targets, a_miss_tells_what_memory_would_allow) {
  Point gather = point(Operator::all_gather, 1 << 20, true, 12, 18);
  gather.series.push_back({"memory floor", Side::floor, {{10}}, {}});
  EXPECT_THAT(misses({gather}, {}),
              ElementsAre(AllOf(HasSubstr("1.50 times as fast as Open MPI"), HasSubstr("memory floor: 1.80 times"),
                                HasSubstr("hocket takes 1.20 times the floor"))));
}

TEST(Targets, the_large_sum_has_its_own) {
  Point sum = point(Operator::all_reduce, 64 << 20, false, 10, 39);
  EXPECT_THAT(misses({sum}, {}), ElementsAre(HasSubstr("expected at least 4")));
  sum.series[1].rounds = {{41}};
  sum.series.push_back({"hocket symmetric", Side::hocket_symmetric, {{16}}, {}});
  sum.series.push_back({"memory floor", Side::floor, {{10}}, {}});
  EXPECT_THAT(misses({sum}, {}), ElementsAre(HasSubstr("1.60 times the memory floor, expected at most 1.5")));
  sum.series.back().rounds = {{12}};
  EXPECT_THAT(misses({sum}, {}), IsEmpty());
}

TEST(Targets, a_point_without_a_comparison_shows_nothing_and_is_a_miss) {
  Point alone = point(Operator::barrier, 0, false, 1, 2);
  alone.series.pop_back();
  EXPECT_THAT(misses({alone}, {}), ElementsAre(HasSubstr("nothing to compare")));
}

}  // namespace
}  // namespace hocket::comm_bench
