#include "hocket/comm/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "support/random.h"

namespace hocket {
namespace {

using testing::ElementsAre;

std::string error_of(GroupTable& groups, const GroupRef& ref) {
  const Result<GroupHandle> group = groups.resolve(ref);
  return group ? "no error" : group.error().message;
}

TEST(RankGroup, every_way_to_say_the_same_ranks_gives_the_same_group) {
  GroupTable groups(4, 2);
  const Mesh mesh = groups.mesh({{"dp", 2}, {"tp", 2}}).value();
  const GroupHandle group = groups.resolve({2, 3}).value();
  EXPECT_EQ(group->name(), "ranks:2-3");
  EXPECT_EQ(group->place(), 0);
  EXPECT_EQ(groups.resolve({3, 2}).value(), group);
  EXPECT_EQ(groups.resolve(Rows{{0, 1}, {2, 3}}).value(), group);
  EXPECT_EQ(groups.resolve("ranks:2-3").value(), group);
  EXPECT_EQ(groups.resolve(group).value(), group);
  EXPECT_EQ(groups.resolve(mesh["tp"]).value(), group);
  EXPECT_EQ(groups.resolve(*mesh["tp"]).value(), group);
  EXPECT_EQ(groups.resolve({mesh, "tp"}).value(), group);
  ASSERT_TRUE(groups.add_name("tp", mesh["tp"]));
  EXPECT_EQ(groups.resolve("tp").value(), group);
}

TEST(RankGroup, all_ranks_are_the_world) {
  GroupTable groups(3, 1);
  EXPECT_EQ(groups.resolve({0, 1, 2}).value(), groups.resolve("world").value());
  EXPECT_EQ(groups.resolve("world").value()->place(), 1);
}

TEST(RankGroup, knows_the_place_of_each_member) {
  GroupTable groups(8, 3);
  const GroupHandle group = groups.resolve({7, 3, 5}).value();
  EXPECT_THAT(group->ranks(), ElementsAre(3, 5, 7));
  EXPECT_EQ(group->place_of(7), 2);
  EXPECT_EQ(group->place_of(4), std::nullopt);
  EXPECT_EQ(group->place_of(8), std::nullopt);
}

TEST(RankGroup, names_what_is_wrong_with_a_list_of_ranks) {
  GroupTable groups(4, 0);
  EXPECT_EQ(error_of(groups, {0, 4}), "rank 4 is not in the world, which has ranks 0 to 3");
  EXPECT_EQ(error_of(groups, {-1, 0}), "rank -1 is not in the world, which has ranks 0 to 3");
  EXPECT_EQ(error_of(groups, {0, 1, 0}), "rank 0 stands twice in the list of ranks 0, 0, 1");
  EXPECT_EQ(error_of(groups, {1, 2}), "rank 0 is not a member of group ranks:1-2");
  EXPECT_EQ(error_of(groups, Ranks{}), "a group needs at least one rank");
  EXPECT_EQ(error_of(groups, GroupHandle()), "the group is null");
}

TEST(RankGroup, names_what_is_wrong_with_rows) {
  GroupTable groups(6, 4);
  EXPECT_EQ(error_of(groups, Rows{{0, 1}, {2, 3, 4}}),
            "rows of ranks have unequal lengths: row 0 has 2 and row 1 has 3");
  EXPECT_EQ(error_of(groups, Rows{{0, 4}, {4, 2}}), "rank 4 stands twice in the rows of ranks");
  EXPECT_EQ(error_of(groups, Rows{{0, 1}, {2, 3}}), "rank 4 is in none of the 2 rows of ranks");
  EXPECT_EQ(error_of(groups, Rows{{0, 4}, {2, 6}}), "rank 6 is not in the world, which has ranks 0 to 5");
  EXPECT_EQ(error_of(groups, Rows{}), "a list of rows of ranks needs at least one row");
}

TEST(RankGroup, names_what_is_wrong_with_a_mesh) {
  GroupTable groups(4, 0);
  const Mesh mesh = groups.mesh({{"dp", 2}, {"tp", 2}}).value();
  EXPECT_EQ(error_of(groups, mesh),
            "mesh (dp=2, tp=2) has 2 dims: name the one to communicate along, as in mesh[\"tp\"]");
  EXPECT_EQ(error_of(groups, mesh["pp"]), "mesh (dp=2, tp=2) has no dim pp");
  EXPECT_EQ(error_of(groups, {mesh, "zero"}), "mesh (dp=2, tp=2) has no dim zero");
  EXPECT_EQ(groups.mesh({{"dp", 3}}).error().message, "mesh (dp=3) has 3 places but 4 ranks were given");
  EXPECT_EQ(groups.mesh({{"dp", 2}}, {0, 7}).error().message, "rank 7 is not in the world, which has ranks 0 to 3");
}

TEST(RankGroup, suggests_the_nearest_name) {
  GroupTable groups(4, 0);
  ASSERT_TRUE(groups.add_name("data_parallel", {0, 2}));
  EXPECT_EQ(error_of(groups, "data_paralel"), "no group is named data_paralel; did you mean data_parallel?");
  EXPECT_EQ(error_of(groups, "wrld"), "no group is named wrld; did you mean world?");
  EXPECT_EQ(error_of(groups, "pipeline"), "no group is named pipeline");
}

TEST(RankGroup, a_name_stands_for_one_group) {
  GroupTable groups(4, 0);
  ASSERT_TRUE(groups.add_name("tp", {0, 1}));
  EXPECT_TRUE(groups.add_name("tp", {1, 0}));
  EXPECT_EQ(groups.add_name("tp", {0, 2}).error().message, "group tp is ranks:0-1 already and can't be ranks:0,2 too");
  EXPECT_FALSE(groups.add_name("world", {0, 1}));
  EXPECT_FALSE(groups.add_name("", {0, 1}));
  EXPECT_FALSE(groups.add_name("ranks:7", {0, 1}));
}

TEST(RankGroup, a_rank_outside_of_its_world_has_no_groups) {
  GroupTable groups(2, 2);
  EXPECT_EQ(groups.resolve("world").error().message, "rank 2 is not in a world of 2 ranks");
}

TEST(GroupName, says_runs_and_steps) {
  EXPECT_EQ(canonical_group_name({5}), "ranks:5");
  EXPECT_EQ(canonical_group_name({0, 1, 2, 3}), "ranks:0-3");
  EXPECT_EQ(canonical_group_name({1, 3, 5, 7}), "ranks:1-7/2");
  EXPECT_EQ(canonical_group_name({0, 3, 9}), "ranks:0,3,9");
  EXPECT_EQ(canonical_group_name({0, 1, 8, 9}), "ranks:0-1,8-9");
}

// The ranks that a name without a digest says, read by other means than those that wrote it.
std::set<std::int32_t> ranks_said_by(std::string name) {
  std::set<std::int32_t> ranks;
  const char* at = name.c_str() + std::string_view("ranks").size();
  while (*at == ':' || *at == ',') {
    char* end = nullptr;
    const long first = std::strtol(at + 1, &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    const long step = *end == '/' ? std::strtol(end + 1, &end, 10) : 1;
    for (long rank = first; rank <= last; rank += step) ranks.insert(static_cast<std::int32_t>(rank));
    at = end;
  }
  return ranks;
}

TEST(GroupName, differs_where_the_ranks_differ) {
  Random random(3);
  std::set<std::string> names;
  std::set<Ranks> lists;
  for (int round = 0; round < 2'000; ++round) {
    Ranks ranks;
    const int density = random.pick({5, 50, 95});
    const std::int64_t world = random.pick({8, 40, 400});
    for (std::int32_t rank = 0; rank < world; ++rank) {
      if (random.chance(density)) ranks.push_back(rank);
    }
    if (ranks.empty() || !lists.insert(ranks).second) continue;
    const std::string name = canonical_group_name(ranks);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_LE(name.size(), 90U);
    if (name.find('@') != std::string::npos) continue;
    EXPECT_EQ(ranks_said_by(name), std::set<std::int32_t>(ranks.begin(), ranks.end())) << name;
  }
}

TEST(RankGroup, thousands_of_groups_are_each_made_once_by_any_number_of_threads) {
  constexpr std::int32_t world = 4'096;
  GroupTable groups(world, 0);
  std::vector<std::vector<GroupHandle>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&groups, &mine] {
      for (std::int32_t other = 1; other < world; ++other) mine.push_back(groups.resolve({0, other}).value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : seen) EXPECT_EQ(mine, seen[0]);
  EXPECT_EQ(std::set<GroupHandle>(seen[0].begin(), seen[0].end()).size(), 4'095U);
}

}  // namespace
}  // namespace hocket
