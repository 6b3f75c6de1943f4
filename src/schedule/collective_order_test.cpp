// Cyclic waits between ranks, against running the ranks as threads of a little interpreter would.
#include "hocket/schedule/collective_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const Group pair_a{"a", {Rank{0}, Rank{1}}};
const Group pair_b{"b", {Rank{0}, Rank{1}}};
const Group pair_c{"c", {Rank{1}, Rank{2}}};

// "a0 b0 a0! b0!": starts the first collective of group a, the first of b, then waits for both.
RankOrder rank_order(int rank, std::string_view text, std::vector<Group> groups) {
  RankOrder order{Rank{rank}, {}, std::move(groups)};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ' ') continue;
    CommunicationEvent event;
    event.group = std::string(1, text[at]);
    event.sequence = static_cast<std::size_t>(text[at + 1] - '0');
    event.name = fmt::format("{}{}", event.group, event.sequence);
    at += 1;
    event.waits = at + 1 < text.size() && text[at + 1] == '!';
    at += event.waits ? 1 : 0;
    order.events.push_back(std::move(event));
  }
  return order;
}

TEST(CyclicWait, is_not_there_where_ranks_do_the_same) {
  const RankOrder ranks[] = {rank_order(0, "a0 b0 a0! b0!", {pair_a, pair_b}),
                             rank_order(1, "a0 b0 a0! b0!", {pair_a, pair_b})};
  EXPECT_FALSE(find_cyclic_wait(ranks));
}

TEST(CyclicWait, is_not_there_where_both_start_before_either_waits) {
  const RankOrder ranks[] = {rank_order(0, "a0 b0 a0! b0!", {pair_a, pair_b}),
                             rank_order(1, "b0 a0 b0! a0!", {pair_a, pair_b})};
  EXPECT_FALSE(find_cyclic_wait(ranks));
}

TEST(CyclicWait, names_the_ranks_and_collectives_of_the_circle) {
  const RankOrder ranks[] = {rank_order(0, "a0 a0! b0 b0!", {pair_a, pair_b}),
                             rank_order(1, "b0 b0! a0 a0!", {pair_a, pair_b})};
  const auto stuck = find_cyclic_wait(ranks);
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->to_string(),
            "rank 0 waits for a0 on @a, which rank 1 has not started; rank 1 waits for b0 on @b, which rank 0 has not "
            "started");
}

TEST(CyclicWait, leaves_out_who_only_waits_for_the_circle) {
  const RankOrder ranks[] = {rank_order(0, "a0 a0! b0 b0!", {pair_a, pair_b}),
                             rank_order(1, "b0 b0! a0 a0! c0 c0!", {pair_a, pair_b, pair_c}),
                             rank_order(2, "c0 c0!", {pair_c})};
  const auto stuck = find_cyclic_wait(ranks);
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->cycle.size(), 2U);
}

TEST(CyclicWait, names_a_rank_that_never_starts) {
  const RankOrder ranks[] = {rank_order(0, "a0 a0!", {pair_a}), rank_order(1, "", {pair_a})};
  const auto stuck = find_cyclic_wait(ranks);
  ASSERT_TRUE(stuck);
  EXPECT_THAT(stuck->to_string(), HasSubstr("rank 0 waits for a0 on @a, which rank 1 has not started"));
}

// Rank 0 among two: what the other one gives is written down beforehand.
class Scripted : public AllGather {
 public:
  std::int64_t ranks() const override { return 2; }
  Result<std::vector<std::vector<std::int64_t>>> gather(std::span<const std::int64_t> mine) override {
    given.emplace_back(mine.begin(), mine.end());
    const std::size_t round = given.size() - 1;
    return std::vector{given.back(), round < others.size() ? others[round] : std::vector<std::int64_t>()};
  }

  std::vector<std::vector<std::int64_t>> given, others;
};

// What a rank with this order gives in both rounds, with somebody who has another order.
std::vector<std::vector<std::int64_t>> given_by(const RankOrder& order) {
  Scripted first;
  EXPECT_FALSE(agree_on_order(rank_order(0, "a0", {pair_a}), first)) << "it was given nothing";
  Scripted second;
  second.others = first.given;
  EXPECT_FALSE(agree_on_order(order, second));
  return second.given;
}

TEST(AgreeOnOrder, names_the_rank_that_sends_something_else) {
  const RankOrder mine = rank_order(0, "a0 a1", {pair_a});
  RankOrder other = rank_order(1, "a0 a1 a2", {pair_a});
  const auto sound = given_by(other);
  other.events[1].kind = CollectiveKind::broadcast;
  const auto differs = given_by(other);
  ASSERT_EQ(sound[1].size(), differs[1].size());

  Scripted all;
  all.others = sound;
  const Status told = agree_on_order(mine, all);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::input) << "both sent orders";
  for (std::size_t at = 0; at < sound[1].size(); ++at) {
    if (sound[1][at] == differs[1][at]) continue;
    for (const std::int64_t no_kind : {-1, 100, 1 << 30}) {
      Scripted wrong;
      wrong.others = sound;
      wrong.others[1][at] = no_kind;
      const Status refused = agree_on_order(mine, wrong);
      ASSERT_FALSE(refused) << no_kind;
      EXPECT_THAT(refused.error().to_string(), HasSubstr("rank 1 sent no order of collectives")) << no_kind;
    }
  }
  for (std::size_t round : {0, 1}) {
    for (std::size_t size = 0; size < sound[round].size(); ++size) {
      Scripted cut;
      cut.others = sound;
      cut.others[round].resize(size);
      const Status refused = agree_on_order(mine, cut);
      ASSERT_FALSE(refused) << size;
      EXPECT_THAT(refused.error().to_string(), HasSubstr("rank 1 sent no order of collectives")) << size;
    }
  }
}

