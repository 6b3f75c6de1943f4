#include "lower/algorithm.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

Group ranks(std::initializer_list<int> numbers) {
  Group group{"g", {}};
  for (const int number : numbers) group.ranks.push_back(Rank{number});
  return group;
}

struct Choose {
  std::vector<Dim> shape = {64};
  std::string_view reduce = "sum";
  Group group = ranks({0, 1});
  LowerOptions options = {.one_shot_limit = Bytes(256), .two_shot_limit = Bytes(512)};

  AlgorithmChoice operator()() const { return choose_algorithm({Dtype::f32, shape, {}, 0}, reduce, group, options); }
};

TEST(ChooseAlgorithm, goes_by_bytes_with_the_limits_included) {
  EXPECT_EQ(Choose{.shape = {64}}().algorithm, ReduceAlgorithm::one_shot);
  EXPECT_EQ(Choose{.shape = {65}}().algorithm, ReduceAlgorithm::two_shot);
  EXPECT_EQ(Choose{.shape = {128}}().algorithm, ReduceAlgorithm::two_shot);
  EXPECT_EQ(Choose{.shape = {129}}().algorithm, ReduceAlgorithm::pipelined);
  EXPECT_EQ(Choose{.shape = {129}}().reason, AlgorithmReason::large);
}

TEST(ChooseAlgorithm, takes_names_of_sums_in_any_case_and_nothing_else) {
  EXPECT_EQ(Choose{.reduce = "Sum"}().algorithm, ReduceAlgorithm::one_shot);
  for (const std::string_view other : {"avg", "su", "sums", "", "premul_sum"})
    EXPECT_EQ(Choose{.reduce = other}().reason, AlgorithmReason::not_a_sum) << other;
}

TEST(ChooseAlgorithm, knows_which_ranks_share_a_host) {
  Choose choose;
  choose.options.ranks_per_host = 4;
  for (const auto& [group, reachable] : {std::pair(ranks({4, 5, 6, 7}), true), std::pair(ranks({0, 3}), true),
                                         std::pair(ranks({3, 4}), false), std::pair(ranks({0, 8}), false)}) {
    choose.group = group;
    EXPECT_EQ(choose().reason, reachable ? AlgorithmReason::small : AlgorithmReason::spans_hosts);
  }
}

TEST(ChooseAlgorithm, obeys_but_not_against_what_is_possible) {
  Choose choose;
  choose.options.force = ReduceAlgorithm::pipelined;
  EXPECT_EQ(choose().reason, AlgorithmReason::forced);
  choose.options.force = ReduceAlgorithm::one_shot;
  choose.shape = {1 << 20};
  EXPECT_EQ(choose().algorithm, ReduceAlgorithm::one_shot);
  choose.shape = {Dim::symbolic(0)};
  EXPECT_EQ(choose().reason, AlgorithmReason::symbolic_size);
  choose.shape = {4};
  choose.options.symmetric = false;
  EXPECT_EQ(choose().reason, AlgorithmReason::not_communicable);
}

}  // namespace
}  // namespace hocket
