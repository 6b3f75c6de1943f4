#include "torch/c10d_wire.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>

#include "support/gloo_groups.h"
#include "support/wire_contract.h"
#include "torch/c10d_line.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

using Wires = std::vector<std::unique_ptr<Wire>>;

Wires wires_over(const std::vector<GroupPointer>& groups, GroupUse use) {
  Wires wires(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    threads.emplace_back([&, rank] { wires[rank] = make_c10d_wire(groups[rank], use, in(20s)).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  return wires;
}

Wires make_gloo_wires(int ranks) { return wires_over(gloo_groups(ranks), GroupUse::alone); }

INSTANTIATE_TEST_SUITE_P(, WireContract,
                         testing::Values(WireMaker{"gloo_of_two", make_gloo_wires, 2},
                                         WireMaker{"gloo_of_three", make_gloo_wires, 3},
                                         WireMaker{"gloo_of_one", make_gloo_wires, 1}),
                         name_of_wire);

// Two ranks and the channel between them.
struct Pair {
  explicit Pair(Wires its_wires) : wires(std::move(its_wires)) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] { channels[rank] = wires[rank]->channel(std::vector{0, 1}, in(20s)).value(); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void leave(std::size_t rank) {
    channels[rank].reset();
    wires[rank].reset();
  }
  Status pass(const std::vector<std::byte>& sent, std::vector<std::byte>& got, std::int32_t tag) {
    std::vector<RequestHandle> requests;
    requests.push_back(channels[1]->irecv(got, 0, tag).value());
    requests.push_back(channels[0]->isend(sent, 1, tag).value());
    return wait_for_all(requests, in(20s), "a message");
  }

  Wires wires;
  std::unique_ptr<Channel> channels[2];
};

std::vector<std::byte> bytes_of(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST(C10dWire, exchanges_texts_of_different_lengths) {
  const Wires wires = make_gloo_wires(3);
  std::vector<std::vector<std::string>> got(3);
  std::vector<std::thread> threads;
  const std::vector<std::string> texts = {"a", "", std::string(10'000, 'x')};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] { got[rank] = wires[rank]->exchange(texts[rank], in(20s)).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) EXPECT_EQ(one, texts);
  EXPECT_EQ(wires[0]->name(), "c10d gloo");
}

TEST(C10dWire, names_a_rank_that_does_not_come_to_a_channel) {
  const Wires wires = make_gloo_wires(2);
  const auto channel = wires[0]->channel(std::vector{0, 1}, in(50ms));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().kind, ErrorKind::peer);
  EXPECT_THAT(channel.error().message, HasSubstr("rank 1 did not come to the forming of a group of 2 ranks"));
}

TEST(C10dWire, has_said_all_when_it_goes) {
  Pair pair(make_gloo_wires(2));
  for (int i = 0; i < 100; ++i) pair.channels[0]->isend(bytes_of(1'000, i), 1, 1).value();
  pair.leave(0);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::byte> got(1'000);
    const RequestHandle request = pair.channels[1]->irecv(got, 0, 1).value();
    ASSERT_TRUE(wait_for_all({&request, 1}, in(5s), "a message")) << i;
    ASSERT_TRUE(got == bytes_of(1'000, i));
  }
}

TEST(C10dWire, names_a_rank_that_has_left) {
  Pair pair(make_gloo_wires(2));
  pair.leave(1);
  std::vector<std::byte> got(10);
  const RequestHandle receive = pair.channels[0]->irecv(got, 1, 1).value();
  const Status status = wait_for_all({&receive, 1}, in(5s), "a message");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::peer);
  EXPECT_EQ(status.error().message, "rank 1 has left: it sends and receives nothing any more");
  const std::vector<std::byte> sent(100'000);
  const RequestHandle send = pair.channels[0]->isend(sent, 1, 1).value();
  EXPECT_EQ(wait_for_all({&send, 1}, in(5s), "a message").error().message, status.error().message);
}

TEST(C10dWire, a_long_message_whose_receive_goes_in_the_middle_is_forgotten_and_others_come) {
  Pair pair(make_gloo_wires(2));
  const std::vector<std::byte> sent = bytes_of(40'000'000, 1);
  const RequestHandle send = pair.channels[0]->isend(sent, 1, 1).value();
  auto spared = bytes_of(sent.size(), 9);
  RequestHandle receive = pair.channels[1]->irecv(spared, 0, 1).value();
  Patience patience(in(5s));
  while (spared[0] != sent[0] && !patience.over()) patience.pause();
  receive.reset();
  const std::vector<std::byte> seen = spared;
  EXPECT_TRUE(wait_for_all({&send, 1}, in(20s), "a message")) << "it has still to leave";
  std::vector<std::byte> got(50'000);
  ASSERT_TRUE(pair.pass(bytes_of(50'000, 3), got, 1));
  EXPECT_TRUE(got == bytes_of(50'000, 3));
  EXPECT_TRUE(spared == seen) << "nobody writes it any more";
}

TEST(C10dWire, sleeps_while_nothing_comes) {
  Pair pair(make_gloo_wires(2));
  std::vector<std::byte> got(10);
  ASSERT_TRUE(pair.pass(bytes_of(10, 1), got, 1));  // all threads are there
  std::vector<std::byte> long_one(100'000);
  ASSERT_TRUE(pair.pass(bytes_of(100'000, 1), long_one, 1));
  const RequestHandle receive = pair.channels[1]->irecv(got, 0, 1).value();
  const auto cpu_time = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  };
  const auto before = cpu_time();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(cpu_time() - before, 50ms) << "of 500 ms; the threads of two groups of gloo take a few of them";
}

TEST(C10dWire, two_in_turn_over_a_group_that_the_program_uses_too) {
  const std::vector<GroupPointer> groups = gloo_groups(2);
  for (int turn = 0; turn < 2; ++turn) {
    Pair pair(wires_over(groups, GroupUse::shared));
    std::vector<at::Tensor> received{at::zeros({4}, at::kByte)};
    std::vector<at::Tensor> sent{at::full({4}, 7 + turn, at::kByte)};
    const auto own = groups[1]->recv(received, 0, 1);
    std::vector<std::byte> got(90'000);
    ASSERT_TRUE(pair.pass(bytes_of(90'000, turn), got, 1));
    EXPECT_TRUE(got == bytes_of(90'000, turn));
    groups[0]->send(sent, 1, 1)->wait();
    EXPECT_TRUE(own->wait());
    EXPECT_TRUE(at::equal(received[0], sent[0]));
    std::thread other([&] { pair.leave(0); });
    pair.leave(1);
    other.join();
  }
}

TEST(C10dWire, wants_a_group_for_cpu_memory) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, 0, 1);
  const auto wire = make_c10d_wire(group, GroupUse::shared, in(1s));
  ASSERT_FALSE(wire);
  EXPECT_EQ(wire.error().kind, ErrorKind::usage);
  EXPECT_THAT(wire.error().message, HasSubstr("make it with \"gloo\", or with \"cpu:gloo,cuda:nccl\""));
}

}  // namespace
}  // namespace hocket
