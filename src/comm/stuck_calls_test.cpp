#include "comm/stuck_calls.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

using namespace std::chrono_literals;

TEST(StuckCalls, end_the_process_once_something_went_wrong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto be_stuck = [] {
    StuckCalls calls;
    calls.watch("Fake MPI 1.0", 100ms);
    const StuckCalls::Inside inside(calls);
    std::this_thread::sleep_for(20s);
  };
  EXPECT_EXIT(be_stuck(), testing::ExitedWithCode(StuckCalls::exit_code),
              "Fake MPI 1.0 has not come back from a call for 100 ms");
}

TEST(StuckCalls, that_began_before_count_too) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto be_stuck = [] {
    StuckCalls calls;
    std::thread([&] {
      const StuckCalls::Inside inside(calls);
      std::this_thread::sleep_for(20s);
    }).detach();
    std::this_thread::sleep_for(50ms);
    calls.watch("Fake MPI 1.0", 100ms);
    std::this_thread::sleep_for(20s);
  };
  EXPECT_EXIT(be_stuck(), testing::ExitedWithCode(StuckCalls::exit_code), "this rank ends");
}

TEST(StuckCalls, are_none_while_calls_come_back) {
  StuckCalls calls;
  calls.watch("Fake MPI 1.0", 2s);
  const auto end = std::chrono::steady_clock::now() + 2500ms;
  while (std::chrono::steady_clock::now() < end) {
    const StuckCalls::Inside inside(calls);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(StuckCalls, are_allowed_where_nothing_went_wrong) {
  StuckCalls calls;
  const StuckCalls::Inside inside(calls);
  std::this_thread::sleep_for(200ms);
}

}  // namespace
}  // namespace hocket
