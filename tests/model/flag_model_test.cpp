// One raises a flag, the others sleep until then: nobody sleeps for ever, and all see what was written before.
#include "checked.h"
#include "comm/flag_protocol.h"

namespace hocket::model {
namespace {

struct Fenced : FencedOrders {
  static void fence_of_raiser() { fence(std::memory_order_seq_cst); }
  static void fence_of_sleeper() { fence(std::memory_order_seq_cst); }
};
using NotFenced = OrdersWithoutFences;

template <class Orders>
struct RaiseAndSleep : rl::test_suite<RaiseAndSleep<Orders>, 3> {
  using Protocol = FlagProtocol<Orders>;
  Flag flag;
  Futex futex;
  Data data;

  void before() { data.write(0); }
  void thread(unsigned index) {
    if (index == 0) {
      data.write(5);
      if (Protocol::raise(flag, 1)) futex.wake_all();
      return;
    }
    while (!Protocol::raised(flag, 1)) {
      Protocol::sleep_until_raised(flag, 1, [&](std::uint32_t seen) { futex.sleep_while(flag.number, seen); });
    }
    RL_ASSERT(data.read() == 5);
  }
};

TEST(FlagModel, nobody_sleeps_for_ever_and_all_see_what_was_written) { expect_correct<RaiseAndSleep<Fenced>>(100'000); }
TEST(FlagModel, so_it_is_with_the_orders_for_sanitizers) { expect_correct<RaiseAndSleep<NotFenced>>(100'000); }

struct PublishesRelaxed : Fenced {
  static constexpr auto publish = std::memory_order_relaxed;
};
struct LooksRelaxed : Fenced {
  static constexpr auto look = std::memory_order_relaxed;
};
struct RaiserWithoutFence : Fenced {
  static void fence_of_raiser() {}
};
struct RaiserWithWeakFence : Fenced {
  static void fence_of_raiser() { fence(std::memory_order_acq_rel); }
};
struct SleeperWithoutFence : Fenced {
  static void fence_of_sleeper() {}
};
struct SleeperWithWeakFence : Fenced {
  static void fence_of_sleeper() { fence(std::memory_order_acq_rel); }
};

TEST(FlagModel, a_relaxed_number_is_found_out) {
  expect_found<RaiseAndSleep<PublishesRelaxed>>(rl::test_result_data_race);
}
TEST(FlagModel, a_relaxed_look_is_found_out) { expect_found<RaiseAndSleep<LooksRelaxed>>(rl::test_result_data_race); }
TEST(FlagModel, a_raiser_without_its_fence_is_found_out) {
  expect_found<RaiseAndSleep<RaiserWithoutFence>>(rl::test_result_deadlock);
  expect_found<RaiseAndSleep<RaiserWithWeakFence>>(rl::test_result_deadlock);
}
TEST(FlagModel, a_sleeper_without_its_fence_is_found_out) {
  expect_found<RaiseAndSleep<SleeperWithoutFence>>(rl::test_result_deadlock);
  expect_found<RaiseAndSleep<SleeperWithWeakFence>>(rl::test_result_deadlock);
}

struct StoresReleased : NotFenced {
  static constexpr auto publish = std::memory_order_release;
};
struct SleepersRelaxed : NotFenced {
  static constexpr auto sleepers = std::memory_order_relaxed;
};
struct LooksAgainAcquired : NotFenced {
  static constexpr auto number_again = std::memory_order_acquire;
};

TEST(FlagModel, weaker_orders_for_sanitizers_are_found_out) {
  expect_found<RaiseAndSleep<StoresReleased>>(rl::test_result_deadlock);
  expect_found<RaiseAndSleep<SleepersRelaxed>>(rl::test_result_deadlock);
  expect_found<RaiseAndSleep<LooksAgainAcquired>>(rl::test_result_deadlock);
}

// The bell of a mailbox: two ranks put something into their channels and ring; the owner looks at the channels, and sleeps only
// if the bell has not rung since before it looked.
template <class Orders, std::memory_order seen_order = std::memory_order_acquire>
struct RingAndLook : rl::test_suite<RingAndLook<Orders, seen_order>, 3> {
  using Protocol = FlagProtocol<Orders>;
  Flag bell;
  Futex futex;
  Atomic sent[2];
  Data block[2];

  void before() {
    for (Data& one : block) one.write(0);
  }
  void thread(unsigned index) {
    if (index < 2) {
      block[index].write(7);
      sent[index].store(1, std::memory_order_release);
      if (Protocol::ring(bell)) futex.wake_all();
      return;
    }
    unsigned taken[2] = {0, 0};
    for (;;) {
      const std::uint32_t seen = bell.number.load(seen_order);
      for (unsigned i = 0; i < 2; ++i) {
        if (taken[i] == sent[i].load(std::memory_order_acquire)) continue;
        RL_ASSERT(block[i].read() == 7);
        taken[i] = 1;
      }
      if (taken[0] + taken[1] == 2) return;
      Protocol::sleep_until_raised(bell, seen + 1, [&](std::uint32_t now) { futex.sleep_while(bell.number, now); });
    }
  }
};

TEST(BellModel, no_ring_is_missed) {
  expect_correct<RingAndLook<Fenced>>(100'000);
  expect_correct<RingAndLook<NotFenced>>(100'000);
}
TEST(BellModel, weaker_orders_are_found_out) {
  expect_found<RingAndLook<PublishesRelaxed>>(rl::test_result_deadlock);
  expect_found<RingAndLook<Fenced, std::memory_order_relaxed>>(rl::test_result_deadlock);
  expect_found<RingAndLook<RaiserWithoutFence>>(rl::test_result_deadlock);
  expect_found<RingAndLook<SleeperWithoutFence>>(rl::test_result_deadlock);
}

}  // namespace
}  // namespace hocket::model
