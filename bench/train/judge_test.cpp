#include "judge.h"

#include <gmock/gmock.h>

namespace hocket::train_bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Milliseconds by title, of a model that computes for 100 ms and communicates for 80.
Race race(std::map<std::string, double> others, const std::string& setting = "link") {
  others.insert({{"hocket alone", 100}, {"hocket communication", 80}, {"hocket blocking", 180}});
  Race made{setting, "mlp", {}};
  for (const auto& [title, ms] : others) made.lanes[title].ms = {ms};
  return made;
}

TEST(TrainJudge, is_content_where_all_goals_are_met) {
  EXPECT_THAT(misses(race({{"hocket compiled", 120},
                           {"hocket compiled_across", 105},
                           {"hocket compiled_fsdp", 150},
                           {"PyTorch ddp", 140},
                           {"PyTorch fsdp", 200}}),
                     {}),
              IsEmpty());
}

TEST(TrainJudge, asks_for_more_where_communication_is_a_large_part) {
  EXPECT_THAT(misses(race({{"hocket compiled_across", 108}, {"PyTorch ddp", 120}}), {}),
              ElementsAre(AllOf(
                  HasSubstr("link mlp: hocket compiled_across is 1.11 times as fast as PyTorch ddp, asked for 1.30"),
                  HasSubstr("max(compute, communication) would be 1.20 times as fast"))));
  EXPECT_THAT(misses(race({{"hocket compiled_across", 108}, {"hocket compiled", 104}, {"PyTorch ddp", 136}}), {}),
              IsEmpty())
      << "the faster one counts";
  Race little = race({{"hocket compiled_across", 108}, {"PyTorch ddp", 120}});
  little.lanes["hocket blocking"].ms = {140};
  EXPECT_THAT(misses(little, {}), IsEmpty());
}

TEST(TrainJudge, wants_no_step_slower_than_blocking_collectives) {
  EXPECT_THAT(misses(race({{"hocket compiled", 190}}, "host"), {}),
              ElementsAre(HasSubstr("0.95 times as fast as hocket blocking")));
}

TEST(TrainJudge, compares_with_the_larger_of_compute_and_communication_over_the_link) {
  EXPECT_THAT(misses(race({{"hocket compiled_across", 115}}), {}),
              ElementsAre(HasSubstr("takes 1.15 of max(compute, communication)")));
  EXPECT_THAT(misses(race({{"hocket compiled_across", 115}}, "host"), {}), IsEmpty());
}

TEST(TrainJudge, says_what_a_plain_socket_would_leave_to_compute) {
  Race bound = race({{"hocket compiled_across", 125}, {"hocket streaming", 117}});
  bound.lanes["hocket streaming"].loss = 7;  // it trains without the other's gradients, like `alone`
  EXPECT_THAT(misses(bound, {}),
              ElementsAre(HasSubstr("takes 1.25 of max(compute, communication), asked for 1.10; "
                                    "computing beside a plain socket that moves as many bytes takes 1.17")));
}

TEST(TrainJudge, says_what_else_binds_a_step_over_the_link) {
  Race bound = race({{"hocket compiled", 145}});
  bound.lanes["hocket compiled"].first_ms = 40;
  bound.lanes["hocket compiled"].computing_ms = 112;
  EXPECT_THAT(
      misses(bound, {}),
      ElementsAre(HasSubstr("(its first gradient is there after 40 ms, and all take 80 ms; beside that it computes "
                            "for 112 ms, alone for 100)")));
}

TEST(TrainJudge, checks_what_was_claimed) {
  Race claims = race({{"hocket compiled", 100}}, "host");
  Figures& compiled = claims.lanes["hocket compiled"];
  compiled.predicted_ms = 84;
  compiled.planned_bytes = 1 << 20;
  compiled.grown_bytes = 1.06 * (1 << 20);
  EXPECT_THAT(misses(claims, {}), ElementsAre(HasSubstr("predicted to take 84.0 ms and takes 100.0"),
                                              HasSubstr("planned 1.00 MiB and the process grew by 1.06 MiB")));
}

TEST(TrainJudge, wants_the_same_loss_of_all_that_train_the_same) {
  Race losses = race({{"PyTorch ddp", 160}, {"hocket compiled", 120}}, "host");
  for (auto& [title, figures] : losses.lanes) figures.loss = 2;
  losses.lanes["hocket alone"].loss = 7;
  EXPECT_THAT(misses(losses, {}), IsEmpty());
  losses.lanes["hocket compiled"].loss = 2.01;
  EXPECT_THAT(misses(losses, {}), ElementsAre(HasSubstr("hocket compiled has the loss 2.010000")));
}

TEST(TrainJudge, counts_what_is_absent) {
  Race missing = race({});
  missing.lanes["PyTorch ddp"].absent = "no Python";
  EXPECT_THAT(misses(missing, {}), ElementsAre(HasSubstr("PyTorch ddp was not measured: no Python")));
}

}  // namespace
}  // namespace hocket::train_bench
