// Messages between two ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "ranks.h"
#include "support/random.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::int64_t larger_than_a_channel = 1'000'003;

std::vector<std::int32_t> numbers(std::int64_t count, std::int32_t first) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(Messages, of_one_tag_arrive_in_the_order_in_which_they_were_sent) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      std::vector<std::int32_t> data = numbers(200, 0);
      std::vector<Work> works;
      if (world.rank() == 0) {
        for (std::int32_t& one : data) works.push_back(group.isend(&one, 1, Dtype::i32, 1));
      } else {
        data.assign(200, -1);
        for (std::int32_t& one : data) works.push_back(group.irecv(&one, 1, Dtype::i32, 0));
      }
      for (const Work& work : works) complaints.well(work, "message");
      if (data != numbers(200, 0)) complaints.add("messages came in another order");
    });
  }
}

TEST(Messages, are_received_by_tag_whatever_the_order) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      constexpr std::int32_t tags = 20;
      std::vector<std::vector<std::int32_t>> data;
      std::vector<Work> works;
      for (std::int32_t tag = 0; tag < tags; ++tag) data.push_back(numbers(tag * 1'000, tag));
      if (world.rank() == 0) {
        for (std::int32_t tag = 0; tag < tags; ++tag) {
          auto& one = data[static_cast<std::size_t>(tag)];
          works.push_back(group.isend(one.data(), std::ssize(one), Dtype::i32, 1, tag));
        }
        for (const Work& work : works) complaints.well(work, "send");
        return;
      }
      std::this_thread::sleep_for(5ms);
      for (std::int32_t tag = tags - 1; tag >= 0; --tag) {
        std::vector<std::int32_t> got(static_cast<std::size_t>(tag * 1'000));
        complaints.well(group.irecv(got.data(), std::ssize(got), Dtype::i32, 0, tag, blocking()), "receive");
        if (got != data[static_cast<std::size_t>(tag)]) complaints.add("tag {} is wrong", tag);
      }
    });
  }
}

TEST(Messages, larger_than_the_channel_go_both_ways_at_once) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      const std::int32_t peer = 1 - world.rank();
      const std::vector<std::int32_t> mine = numbers(larger_than_a_channel, world.rank() * 7);
      std::vector<std::int32_t> theirs(mine.size());
      // Sends are waited for first, so that a rank which could not receive meanwhile would never end.
      const Work send = group.isend(mine.data(), larger_than_a_channel, Dtype::i32, peer);
      const Work receive = group.irecv(theirs.data(), larger_than_a_channel, Dtype::i32, peer);
      complaints.well(send, "send");
      complaints.well(receive, "receive");
      if (theirs != numbers(larger_than_a_channel, peer * 7)) complaints.add("wrong data");
    });
  }
}

TEST(Messages, without_elements_and_to_oneself_arrive) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      const std::int32_t self = world.rank();
      const Work empty = group.isend(nullptr, 0, Dtype::f32, 1 - self, 4);
      complaints.well(group.irecv(nullptr, 0, Dtype::f32, 1 - self, 4), "receive of nothing");
      complaints.well(empty, "send of nothing");
      const std::vector<std::int32_t> mine = numbers(larger_than_a_channel, self);
      std::vector<std::int32_t> got(mine.size());
      const Work send = group.isend(mine.data(), larger_than_a_channel, Dtype::i32, self);
      complaints.well(group.irecv(got.data(), larger_than_a_channel, Dtype::i32, self), "receive from oneself");
      complaints.well(send, "send to oneself");
      if (got != mine) complaints.add("wrong data");
    });
  }
}