TEST(CollectiveOrder, names_the_first_difference) {
  RankOrder zero = rank_order(0, "a0 a1", {pair_a});
  RankOrder one = rank_order(1, "a0 a1", {pair_a});
  EXPECT_TRUE(check_collective_order(std::vector{zero, one}));
  one.events[1].bytes_in = Bytes(8);
  EXPECT_EQ(check_collective_order(std::vector{zero, one}).error().message,
            "collective 1 of group @a differs: rank 0 starts a1 (all_reduce, 0 B), rank 1 starts a1 (all_reduce, 8 B)");
  one.events.pop_back();
  EXPECT_EQ(check_collective_order(std::vector{zero, one}).error().message,
            "collective 1 of group @a differs: rank 0 starts a1 (all_reduce, 0 B), rank 1 starts nothing");
}

// Do all schedules of the ranks get to the end? Steps are taken in random order many times; progress is monotone, so one run tells.
bool finishes(const std::vector<RankOrder>& ranks, Random& random) {
  std::vector<std::size_t> at(ranks.size(), 0);
  const auto has_started = [&](std::size_t rank, const CommunicationEvent& event) {
    for (std::size_t i = 0; i < at[rank]; ++i) {
      const CommunicationEvent& other = ranks[rank].events[i];
      if (!other.waits && other.group == event.group && other.sequence == event.sequence) return true;
    }
    return false;
  };
  for (int idle = 0; idle < 400;) {
    const std::size_t rank = random.index(ranks.size());
    if (at[rank] == ranks[rank].events.size()) {
      ++idle;
      continue;
    }
    const CommunicationEvent& event = ranks[rank].events[at[rank]];
    bool ready = true;
    if (event.waits) {
      for (std::size_t other = 0; other < ranks.size(); ++other) {
        const bool member = std::any_of(ranks[other].groups.begin(), ranks[other].groups.end(),
                                        [&](const Group& group) { return group.name == event.group; });
        ready = ready && (!member || has_started(other, event));
      }
    }
    idle = ready ? 0 : idle + 1;
    at[rank] += ready ? 1 : 0;
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (at[rank] < ranks[rank].events.size()) return false;
  }
  return true;
}

TEST(CyclicWait, is_found_exactly_where_random_ranks_get_stuck) {
  int stuck = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const std::vector<Group> groups = {{"a", {Rank{0}, Rank{1}}}, {"b", {Rank{1}, Rank{2}}}, {"c", {Rank{0}, Rank{2}}}};
    std::vector<RankOrder> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      RankOrder order{Rank{rank}, {}, {}};
      // Each group's collectives in their order; how groups and waits interleave is up to the rank.
      std::vector<std::vector<CommunicationEvent>> queues;
      for (const Group& group : groups) {
        if (std::find(group.ranks.begin(), group.ranks.end(), Rank{rank}) == group.ranks.end()) continue;
        order.groups.push_back(group);
        std::vector<CommunicationEvent> queue;
        for (std::size_t k = 0; k < 2; ++k) {
          CommunicationEvent event;
          event.group = group.name;
          event.sequence = k;
          event.name = fmt::format("{}{}", group.name, k);
          queue.push_back(event);
          event.waits = true;
          queue.push_back(event);
        }
        queues.push_back(std::move(queue));
      }
      while (!queues.empty()) {
        const std::size_t pick = random.index(queues.size());
        order.events.push_back(queues[pick].front());
        queues[pick].erase(queues[pick].begin());
        if (queues[pick].empty()) queues.erase(queues.begin() + static_cast<std::ptrdiff_t>(pick));
      }
      ranks.push_back(std::move(order));
    }
    const bool finished = finishes(ranks, random);
    ASSERT_EQ(!find_cyclic_wait(ranks).has_value(), finished);
    stuck += finished ? 0 : 1;
  }
  EXPECT_GT(stuck, 50);
  EXPECT_LT(stuck, 550);
}

TEST(CyclicWait, is_not_there_in_random_graphs_that_all_ranks_run) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_graph(seed);
    std::vector<RankOrder> ranks;
    for (int rank = 0; rank < 4; ++rank) ranks.push_back(communication_of(graph, Rank{rank}));
    EXPECT_FALSE(find_cyclic_wait(ranks)) << "seed " << seed;
    EXPECT_TRUE(check_collective_order(ranks)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hocket
