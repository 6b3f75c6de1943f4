#include "hocket/cost/agree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "hocket/cost/local_ranks.h"
#include "support/random.h"

namespace hocket {
namespace {

using Times = std::vector<Nanoseconds>;

Times times(const std::vector<std::int64_t>& picoseconds) {
  Times list;
  for (const std::int64_t ps : picoseconds) list.push_back(Nanoseconds::from_picoseconds(ps));
  return list;
}

// What a function gives on every rank, each in a thread of its own.
template <class T>
std::vector<T> on_all_ranks(std::size_t ranks, const std::function<T(std::size_t, AllGather&)>& function) {
  LocalRanks all(static_cast<std::int64_t>(ranks));
  std::vector<std::optional<T>> results(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { results[rank] = function(rank, all.rank(static_cast<std::int64_t>(rank))); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<T> given;
  for (auto& result : results) given.push_back(std::move(*result));
  return given;
}

std::vector<Result<Times>> aligned(const std::vector<Times>& of_ranks) {
  return on_all_ranks<Result<Times>>(
      of_ranks.size(), [&](std::size_t rank, AllGather& all) { return align_estimates(of_ranks[rank], all); });
}

TEST(AlignEstimates, gives_the_median_of_each_step_on_every_rank) {
  const std::vector<std::vector<std::int64_t>> first_step = {{7}, {9, 3}, {9, 3, 5}, {9, 3, 5, 1}, {2, 2, 8, 8, 5}};
  const std::vector<std::int64_t> median = {7, 3, 5, 3, 5};  // of an even number the lower one
  for (std::size_t i = 0; i < first_step.size(); ++i) {
    std::vector<Times> of_ranks;
    for (const std::int64_t ps : first_step[i]) of_ranks.push_back(times({ps, 100}));
    for (const auto& result : aligned(of_ranks)) EXPECT_EQ(result, times({median[i], 100})) << i;
  }
}

TEST(AlignEstimates, equals_a_sort_of_every_column) {
  Random random(3);
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    const std::size_t steps = 2500;  // several slices
    std::vector<Times> of_ranks(ranks);
    for (Times& mine : of_ranks) {
      for (std::size_t i = 0; i < steps; ++i) mine.push_back(Nanoseconds::from_picoseconds(random.between(0, 50)));
    }
    Times expected;
    for (std::size_t i = 0; i < steps; ++i) {
      Times column;
      for (const Times& mine : of_ranks) column.push_back(mine[i]);
      std::sort(column.begin(), column.end());
      expected.push_back(column[(ranks - 1) / 2]);
    }
    for (const auto& result : aligned(of_ranks)) EXPECT_EQ(result, expected);
  }
}

TEST(AlignEstimates, of_no_steps_is_nothing) {
  for (const auto& result : aligned({{}, {}})) EXPECT_EQ(result, Times());
}

TEST(AlignEstimates, different_numbers_of_steps_are_an_error_on_every_rank_that_names_them) {
  const auto results = aligned({times({1, 2}), times({1, 2, 3}), times({1, 2}), times({1, 2}), times({1, 2, 3})});
  for (const auto& result : results) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::peer);
    EXPECT_EQ(
        result.error().message,
        "ranks have different numbers of steps: ranks 0, 2, 3 have 2, ranks 1, 4 have 3; every rank must compile the "
        "same program with the same options");
  }
}

TEST(AlignEstimates, long_lists_of_ranks_are_short_to_read) {
  std::vector<Times> of_ranks(8, times({1}));
  of_ranks[5] = times({});
  EXPECT_NE(aligned(of_ranks)[0].error().message.find("ranks 0 to 4, 6, 7 have 1, rank 5 has 0;"), std::string::npos);
}

Digest digest_of(std::int64_t number) { return Digester().add(number).finish(); }

std::vector<Status> agreed(const std::vector<std::int64_t>& numbers) {
  return on_all_ranks<Status>(numbers.size(), [&](std::size_t rank, AllGather& all) {
    return agree_on(digest_of(numbers[rank]), "the lowered program", all);
  });
}

TEST(AgreeOn, equal_digests_are_agreement) {
  for (const Status& status : agreed({4, 4, 4})) EXPECT_TRUE(status);
  for (const Status& status : agreed({4})) EXPECT_TRUE(status);
}

TEST(AgreeOn, a_difference_is_an_error_on_every_rank_that_names_who_differs) {
  const std::string expected = fmt::format(
      "ranks differ in the lowered program: ranks 0, 1, 3 have {}, rank 2 has {}; compare what was compiled on "
      "them",
      digest_of(4).to_string(), digest_of(5).to_string());
  for (const Status& status : agreed({4, 4, 5, 4})) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, expected);
  }
}

TEST(AgreeOn, ranks_that_agree_on_different_things_get_an_error) {
  const auto results = on_all_ranks<bool>(2, [](std::size_t rank, AllGather& all) {
    if (rank == 0) return agree_on(digest_of(1), "the schedule", all).has_value();
    return align_estimates(times({1, 2, 3}), all).has_value();
  });
  EXPECT_EQ(results, (std::vector<bool>{false, false}));
}

TEST(LocalRanks, a_rank_that_does_not_come_is_named) {
  LocalRanks all(3, std::chrono::milliseconds(50));
  Status of_first;
  std::thread first([&] { of_first = agree_on(digest_of(1), "the schedule", all.rank(0)); });
  const Status of_last = agree_on(digest_of(1), "the schedule", all.rank(2));
  first.join();
  for (const Status& status : {of_first, of_last}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "waited 50 ms for rank 1: it did not take part in the agreement");
  }
}

}  // namespace
}  // namespace hocket
