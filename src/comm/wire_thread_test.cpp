#include "comm/wire_thread.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hocket {
namespace {

TEST(WireThread, runs_what_all_ask_for_one_after_the_other_in_one_thread_that_is_not_theirs) {
  WireThread wire;
  std::set<std::thread::id> ran_in;  // guarded by nothing: a race would be the error
  int count = 0;
  std::vector<std::thread> askers;
  for (int asker = 0; asker < 4; ++asker) {
    askers.emplace_back([&] {
      for (int i = 0; i < 250; ++i) {
        wire.run([&] {
          ran_in.insert(std::this_thread::get_id());
          ++count;
        });
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(count, 1000);
  ASSERT_EQ(ran_in.size(), 1U);
  EXPECT_NE(*ran_in.begin(), std::this_thread::get_id());
}

TEST(WireThread, has_run_it_when_run_returns) {
  WireThread wire;
  for (int i = 0; i < 100; ++i) {
    bool done = false;
    wire.run([&] { done = true; });
    ASSERT_TRUE(done);
  }
}

}  // namespace
}  // namespace hocket
