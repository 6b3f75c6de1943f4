// What every Wire promises, whatever it goes over. A program's tests include this in one file and instantiate WireContract with the
// wires that it has:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, WireContract, testing::Values(WireMaker{"two", make_memory_wires, 2}), name_of_wire);
//
// Ranks are threads. On a wire of one rank both ends of all messages are the same.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "comm/wire.h"

namespace hocket {

struct WireMaker {
  const char* name;
  std::vector<std::unique_ptr<Wire>> (*make)(int ranks);
  int ranks;
};

inline std::string name_of_wire(const testing::TestParamInfo<WireMaker>& one) { return one.param.name; }

class WireContract : public testing::TestWithParam<WireMaker> {
 protected:
  using Bytes = std::vector<std::byte>;
  static constexpr std::chrono::seconds enough{20};

  static Deadline soon() { return std::chrono::steady_clock::now() + enough; }

  void SetUp() override {
    wires_ = GetParam().make(GetParam().ranks);
    ASSERT_EQ(wires_.size(), static_cast<std::size_t>(GetParam().ranks));
    channels_ = channels();
  }
  // The same channel seen from all ranks.
  std::vector<std::unique_ptr<Channel>> channels() {
    std::vector<std::int32_t> all(wires_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::unique_ptr<Channel>> made(wires_.size());
    in_all_ranks([&](std::size_t rank) {
      Result<std::unique_ptr<Channel>> channel = wires_[rank]->channel(all, soon());
      ASSERT_TRUE(channel) << channel.error().message;
      made[rank] = std::move(*channel);
    });
    return made;
  }
  template <class Function>
  void in_all_ranks(const Function& function) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < wires_.size(); ++rank) threads.emplace_back([&, rank] { function(rank); });
    for (std::thread& thread : threads) thread.join();
  }

  Channel& first() { return *channels_.front(); }
  Channel& last() { return *channels_.back(); }
  std::int32_t last_place() const { return static_cast<std::int32_t>(channels_.size()) - 1; }

