// Failures on one of two hosts in one process, and who hears of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/rank_threads.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CallOptions within(std::chrono::milliseconds timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

TEST(HostsWatch, a_call_that_fails_on_one_host_fails_on_the_other_long_before_its_timeout) {
  on_two_hosts([](World& world) {
    const Communicator all = world.communicator().value();
    ASSERT_TRUE(all.barrier().wait());
    if (world.rank() != 3) {
      const auto begin = std::chrono::steady_clock::now();
      const Status status = all.barrier(within(world.rank() == 2 ? 200ms : 100s)).wait();
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message, HasSubstr("rank 3 (pid "));
      EXPECT_THAT(status.error().message, HasSubstr(world.rank() < 2 ? ", on host " : "did not come within"));
      // And so does what comes after it.
      EXPECT_THAT(all.barrier().wait().error().message, HasSubstr("rank 3 (pid "));
    }
    // Until all have seen it, rank 3 stays; the others' messages don't suffer from a failed collective.
    std::int32_t token = 0;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      if (world.rank() == rank) {
        EXPECT_TRUE(all.isend(&token, 1, Dtype::i32, 3).wait());
      }
      if (world.rank() == 3) {
        EXPECT_TRUE(all.irecv(&token, 1, Dtype::i32, rank).wait());
      }
    }
  });
}

TEST(HostsWatch, other_groups_go_on) {
  on_two_hosts([](World& world) {
    const Communicator all = world.communicator().value();
    const Communicator some = world.rank() == 3 ? all : world.communicator(Ranks{0, 1, 2}).value();
    ASSERT_TRUE(all.barrier().wait());
    if (world.rank() == 3) {
      std::int32_t token = 0;
      EXPECT_TRUE(all.irecv(&token, 1, Dtype::i32, 0).wait());
      return;
    }
    EXPECT_FALSE(all.barrier(within(100ms)).wait());
    std::vector<std::int32_t> data(10'000, 1);
    EXPECT_TRUE(some.all_reduce(data.data(), data.data(), 10'000, Dtype::i32, ReduceOp::sum).wait());
    EXPECT_EQ(data.back(), 3);
    if (world.rank() == 0) {
      EXPECT_TRUE(all.isend(data.data(), 1, Dtype::i32, 3).wait());
    }
  });
}

TEST(HostsWatch, different_calls_inside_one_host_are_named_on_both_before_a_result_is_written) {
  on_two_hosts([](World& world) {
    const Communicator all = world.communicator().value();
    std::vector<float> data(50'000, 1.0F);
    const std::int64_t count = world.rank() == 1 ? 40'000 : 50'000;
    const Status status = all.all_reduce(data.data(), data.data(), count, Dtype::f32, ReduceOp::sum).wait();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank 0 called all_reduce(f32[50000], sum) as call 1"));
    EXPECT_THAT(status.error().message, HasSubstr("rank 1 called all_reduce(f32[40000], sum) as call 1"));
    EXPECT_EQ(data, std::vector<float>(50'000, 1.0F));
  });
}

// A call too many on one rank meets another call of the others.
TEST(HostsWatch, calls_in_another_order_are_named) {
  on_two_hosts([](World& world) {
    const Communicator all = world.communicator().value();
    std::int32_t number = 1;
    if (world.rank() == 2) static_cast<void>(all.broadcast(&number, &number, 1, Dtype::i32, 0));
    const Status status = all.all_reduce(&number, &number, 1, Dtype::i32, ReduceOp::max).wait();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank 0 called all_reduce(i32[1], max) as call 1"));
    EXPECT_THAT(status.error().message, HasSubstr("rank 2 called broadcast(i32[1], from 0) as call 1"));
    EXPECT_EQ(number, 1);
  });
}

}  // namespace
}  // namespace hocket
