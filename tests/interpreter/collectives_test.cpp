// Collectives by definition, on two to eight ranks.
#include "support/interpreter_collectives.h"

#include <fmt/format.h>

#include <numeric>

#include "run_text.h"

namespace hocket::interpreter {

namespace {

// Rank r gives r*10, r*10+1, …
std::vector<Tensor> counting(int world, std::int64_t rows, std::int64_t columns = 1) {
  std::vector<Tensor> given;
  for (int rank = 0; rank < world; ++rank) {
    Tensor tensor{{rows, columns}, Words(static_cast<std::size_t>(rows * columns))};
    std::iota(tensor.words.begin(), tensor.words.end(), static_cast<Word>(rank) * 10);
    given.push_back(std::move(tensor));
  }
  return given;
}

Members everyone(int world) {
  Members members(static_cast<std::size_t>(world));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

TEST(Groups, of_a_mesh_are_shifted_copies) {
  EXPECT_EQ(groups_of_ranks({0, 1}, 0, 4), (std::vector<Members>{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
  EXPECT_EQ(groups_of_ranks({0, 2}, 0, 4), (std::vector<Members>{{0, 2}, {1, 3}, {0, 2}, {1, 3}}));
  EXPECT_EQ(groups_of_ranks({1, 3}, 1, 4), (std::vector<Members>{{0, 2}, {1, 3}, {0, 2}, {1, 3}}));
  // two dims of a mesh of 2 by 2 by 2
  EXPECT_EQ(groups_of_ranks({0, 1, 4, 5}, 0, 8)[6], (Members{2, 3, 6, 7}));
  EXPECT_EQ(groups_of_ranks({3, 2, 1, 0}, 0, 4)[0], (Members{3, 2, 1, 0}));
}

TEST(Groups, that_do_not_cover_the_world_are_stood_in_for) {
  const auto groups = groups_of_ranks({0, 1, 2}, 0, 4);
  EXPECT_EQ(groups[1], (Members{0, 1, 2}));
  EXPECT_EQ(groups[3], (Members{3, 1, 2}));
  EXPECT_EQ(groups_of_ranks({1, 2}, 2, 4)[0], (Members{1, 0}));
}

TEST(Collectives, reduce) {
  for (const int world : {2, 3, 8}) {
    const auto given = counting(world, 2);
    const Members members = everyone(world);
    const Word sum = static_cast<Word>(world * (world - 1) / 2 * 10);
    for (int rank = 0; rank < world; ++rank) {
      const Exchange exchange{given, members, rank};
      EXPECT_EQ(all_reduce(exchange, Reduce::sum), (Words{sum, sum + static_cast<Word>(world)}));
      EXPECT_EQ(all_reduce(exchange, Reduce::maximum),
                (Words{static_cast<Word>(world - 1) * 10, static_cast<Word>(world - 1) * 10 + 1}));
      EXPECT_EQ(all_reduce(exchange, Reduce::minimum), (Words{0, 1}));
    }
  }
  const auto given = counting(3, 2);
  const Members members = everyone(3);
  const Exchange exchange{given, members, 0};
  EXPECT_EQ(all_reduce(exchange, Reduce::average), (Words{10, 11}));
  EXPECT_EQ(all_reduce(exchange, Reduce::product), (Words{0, 1 * 11 * 21}));
  EXPECT_EQ(all_reduce(exchange, Reduce::bit_and), (Words{0, 1 & 11 & 21}));
  EXPECT_EQ(all_reduce(exchange, Reduce::bit_or), (Words{10 | 20, 1 | 11 | 21}));
  EXPECT_EQ(all_reduce(exchange, Reduce::bit_xor), (Words{10 ^ 20, 1 ^ 11 ^ 21}));
  EXPECT_EQ(reduce_from_name("SUM"), Reduce::sum);
  EXPECT_EQ(reduce_from_name("median"), std::nullopt);
}

TEST(Collectives, gather_scatter_and_broadcast_follow_the_order_of_the_group) {
  const auto given = counting(4, 2);
  const Members members = {3, 1};
  EXPECT_EQ(all_gather({given, members, 1}), (Words{30, 31, 10, 11}));
  EXPECT_EQ(reduce_scatter({given, members, 3}, Reduce::sum), (Words{40}));
  EXPECT_EQ(reduce_scatter({given, members, 1}, Reduce::sum), (Words{42}));
  EXPECT_EQ(broadcast({given, members, 1}, 0), (Words{30, 31}));
  EXPECT_THROW(broadcast({given, members, 1}, 2), Halt);
  EXPECT_THROW(reduce_scatter({given, members, 0}, Reduce::sum), Halt);
}

TEST(Collectives, all_to_all_with_unequal_parts) {
  // rank 0 sends 1 row to itself and 3 to rank 1; rank 1 sends 2 rows each
  const auto given = counting(2, 4);
  const Members members = {0, 1};
  const std::vector<Sizes> sent = {{1, 3}, {2, 2}};
  EXPECT_EQ(all_to_all({given, members, 0}, sent, {1, 2}), (Words{0, 10, 11}));
  EXPECT_EQ(all_to_all({given, members, 1}, sent, {3, 2}), (Words{1, 2, 3, 12, 13}));
}

TEST(Collectives, all_to_all_of_one_rank_s_splits_reads_on) {
  const auto given = counting(2, 3);
  const Members members = {0, 1};
  const std::vector<Sizes> sent = {{1, 2}, {1, 2}};
  EXPECT_EQ(all_to_all({given, members, 0}, sent, {1, 2}), (Words{0, 10, 11}));
  EXPECT_EQ(all_to_all({given, members, 1}, sent, {1, 3}), (Words{1, 11, 12, 10}));
}

TEST(Collectives, all_to_all_twice_is_nothing) {
  for (const int world : {2, 4, 8}) {
    const auto given = counting(world, world, 2);
    const Members members = everyone(world);
    const Sizes ones(static_cast<std::size_t>(world), 1);
    const std::vector<Sizes> sent(static_cast<std::size_t>(world), ones);
    std::vector<Tensor> there = given;
    for (int rank = 0; rank < world; ++rank)
      there[static_cast<std::size_t>(rank)].words = all_to_all({given, members, rank}, sent, ones);
    for (int rank = 0; rank < world; ++rank)
      EXPECT_EQ(all_to_all({there, members, rank}, sent, ones), given[static_cast<std::size_t>(rank)].words);
  }
}

TEST(Collectives, gather_and_scatter_along_another_dim) {
  const auto given = counting(2, 2, 2);  // rank 0: [0 1; 2 3], rank 1: [10 11; 12 13]
  const Members members = {0, 1};
  EXPECT_EQ(all_gather_along({given, members, 0}, 1), (Words{0, 1, 10, 11, 2, 3, 12, 13}));
  EXPECT_EQ(all_gather_along({given, members, 0}, 0), all_gather({given, members, 0}));
  EXPECT_EQ(reduce_scatter_along({given, members, 1}, Reduce::sum, 1), (Words{12, 16}));
  EXPECT_EQ(reduce_scatter_along({given, members, 1}, Reduce::sum, 0),
            reduce_scatter({given, members, 1}, Reduce::sum));
}

TEST(Collectives, shard_dim_all_to_all) {
  const auto given = counting(2, 2, 2);  // rank 0: [0 1; 2 3], rank 1: [10 11; 12 13]
  const Members members = {0, 1};
  EXPECT_EQ(shard_dim_all_to_all({given, members, 0}, 0, 1), (Words{0, 2, 10, 12}));
  EXPECT_EQ(shard_dim_all_to_all({given, members, 1}, 0, 1), (Words{1, 3, 11, 13}));
  EXPECT_EQ(shard_dim_all_to_all({given, members, 1}, 1, 0), (Words{2, 3, 12, 13}));
}

// ---- as nodes: %x is 1, 2 … and 100 more on each rank

namespace {

std::string with_group(std::string_view inputs, std::string_view body) {
  return "graph @g(" + std::string(inputs) + ") {\n  group @dp = ranks[0,1]\n" + std::string(body) + "\n}\n";
}

}  // namespace

TEST(CollectiveNodes, deliver_at_the_wait) {
  const std::string text = with_group("%x: f32[2]", R"(
    %c = _c10d_functional.all_reduce(%x, "sum", @dp)
    %w = _c10d_functional.wait_tensor(%c)
    %g = _c10d_functional.all_gather_into_tensor(%x, 2, @dp)
    %v = _c10d_functional.wait_tensor(%g)
    %s = _c10d_functional.reduce_scatter_tensor(%v, "avg", 2, @dp)
    %u = _c10d_functional.wait_tensor(%s)
    return %w, %v, %u)");
  EXPECT_EQ(words_of(text, 0, 0), (Words{102, 104}));
  EXPECT_EQ(words_of(text, 1, 0), (Words{102, 104}));
  EXPECT_EQ(words_of(text, 1, 1), (Words{1, 2, 101, 102}));
  EXPECT_EQ(words_of(text, 0, 2), (Words{1, 2}));
  EXPECT_EQ(words_of(text, 1, 2), (Words{101, 102}));
}

TEST(CollectiveNodes, in_place_and_out_forms_write_their_argument) {
  const std::string in_place = with_group("%x: f32[2]", R"(
    %c = _c10d_functional.all_reduce_(%x, "max", @dp)
    %w = _c10d_functional.wait_tensor(%c)
    return %x, %w)");
  EXPECT_EQ(words_of(in_place, 0, 0), (Words{101, 102}));
  EXPECT_EQ(words_of(in_place, 0, 1), (Words{101, 102}));
  const std::string out = with_group("%x: f32[1], %y: f32[2]", R"(
    %c = _c10d_functional.all_gather_into_tensor_out(%x, 2, @dp, out=%y)
    %w = _c10d_functional.wait_tensor(%c)
    return %y)");
  EXPECT_EQ(words_of(out, 1), (Words{1, 101}));
}

// The shard lies where it will be in the result.
TEST(CollectiveNodes, gather_in_place) {
  const std::string text = with_group("%x: f32[2], %y: f32[4]", R"(
    %c = fsdp.all_gather_copy_in([%x], %y, [2], 2, 0)
    %i = getitem(%c, 0)
    %o = getitem(%c, 1)
    %g = _c10d_functional.all_gather_into_tensor_out(%i, 2, @dp, out=%o)
    %w = _c10d_functional.wait_tensor(%g)
    return %w)");
  EXPECT_EQ(words_of(text, 0), (Words{1, 2, 101, 102}));
  EXPECT_EQ(words_of(text, 1), (Words{1, 2, 101, 102}));
}

TEST(CollectiveNodes, coalesced_forms_communicate_each_tensor) {
  const std::string text = with_group("%x: f32[1], %y: f32[2]", R"(
    %c = _c10d_functional.all_reduce_coalesced([%x, %y], "sum", @dp)
    %a = getitem(%c, 0)
    %b = getitem(%c, 1)
    %v = _c10d_functional.wait_tensor(%a)
    %w = _c10d_functional.wait_tensor(%b)
    %d = _c10d_functional.all_gather_into_tensor_coalesced([%v, %y], 2, @dp)
    %e = getitem(%d, 1)
    %u = _c10d_functional.wait_tensor(%e)
    return %v, %w, %u)");
  EXPECT_EQ(words_of(text, 1, 0), (Words{102}));
  EXPECT_EQ(words_of(text, 0, 1), (Words{2102, 2104}));
  EXPECT_EQ(words_of(text, 0, 2), (Words{1001, 1002, 1101, 1102}));
}

TEST(CollectiveNodes, every_rank_talks_in_its_own_group) {
  const std::string text = R"(graph @g(%x: f32[1]) {
    world 4 rank 0
    group @near = ranks[0,1]
    group @far = ranks[0,2]
    %c = _c10d_functional.all_gather_into_tensor(%x, 2, @near)
    %v = _c10d_functional.wait_tensor(%c)
    %d = _c10d_functional.all_gather_into_tensor(%x, 2, @far)
    %w = _c10d_functional.wait_tensor(%d)
    return %v, %w
  })";
  EXPECT_EQ(words_of(text, 3, 0), (Words{201, 301}));
  EXPECT_EQ(words_of(text, 3, 1), (Words{101, 301}));
}

TEST(CollectiveNodes, blocking_kernels_deliver_at_once) {
  const std::string text = with_group("%x: f32[2], %y: f32[2]", R"(
    %a = symm_mem.one_shot_all_reduce(%x, "sum", @dp)
    %b = symm_mem.two_shot_all_reduce_(%x, "sum", @dp)
    %c = symm_mem.one_shot_all_reduce_copy(%x, %y, "sum", @dp)
    return %a, %b, %c, %x)");
  EXPECT_EQ(words_of(text, 0, 0), (Words{102, 104}));
  EXPECT_EQ(words_of(text, 0, 2), (Words{2102, 2104}));
  EXPECT_EQ(words_of(text, 1, 3), (Words{1101, 1102})) << "the symmetric copy of %y";
}

TEST(CollectiveNodes, sends_are_effects_in_their_order) {
  const auto sending = [](std::string_view first, std::string_view second) {
    return with_group("%x: f32[2], %y: f32[2]", fmt::format(R"(
    %a = _c10d_functional.isend(%{}, 1, 7, @dp)
    %v = _c10d_functional.wait_tensor(%a)
    %b = _c10d_functional.isend(%{}, 1, 7, @dp)
    %w = _c10d_functional.wait_tensor(%b)
    return %x)",
                                                            first, second));
  };
  const auto one = run_text(sending("x", "y"));
  const auto other = run_text(sending("y", "x"));
  ASSERT_TRUE(one) << one.error().to_string();
  ASSERT_TRUE(other) << other.error().to_string();
  EXPECT_EQ(first_difference(*one, *one), "");
  EXPECT_EQ(first_difference(*one, *other), "rank 0: other side effects, or in another order (2 before, 2 after)");
}

TEST(CollectiveNodes, each_receive_gets_the_next_message_of_its_peer_and_tag) {
  const std::string text = with_group("%x: f32[2], %y: f32[2]", R"(
    %a = _c10d_functional.irecv(%x, 1, 7, @dp)
    %v = _c10d_functional.wait_tensor(%a)
    %b = _c10d_functional.irecv(%y, 1, 7, @dp)
    %w = _c10d_functional.wait_tensor(%b)
    return %v, %w)");
  EXPECT_NE(words_of(text, 0, 0), words_of(text, 0, 1));
  EXPECT_NE(words_of(text, 0, 0), (Words{1, 2}));
  EXPECT_EQ(words_of(text, 0, 0), words_of(text, 0, 0));
}

// One call that communicates and multiplies: it depends on what every member gives.
TEST(CollectiveNodes, fused_kernels_depend_on_all_members) {
  const auto fused = [](std::string_view first) {
    return with_group("%x: f32[2,2], %y: f32[2,2]", fmt::format(R"(
    %b = _c10d_functional.broadcast(%y, 0, @dp)
    %c = _c10d_functional.wait_tensor(%b)
    %r = symm_mem.fused_matmul_reduce_scatter(%{}, %y, "sum", 0, @dp) : f32[1,2]
    return %r)",
                                                                first));
  };
  EXPECT_NE(words_of(fused("x"), 0), words_of(fused("c"), 0));
  EXPECT_NE(words_of(fused("x"), 0), words_of(fused("x"), 1));
}

}  // namespace hocket::interpreter