  static Bytes message(std::size_t bytes, int seed) {
    Bytes made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      made[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(seed));
    return made;
  }
  // From the first rank to the last one.
  RequestHandle send(const Bytes& bytes, std::int32_t tag) { return first().isend(bytes, last_place(), tag).value(); }
  RequestHandle receive(Bytes& bytes, std::int32_t tag) { return last().irecv(bytes, 0, tag).value(); }
  // Receives are given first: on a wire in memory it is them who move their messages.
  static Status wait(std::vector<RequestHandle> requests) { return wait_for_all(requests, soon(), "a message"); }
  template <class... Requests>
  static Status wait(RequestHandle request, Requests... more) {
    std::vector<RequestHandle> all;
    all.push_back(std::move(request));
    (all.push_back(std::move(more)), ...);
    return wait(std::move(all));
  }
  // Until it has come, as whoever looks again and again does.
  std::optional<std::int32_t> probe_until_there(std::int32_t tag) {
    Patience patience(soon());
    for (;;) {
      const std::optional<std::int32_t> from = last().probe(tag).value();
      if (from || patience.over()) return from;
      patience.pause();
    }
  }

  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

TEST_P(WireContract, ranks_know_their_numbers_and_their_hosts) {
  for (std::size_t rank = 0; rank < wires_.size(); ++rank) {
    EXPECT_FALSE(wires_[rank]->name().empty());
    EXPECT_EQ(wires_[rank]->rank(), static_cast<std::int32_t>(rank));
    EXPECT_EQ(wires_[rank]->size(), GetParam().ranks);
    EXPECT_EQ(wires_[rank]->host_of(0), 0) << "hosts are numbered in the order of their lowest ranks";
    EXPECT_EQ(channels_[rank]->place(), static_cast<std::int32_t>(rank));
  }
}

TEST_P(WireContract, messages_of_all_sizes_arrive_whole) {
  for (const std::size_t bytes : {0, 1, 2047, 2048, 2049, 4096, 61'440, 1'048'576, 1'048'577, 5'000'003}) {
    const Bytes sent = message(bytes, 3);
    Bytes got(bytes, std::byte{0xee});
    RequestHandle receiving = receive(got, 1);
    RequestHandle sending = send(sent, 1);
    const Status status = wait(std::move(receiving), std::move(sending));
    ASSERT_TRUE(status) << bytes << ": " << status.error().message;
    EXPECT_TRUE(got == sent) << bytes;
  }
}

TEST_P(WireContract, messages_go_both_ways_at_once) {
  constexpr std::size_t bytes = 300'001;
  std::vector<Bytes> got(wires_.size(), Bytes(bytes));
  in_all_ranks([&](std::size_t rank) {
    Channel& channel = *channels_[rank];
    const auto other = static_cast<std::int32_t>(wires_.size() - 1 - rank);
    for (int round = 0; round < 20; ++round) {
      const Bytes sent = message(bytes, static_cast<int>(rank) + round);
      RequestHandle receiving = channel.irecv(got[rank], other, 5).value();
      RequestHandle sending = channel.isend(sent, other, 5).value();
      ASSERT_TRUE(wait(std::move(receiving), std::move(sending)));
      ASSERT_TRUE(got[rank] == message(bytes, other + round));
    }
  });
}

TEST_P(WireContract, messages_of_one_tag_arrive_in_order_whatever_their_sizes) {
  std::vector<Bytes> sent;
  std::vector<Bytes> got;
  for (int i = 0; i < 60; ++i) {
    sent.push_back(message(static_cast<std::size_t>(i % 3 == 0 ? 100'000 + i : i % 3 == 1 ? 8 : 2'100), i));
    got.emplace_back(sent.back().size());
  }
  std::vector<RequestHandle> requests;
  for (std::size_t i = 0; i < 30; ++i) requests.push_back(receive(got[i], 2));
  for (const Bytes& one : sent) requests.push_back(send(one, 2));
  for (std::size_t i = 30; i < 60; ++i) requests.push_back(receive(got[i], 2));
  // In the order of the messages: receives, then sends.
  std::rotate(requests.begin() + 30, requests.begin() + 90, requests.end());
  const Status status = wait(std::move(requests));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(got == sent);
}

TEST_P(WireContract, messages_of_other_tags_and_channels_are_not_met) {
  const std::vector<std::unique_ptr<Channel>> others = channels();
  const Bytes one = message(5'000, 1);
  const Bytes two = message(5'000, 2);
  const Bytes three = message(5'000, 3);
  Bytes got_one(5'000);
  Bytes got_two(5'000);
  Bytes got_three(5'000);
  std::vector<RequestHandle> sends;
  sends.push_back(others.front()->isend(three, last_place(), 1).value());
  sends.push_back(send(two, 2));
  sends.push_back(send(one, 1));
  ASSERT_TRUE(wait(receive(got_one, 1)));
  ASSERT_TRUE(wait(receive(got_two, 2), others.back()->irecv(got_three, 0, 1).value()));
  EXPECT_TRUE(got_one == one && got_two == two && got_three == three);
  ASSERT_TRUE(wait(std::move(sends)));
}

TEST_P(WireContract, a_message_that_nobody_has_asked_for_is_found_until_it_is_received) {
  for (const std::size_t bytes : {16, 100'000}) {
    EXPECT_EQ(last().probe(7).value(), std::nullopt);
    const Bytes sent = message(bytes, 1);
    RequestHandle sending = send(sent, 7);
    EXPECT_EQ(probe_until_there(7), 0);
    EXPECT_EQ(last().probe(8).value(), std::nullopt) << "that is another tag";
    EXPECT_EQ(last().probe(7).value(), 0) << "it is still there";
    Bytes got(bytes);
    ASSERT_TRUE(wait(receive(got, 7), std::move(sending)));
    EXPECT_TRUE(got == sent);
    EXPECT_EQ(last().probe(7).value(), std::nullopt);
  }
}

TEST_P(WireContract, a_short_message_leaves_though_nobody_receives_it) {
  const Bytes sent = message(64, 1);
  EXPECT_TRUE(wait(send(sent, 3)));
  Bytes got(64);
  ASSERT_TRUE(wait(receive(got, 3)));
  EXPECT_TRUE(got == sent);
}

TEST_P(WireContract, another_size_than_expected_is_an_error_that_names_the_sender_and_what_follows_is_right) {
  for (const auto& [size, expected] : {std::pair{8, 4}, {4, 8}, {90'000, 80'000}, {80'000, 90'000}, {8, 90'000}}) {
    const Bytes sent = message(static_cast<std::size_t>(size), 1);
    Bytes got(static_cast<std::size_t>(expected));
    RequestHandle receiving = receive(got, 4);
    RequestHandle sending = send(sent, 4);
    const Status status = wait(std::move(receiving));
    ASSERT_FALSE(status) << size;
    EXPECT_EQ(status.error().kind, ErrorKind::peer);
    EXPECT_THAT(status.error().message, testing::HasSubstr("rank 0"));
    EXPECT_TRUE(wait(std::move(sending)));
    Bytes next(1'000);
    ASSERT_TRUE(wait(receive(next, 4), send(message(1'000, 9), 4)));
    EXPECT_TRUE(next == message(1'000, 9));
  }
}

TEST_P(WireContract, a_receive_that_was_cancelled_writes_nothing_and_takes_nothing) {
  Bytes spared(3'000, std::byte{0xee});
  RequestHandle spare = receive(spared, 6);
  spare->cancel();
  spare.reset();
  const Bytes sent = message(3'000, 5);
  Bytes got(3'000);
  RequestHandle sending = send(sent, 6);
  ASSERT_TRUE(wait(receive(got, 6), std::move(sending)));
  EXPECT_TRUE(got == sent);
  EXPECT_TRUE(spared == Bytes(3'000, std::byte{0xee}));
}

TEST_P(WireContract, a_request_says_who_is_at_the_other_end_and_stays_complete) {
  const Bytes sent = message(10, 1);
  Bytes got(10);
  RequestHandle sending = send(sent, 9);
  RequestHandle receiving = receive(got, 9);
  EXPECT_EQ(sending->peer(), last_place());
  EXPECT_EQ(receiving->peer(), 0);
  Patience patience(soon());
  while (!receiving->test().value() && !patience.over()) patience.pause();
  EXPECT_TRUE(receiving->test().value());
  EXPECT_TRUE(wait(std::move(sending)));
}

TEST_P(WireContract, threads_with_tags_of_their_own_do_not_disturb_each_other) {
  std::vector<std::thread> threads;
  for (std::int32_t tag = 10; tag < 16; ++tag) {
    threads.emplace_back([this, tag] {
      for (int i = 0; i < 40; ++i) {
        const Bytes sent = message(i % 4 == 3 ? 70'000 : 500, tag + i);
        Bytes got(sent.size());
        RequestHandle receiving = receive(got, tag);
        RequestHandle sending = send(sent, tag);
        ASSERT_TRUE(wait(std::move(receiving), std::move(sending)));
        ASSERT_TRUE(got == sent) << tag << " " << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(WireContract, requests_and_channels_may_outlive_the_wire) {
  const Bytes sent = message(4'000, 2);
  Bytes got(4'000);
  wires_.clear();
  RequestHandle receiving = receive(got, 1);
  RequestHandle sending = send(sent, 1);
  ASSERT_TRUE(wait(std::move(receiving), std::move(sending)));
  EXPECT_TRUE(got == sent);
}

}  // namespace hocket
