#include "statistics.h"

#include <gtest/gtest.h>

#include "core_distance.h"

namespace hocket::comm_bench {
namespace {

Series series(Side side, std::string title, std::vector<std::vector<double>> rounds) {
  return {std::move(title), side, std::move(rounds), {}, {}};
}

TEST(Statistics, a_repetition_takes_as_long_as_its_slowest_rank) {
  EXPECT_EQ(slowest_of_ranks({{1, 5, 3}, {2, 4, 3}}), (std::vector<double>{2, 5, 3}));
}

TEST(Statistics, minimum_of_all_and_median_of_the_rounds_medians) {
  const Series one = series(Side::other, "x", {{1, 9, 10}, {4, 5, 6}, {7, 8, 30}});
  EXPECT_EQ(one.lowest(), 1);
  EXPECT_EQ(one.median(), 8);  // of 9, 5, 8
}

// The machine was ten times slower in the second round. Medians over all rounds would compare different rounds.
TEST(Statistics, a_ratio_pairs_what_was_measured_in_the_same_round) {
  const Series other = series(Side::other, "x", {{20}, {200}, {20}});
  const Series ours = series(Side::hocket, "hocket", {{10}, {100}, {100}});
  EXPECT_EQ(paired_ratio(other, ours).by_round, 2);
  EXPECT_EQ(paired_ratio(other, ours).of_minima, 2);
}

// In the first two rounds the cores were near for one of them only.
TEST(Statistics, a_ratio_leaves_out_rounds_in_which_the_cores_were_nearer_for_one) {
  Point point;
  point.series = {series(Side::hocket, "hocket", {{100}, {100}, {10}}), series(Side::other, "x", {{20}, {20}, {30}})};
  EXPECT_EQ(point.fair_rounds(), 3U) << "nobody has looked";
  point.series[0].round_trips_ns = {500, 480, 100};
  point.series[1].round_trips_ns = {100, 100, 110};
  EXPECT_EQ(point.fair_rounds(), 1U);
  EXPECT_EQ(best_other_over(point, Side::hocket)->by_round, 3);
  point.series[1].round_trips_ns = {100, 100, 500};
  EXPECT_EQ(point.fair_rounds(), 0U);
  EXPECT_EQ(best_other_over(point, Side::hocket)->by_round, 0.2) << "there are no others";
}

TEST(CoreDistance, is_told_and_compared) {
  const double ns = core_round_trip_ns();
  EXPECT_GE(ns, 0);
  EXPECT_LT(ns, 1e6);
  EXPECT_TRUE(is_same_distance(100, 150));
  EXPECT_FALSE(is_same_distance(500, 100));
  EXPECT_TRUE(is_same_distance(0, 100)) << "one core only";
}

TEST(Statistics, the_best_other_has_the_lowest_median) {
  Point point;
  point.series = {series(Side::hocket, "hocket", {{10}, {10}, {10}}),
                  series(Side::other, "lucky once", {{1}, {90}, {90}}),
                  series(Side::other, "steady", {{30}, {30}, {30}}), series(Side::floor, "floor", {{1}, {1}, {1}})};
  const auto ratio = best_other_over(point, Side::hocket);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->other, "steady");
  EXPECT_EQ(ratio->by_round, 3);
}

TEST(Statistics, there_is_no_ratio_without_both_sides) {
  Point point;
  point.series = {series(Side::hocket, "hocket", {{10}})};
  EXPECT_FALSE(best_other_over(point, Side::hocket));
  point.series.push_back(series(Side::other, "gone", {{10}}));
  point.series.back().absent = "it died";
  EXPECT_FALSE(best_other_over(point, Side::hocket));
  EXPECT_FALSE(best_other_over(point, Side::hocket_symmetric));
}

}  // namespace
}  // namespace hocket::comm_bench
