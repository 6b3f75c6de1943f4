#include "comm/calibrate.h"

#include <gtest/gtest.h>

#include "comm/calibrate_choice.h"
#include "comm/calibrate_ranks.h"

namespace hocket {
namespace {

const std::vector<std::int64_t> sizes = {10, 20, 30, 40};

TEST(Calibrate, median_is_the_middle_or_the_mean_of_the_two_in_the_middle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 100, 2}), 3);
}

TEST(Calibrate, threshold_stays_where_nothing_gains_five_percent) {
  EXPECT_EQ(choose_split(std::vector<double>{0.96, 1.04, 0.97, 1.05}, 2), 2U);
}

TEST(Calibrate, threshold_moves_up_as_long_as_every_size_gains) {
  EXPECT_EQ(choose_split(std::vector<double>{1.0, 1.0, 1.2, 1.01}, 2), 3U);
  EXPECT_EQ(choose_split(std::vector<double>{1.0, 1.0, 1.2, 2.0}, 2), 4U);
  EXPECT_EQ(choose_split(std::vector<double>{1.0, 1.0, 1.0, 2.0}, 2), 2U) << "not across a size that loses nothing";
}

TEST(Calibrate, threshold_moves_down_as_long_as_every_size_gains) {
  EXPECT_EQ(choose_split(std::vector<double>{0.5, 0.9, 0.5, 0.5}, 2), 0U);
  EXPECT_EQ(choose_split(std::vector<double>{0.99, 0.9, 0.5, 0.5}, 2), 1U);
}

TEST(Calibrate, thresholds_and_splits_are_the_same_thing) {
  EXPECT_EQ(split_until(sizes, 20), 2U);
  EXPECT_EQ(split_until(sizes, Tuning::always), 4U);
  EXPECT_EQ(split_from(sizes, 20), 1U);
  EXPECT_EQ(threshold_until(sizes, 2, 25), 25) << "the default itself, not a size near it";
  EXPECT_EQ(threshold_until(sizes, 3, 25), 30);
  EXPECT_EQ(threshold_until(sizes, 0, 25), 0);
  EXPECT_EQ(threshold_from(sizes, 2, 30), 30);
  EXPECT_EQ(threshold_from(sizes, 1, 30), 20);
  EXPECT_EQ(threshold_from(sizes, 4, 30), Tuning::always);
}

TEST(Calibrate, runs_every_kind_of_trial) {
  auto ranks = CalibrationRanks::start(3);
  ASSERT_TRUE(ranks) << ranks.error().message;
  for (const Operator op : {Operator::all_reduce, Operator::all_gather, Operator::broadcast, Operator::all_to_all,
                            Operator::reduce_scatter}) {
    for (const bool symmetric : {false, true}) {
      Trial trial;
      trial.op = op;
      trial.bytes = 96 * 1024;
      trial.in_symmetric_memory = symmetric && op != Operator::all_reduce;
      trial.fills = symmetric;
      trial.repeats = 3;
      const Result<double> seconds = (*ranks)->time(trial);
      ASSERT_TRUE(seconds) << seconds.error().message;
      EXPECT_GT(*seconds, 0);
    }
  }
}

TEST(Calibrate, says_something_about_every_threshold) {
  int steps = 0;
  const Result<Calibration> found = calibrate(2, {0.05, [&] { ++steps; }});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(steps, calibration_steps);
  ASSERT_EQ(found->choices.size(), 8U);
  for (const TunedChoice& choice : found->choices) {
    EXPECT_FALSE(choice.why.empty()) << choice.name;
    const bool gains = choice.ratio < 1 - least_gain;
    EXPECT_EQ(gains, choice.before != choice.after) << choice.name << " " << choice.ratio;
  }
  EXPECT_EQ(calibrate(1, {}).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace hocket
