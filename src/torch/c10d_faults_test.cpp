// What ranks hear of one that has died or is stuck: processes, since threads don't die alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "support/gloo_groups.h"
#include "support/processes.h"
#include "support/temporary_folder.h"
#include "torch/c10d_wire.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }

class C10dFaults : public testing::Test {
 protected:
  // The body gets the wire and the channel of all ranks, and says what it found.
  using Body = std::function<std::string(std::unique_ptr<Wire>, std::unique_ptr<Channel>)>;
  std::vector<RankOutcome> on_processes(int count, const Body& body) {
    const std::string file = folder_.path() + "/store";
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    for (int rank = 0; rank < count; ++rank) all[static_cast<std::size_t>(rank)] = rank;
    return run_ranks(count, [&](int rank) -> std::string {
      const auto store = c10::make_intrusive<c10d::FileStore>(file, count);
      auto wire = make_c10d_wire(gloo_group(store, rank, count), GroupUse::alone, in(20s));
      if (!wire) return wire.error().message;
      auto channel = (*wire)->channel(all, in(20s));
      if (!channel) return channel.error().message;
      return body(std::move(*wire), std::move(*channel));
    });
  }
  static std::string said(const Status& status) {
    return status ? "went well" : std::string(name_of(status.error().kind)) + ": " + status.error().message;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(C10dFaults, a_write_to_a_rank_that_has_died_does_not_end_the_process) {
  const auto outcomes = on_processes(2, [](std::unique_ptr<Wire>, std::unique_ptr<Channel>) -> std::string {
    return raise(SIGPIPE) == 0 ? "lives" : "can't raise it";
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "lives");
}

TEST_F(C10dFaults, a_rank_that_dies_is_named_to_all_who_wait_for_it_and_others_go_on) {
  const auto outcomes = on_processes(3, [](std::unique_ptr<Wire> wire, std::unique_ptr<Channel> channel) {
    if (wire->rank() == 2) {
      std::this_thread::sleep_for(100ms);
      kill(getpid(), SIGKILL);
    }
    std::vector<std::byte> data(10'000'000);
    const RequestHandle request =  // a receive at one rank, a long send at the other
        wire->rank() == 0 ? channel->irecv(data, 2, 1).value() : channel->isend(data, 2, 2).value();
    const auto begin = Clock::now();
    std::string words = said(wait_for_all({&request, 1}, in(10s), "a message"));
    if (Clock::now() - begin > 2s) words += " too late";
    const std::int32_t other = 1 - wire->rank();
    std::vector<std::byte> got(data.size());
    std::vector<RequestHandle> requests;
    requests.push_back(channel->irecv(got, other, 3).value());
    requests.push_back(channel->isend(data, other, 3).value());
    return words + "; then it " + said(wait_for_all(requests, in(10s), "a message"));
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(outcomes[static_cast<std::size_t>(rank)].said,
                StartsWith("peer: the connection to rank 2 is lost: it has died, or its host can't be reached (C"));
    EXPECT_THAT(outcomes[static_cast<std::size_t>(rank)].said, HasSubstr("); then it went well"));
  }
  EXPECT_EQ(outcomes[2].signal, SIGKILL);
}

TEST_F(C10dFaults, a_rank_that_dies_in_the_middle_of_long_messages_is_named) {
  const auto outcomes = on_processes(2, [](std::unique_ptr<Wire> wire, std::unique_ptr<Channel> channel) {
    constexpr std::size_t large = 400'000'000;
    std::vector<std::byte> sent(large);
    std::vector<std::byte> got(large);
    std::vector<RequestHandle> requests;
    requests.push_back(channel->irecv(got, 1 - wire->rank(), 1).value());
    requests.push_back(channel->isend(sent, 1 - wire->rank(), 1).value());
    if (wire->rank() == 1) {
      std::this_thread::sleep_for(30ms);
      kill(getpid(), SIGKILL);
    }
    return said(wait_for_all(requests, in(10s), "a message"));
  });
  EXPECT_THAT(outcomes[0].said, StartsWith("peer: the connection to rank 1 is lost"));
}

TEST_F(C10dFaults, a_rank_that_is_stopped_holds_nobody_up_who_leaves) {
  const auto outcomes = on_processes(2, [](std::unique_ptr<Wire> wire, std::unique_ptr<Channel> channel) {
    std::int32_t pid = getpid();
    std::vector<std::byte> bytes(sizeof pid);
    if (wire->rank() == 1) {
      std::memcpy(bytes.data(), &pid, sizeof pid);
      const RequestHandle request = channel->isend(bytes, 0, 1).value();
      std::this_thread::sleep_for(10s);  // stopped meanwhile
      return std::string();
    }
    RequestHandle request = channel->irecv(bytes, 1, 1).value();
    if (!wait_for_all({&request, 1}, in(10s), "a message")) return std::string("no message");
    std::memcpy(&pid, bytes.data(), sizeof pid);
    kill(pid, SIGSTOP);
    const std::vector<std::byte> unread(50'000'000);
    request = channel->isend(unread, 1, 2).value();
    const auto begin = Clock::now();
    request.reset();
    channel.reset();
    wire.reset();
    const auto took = Clock::now() - begin;
    kill(pid, SIGKILL);
    return std::string(took < 4s ? "in time" : "too late");
  });
  EXPECT_EQ(outcomes[0].said, "in time");
}

}  // namespace
}  // namespace hocket