TEST(Messages, of_a_batch_are_done_together) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 4, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      std::vector<std::vector<std::int32_t>> sent;
      std::vector<std::vector<std::int32_t>> got(4, std::vector<std::int32_t>(70'000));
      std::vector<Message> batch;
      for (std::int32_t peer = 0; peer < 4; ++peer) sent.push_back(numbers(70'000, world.rank() * 10 + peer));
      for (std::int32_t peer = 0; peer < 4; ++peer) {
        const auto i = static_cast<std::size_t>(peer);
        batch.push_back({Message::Direction::send, sent[i].data(), 70'000, peer, 3});
        batch.push_back({Message::Direction::receive, got[i].data(), 70'000, peer, 3});
      }
      complaints.well(group.batch(batch, Dtype::i32), "batch");
      complaints.well(group.batch({}, Dtype::i32), "batch of nothing");
      for (std::int32_t peer = 0; peer < 4; ++peer) {
        if (got[static_cast<std::size_t>(peer)] != numbers(70'000, peer * 10 + world.rank())) {
          complaints.add("wrong data from {}", peer);
        }
      }
    });
  }
}

TEST(Messages, wait_neither_for_collectives_nor_for_each_other) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      std::int32_t never = 0;
      std::int32_t answer = world.rank() == 0 ? 5 : 0;
      const Work late = group.irecv(&never, 1, Dtype::i32, 1 - world.rank(), 99);
      if (world.rank() == 0) {
        const Work barrier = group.barrier();  // rank 1 comes to it only when it has the message
        complaints.well(group.isend(&answer, 1, Dtype::i32, 1), "send");
        if (late.done()) complaints.add("a message came that nobody has sent");
        complaints.well(barrier, "barrier");
      } else {
        complaints.well(group.irecv(&answer, 1, Dtype::i32, 0), "receive");
        if (late.done()) complaints.add("a message came that nobody has sent");
        complaints.well(group.barrier(), "barrier");
      }
      if (answer != 5) complaints.add("got {}", answer);
      complaints.well(group.barrier(), "barrier");
      complaints.well(group.isend(&answer, 1, Dtype::i32, 1 - world.rank(), 99), "send of the last");
      complaints.well(late, "the last");
    });
  }
}

TEST(Messages, of_another_size_or_dtype_than_expected_are_an_error_that_names_both) {
  for (const Kind kind : all_kinds) {
    const auto said = run_world(kind, 2, [](World& world) -> std::string {
      const Communicator group = group_of(world);
      std::vector<std::int32_t> data = numbers(200'000, 0);
      if (world.rank() == 0) {
        const Work wrong = group.isend(data.data(), 200'000, Dtype::i32, 1, 6);
        const Work right = group.isend(data.data(), 3, Dtype::i32, 1, 6);
        return fmt::format("{} {}", wrong.wait().has_value(), right.wait().has_value());
      }
      const Status status = group.irecv(data.data(), 5, Dtype::f32, 0, 6).wait();
      // The next one is not affected.
      std::vector<std::int32_t> next(3);
      const Status more = group.irecv(next.data(), 3, Dtype::i32, 0, 6).wait();
      return fmt::format("{}, then {}", status ? "no error" : status.error().message,
                         more && next == numbers(3, 0) ? "well" : "not well");
    });
    EXPECT_EQ(said[0], "true true");
    EXPECT_THAT(said[1], HasSubstr("rank 0 sends i32[200000] with tag 6 to rank 1, which expects receive(f32[5], from "
                                   "0, tag 6) as call "));
    EXPECT_THAT(said[1], HasSubstr(", then well"));
  }
}

TEST(Messages, that_never_come_are_an_error_at_the_timeout) {
  for (const Kind kind : all_kinds) {
    const auto said = run_world(kind, 2, [](World& world) -> std::string {
      const Communicator group = group_of(world);
      std::int32_t data = 0;
      std::string text = "fine";
      if (world.rank() == 0) {
        const Status status = group.irecv(&data, 1, Dtype::i32, 1, 0, within(50ms)).wait();
        text = status ? "no error" : status.error().message;
      }
      static_cast<void>(group.barrier().wait());  // until then rank 1 stays
      return text;
    });
    EXPECT_THAT(said[0], HasSubstr(kind == Kind::hosts ? "rank 1 did not come" : "rank 1 (pid "));
    EXPECT_THAT(said[0], HasSubstr("did not come within 50 ms to receive(i32[1], from 1, tag 0)"));
    EXPECT_EQ(said[1], "fine");
  }
}

// Every rank sends to every other in an order of its own; sizes and tags are known from (from, to, number).
TEST(Messages, in_any_order_between_all_ranks_arrive) {
  for (const Kind kind : all_kinds) {
    const std::uint64_t seed = 20;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_well(kind, 4, [&](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      Random random(seed + static_cast<std::uint64_t>(world.rank()));
      const auto size_of_message = [](std::int32_t from, std::int32_t to, std::int32_t number) {
        return (from * 7919 + to * 104'729 + number * 1'299'709) % 40'000;
      };
      struct Open {
        bool sends;
        std::int32_t peer;
        std::int32_t number;
      };
      std::vector<Open> all;
      for (std::int32_t peer = 0; peer < 4; ++peer) {
        for (std::int32_t number = 0; number < 12; ++number)
          all.insert(all.end(), {{true, peer, number}, {false, peer, number}});
      }
      random.shuffle(all);
      std::vector<std::vector<std::int32_t>> buffers(all.size());
      std::vector<Work> works;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Open& one = all[i];
        const std::int32_t from = one.sends ? world.rank() : one.peer;
        const std::int32_t to = one.sends ? one.peer : world.rank();
        const std::int32_t count = size_of_message(from, to, one.number);
        buffers[i] = one.sends ? numbers(count, from * 100 + one.number)
                               : std::vector<std::int32_t>(static_cast<std::size_t>(count));
        works.push_back(one.sends ? group.isend(buffers[i].data(), count, Dtype::i32, to, one.number)
                                  : group.irecv(buffers[i].data(), count, Dtype::i32, from, one.number));
      }
      for (std::size_t i = works.size(); i-- > 0;) complaints.well(works[i], "message");
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].sends) continue;
        const std::int32_t count = size_of_message(all[i].peer, world.rank(), all[i].number);
        if (buffers[i] != numbers(count, all[i].peer * 100 + all[i].number)) complaints.add("message {} is wrong", i);
      }
    });
  }
}

}  // namespace
}  // namespace hocket
