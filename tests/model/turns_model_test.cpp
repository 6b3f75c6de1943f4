// Rounds that use four slots in turn: nobody overwrites what another one still reads, though a rank that only writes may be
// three rounds ahead.
#include "checked.h"
#include "comm/flag_protocol.h"

namespace hocket::model {
namespace {

constexpr std::uint32_t rounds = 12;  // so that slots are passed on twice, also where one round of three has none

enum class Takes {
  one,  // place 0 takes nothing, as the source of a broadcast does; the other one takes each round after it has posted its own
  both,             // the same on both sides
  before_posting,   // each takes the round before the one that it has written and not yet posted
  behind_a_posted,  // place 0 takes nothing, the other one takes the round before the one that it has posted: wrong
};

// Which rounds have slots. Only those take turns with the slots; all take turns with the flags.
struct AllWithSlots {
  static constexpr bool has_slot(std::uint32_t) { return true; }
};

// How many rounds until this one have slots.
template <class Kinds>
std::uint32_t with_slots(std::uint32_t round) {
  std::uint32_t with = 0;
  for (std::uint32_t i = 1; i <= round; ++i) with += Kinds::has_slot(i) ? 1 : 0;
  return with;
}

template <class Orders, class Turns, std::uint32_t count, Takes takes, class Kinds = AllWithSlots>
struct WriteAndRead : rl::test_suite<WriteAndRead<Orders, Turns, count, takes, Kinds>, 2> {
  using Protocol = FlagProtocol<Orders>;
  Flag flags[2][count];
  Data slots[2][count];

  void before() {
    for (auto& own : slots) {
      for (Data& slot : own) slot.write(0);
    }
  }
  void wait(unsigned place, std::uint32_t round) {
    const Flag& flag = flags[place][Turns::slot_of(round)];
    while (!Protocol::raised(flag, round)) rl::yield(1, RL_INFO);
  }
  Data& slot_of(unsigned place, std::uint32_t round) {
    const std::uint32_t with = with_slots<Kinds>(round);
    return slots[Turns::owner_of(place, with, 2)][Turns::slot_of(with)];
  }
  void take(unsigned place, std::uint32_t round) {
    if (round == 0) return;
    wait(place, round);
    if (Kinds::has_slot(round)) RL_ASSERT(slot_of(place, round).read() == 100 * place + round);
  }
  void thread(unsigned place) {
    const unsigned other = 1 - place;
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      const std::uint32_t seen = Turns::seen_before(round);
      if (static_cast<std::int32_t>(seen) > 0) wait(other, seen);
      if (Kinds::has_slot(round)) slot_of(place, round).write(100 * place + round);
      if (takes == Takes::before_posting) take(other, round - 1);
      Protocol::raise(flags[place][Turns::slot_of(round)], round);
      if (takes == Takes::behind_a_posted && place == 1) take(other, round - 1);
      if (takes == Takes::both || (takes == Takes::one && place == 1)) take(other, round);
    }
  }
};

struct Checked : FencedOrders {
  static void fence_of_raiser() {}  // nobody sleeps here
};

// Where every rank keeps its own slots.
struct NotSwapped : Turns<4> {
  static std::uint32_t owner_of(std::uint32_t place, std::uint32_t, std::uint32_t) { return place; }
};

template <std::uint32_t slots, std::uint32_t ahead>
struct Reckless {
  static std::uint32_t slot_of(std::uint32_t round) { return round % slots; }
  static std::uint32_t seen_before(std::uint32_t round) { return round - ahead; }
  static std::uint32_t owner_of(std::uint32_t place, std::uint32_t, std::uint32_t) { return place; }
};

TEST(TurnsModel, a_slot_is_overwritten_only_when_all_have_read_it) {
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::one>>(50'000);
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::both>>(50'000);
}
TEST(TurnsModel, so_it_is_where_slots_are_not_swapped) {
  expect_correct<WriteAndRead<Checked, NotSwapped, 4, Takes::one>>(50'000);
  expect_correct<WriteAndRead<Checked, NotSwapped, 4, Takes::both>>(50'000);
}
TEST(TurnsModel, the_round_before_may_be_read_until_the_next_one_is_posted) {
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::before_posting>>(50'000);
  expect_correct<WriteAndRead<Checked, NotSwapped, 4, Takes::before_posting>>(50'000);
  expect_found<WriteAndRead<Checked, NotSwapped, 4, Takes::behind_a_posted>>(rl::test_result_data_race);
}
TEST(TurnsModel, two_slots_are_too_few_for_a_writer_that_is_three_rounds_ahead) {
  expect_found<WriteAndRead<Checked, Reckless<2, 3>, 2, Takes::one>>(rl::test_result_data_race);
}
TEST(TurnsModel, to_be_one_round_further_ahead_is_too_far) {
  expect_found<WriteAndRead<Checked, Reckless<4, 4>, 4, Takes::one>>(rl::test_result_data_race);
}

// As a broadcast in symmetric memory (two empty rounds) between two calls of one round.
struct EveryThird {
  static constexpr bool has_slot(std::uint32_t round) { return round % 3 == 1; }
};
struct TwoOfThree {
  static constexpr bool has_slot(std::uint32_t round) { return round % 3 != 0; }
};
// Who sees only that a round with a slot is three behind in the count of those, and takes the flag of that number for it.
struct CountsOnlySlots : NotSwapped {
  static std::uint32_t seen_before(std::uint32_t round) { return with_slots<TwoOfThree>(round) - 3; }
};

TEST(TurnsModel, rounds_without_slots_may_lie_between) {
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::one, TwoOfThree>>(50'000);
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::both, TwoOfThree>>(50'000);
  expect_correct<WriteAndRead<Checked, Turns<4>, 4, Takes::both, EveryThird>>(50'000);
}
TEST(TurnsModel, a_rank_that_waits_by_the_count_of_slots_is_found_out) {
  expect_found<WriteAndRead<Checked, CountsOnlySlots, 4, Takes::one, TwoOfThree>>(rl::test_result_data_race);
}

struct PublishesRelaxed : Checked {
  static constexpr auto publish = std::memory_order_relaxed;
};
struct LooksRelaxed : Checked {
  static constexpr auto look = std::memory_order_relaxed;
};

TEST(TurnsModel, weaker_orders_are_found_out) {
  expect_found<WriteAndRead<PublishesRelaxed, Turns<4>, 4, Takes::one>>(rl::test_result_data_race);
  expect_found<WriteAndRead<LooksRelaxed, Turns<4>, 4, Takes::one>>(rl::test_result_data_race);
  expect_found<WriteAndRead<PublishesRelaxed, Turns<4>, 4, Takes::both>>(rl::test_result_data_race);
  expect_found<WriteAndRead<LooksRelaxed, Turns<4>, 4, Takes::both>>(rl::test_result_data_race);
}

}  // namespace
}  // namespace hocket::model
