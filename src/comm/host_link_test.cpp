#include "comm/host_link.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>

#include "comm/meeting.h"
#include "support/processes.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

MeetingPlace a_place() { return MeetingPlace::random().value(); }

constexpr auto longest_delay = 1s;  // that strangers may cause

// What rank 0 makes of a meeting of two, and what a well-behaved rank 1 does, while `stranger` bothers them.
void expect_meeting_in_spite_of(const std::function<void(const MeetingPlace&)>& stranger) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(3, [&](int rank) -> std::string {
    if (rank == 2) return stranger(place), "done";
    if (rank == 1) std::this_thread::sleep_for(50ms);  // the stranger is first
    const Deadline start = in(0s);
    const auto link = HostLink::meet(place, rank, 2, in(5s));
    if (in(0s) - start > longest_delay) return "late";
    return link ? "met" : link.error().message;
  });
  EXPECT_EQ(ranks[0].said, "met");
  EXPECT_EQ(ranks[1].said, "met");
  EXPECT_EQ(ranks[2].said, "done");
}

FileDescriptor connect_when_there(const MeetingPlace& place) {
  for (;;) {
    Result<FileDescriptor> socket = try_connect(place.name);
    if (socket && socket->valid()) return std::move(*socket);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Processes, say_what_they_found_or_how_they_ended) {
  const auto ranks = run_ranks(
      4,
      [](int rank) -> std::string {
        if (rank == 1) raise(SIGKILL);
        if (rank == 2) _exit(7);
        if (rank == 3) std::this_thread::sleep_for(1h);
        return "fine";
      },
      200ms);
  EXPECT_EQ(ranks[0].said, "fine");
  EXPECT_EQ(ranks[0].exit_code, 0);
  EXPECT_EQ(ranks[1].signal, SIGKILL);
  EXPECT_FALSE(ranks[1].timed_out);
  EXPECT_EQ(ranks[2].exit_code, 7);
  EXPECT_TRUE(ranks[3].timed_out);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
}

TEST(HostLink, everyone_gets_the_packets_of_all) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(5, [&](int rank) -> std::string {
    auto link = HostLink::meet(place, rank, 5, in(5s));
    if (!link) return link.error().message;
    std::string said;
    for (int round = 0; round < 3; ++round) {
      const auto all = link->exchange(fmt::format("{}.{} ", rank, round), {}, in(5s));
      if (!all) return all.error().message;
      for (const Packet& packet : *all) said += packet.bytes;
    }
    return said;
  });
  for (const RankOutcome& rank : ranks) {
    EXPECT_EQ(rank.said, "0.0 1.0 2.0 3.0 4.0 0.1 1.1 2.1 3.1 4.1 0.2 1.2 2.2 3.2 4.2 ");
  }
}

TEST(HostLink, passes_descriptors) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(3, [&](int rank) -> std::string {
    auto link = HostLink::meet(place, rank, 3, in(5s));
    if (!link) return link.error().message;
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const auto all = link->exchange("pipe", {ends[1]}, in(5s));
    if (!all) return all.error().message;
    for (const Packet& packet : *all) {
      const char name = static_cast<char>('0' + rank);
      if (write(packet.descriptors.at(0).number(), &name, 1) != 1) return "not written";
    }
    std::string heard(3, ' ');
    for (char& name : heard) {
      if (read(ends[0], &name, 1) != 1) return "not read";
    }
    std::sort(heard.begin(), heard.end());
    return heard;
  });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "012");
}

TEST(HostLink, a_rank_alone_meets_itself) {
  auto link = HostLink::meet(a_place(), 0, 1, in(1s));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->exchange("me", {}, in(1s))->at(0).bytes, "me");
  EXPECT_FALSE(HostLink::meet(a_place(), 1, 1, in(1s)));
}

TEST(HostLink, names_the_ranks_that_did_not_come) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(2, [&](int rank) -> std::string {
    const auto link = HostLink::meet(place, rank, 4, in(rank == 0 ? 200ms : 5s));
    return link ? "met" : link.error().message;
  });
  EXPECT_EQ(ranks[0].said, "rank 2, 3 did not come to the meeting of 4 ranks in time");
  EXPECT_EQ(ranks[1].said, "rank 0 turned rank 1 away: " + ranks[0].said);
  EXPECT_EQ(HostLink::meet(a_place(), 1, 2, in(20ms)).error().message,
            "rank 1 waited in vain for the meeting of 2 ranks: rank 0 did not come");
}

TEST(HostLink, says_what_is_wrong_with_a_rank) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(2, [&](int rank) -> std::string {
    const auto link = HostLink::meet(place, rank, rank == 0 ? 2 : 3, in(rank == 0 ? 300ms : 5s));
    return link ? "met" : link.error().message;
  });
  const std::string mistake = "rank 1 expects 3 ranks, rank 0 expects 2";
  EXPECT_EQ(ranks[0].said, "rank 1 did not come to the meeting of 2 ranks in time; turned away: " + mistake);
  EXPECT_EQ(ranks[1].said, "rank 0 turned rank 1 away: " + mistake);
}

TEST(HostLink, two_processes_cannot_be_the_same_rank) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(3, [&](int process) -> std::string {
    const auto link = HostLink::meet(place, process == 0 ? 0 : 1, 3, in(300ms));
    return link ? "met" : link.error().message;
  });
  const std::string refused = "rank 0 turned rank 1 away: two processes are rank 1";
  EXPECT_EQ((ranks[1].said == refused) + (ranks[2].said == refused), 1) << ranks[1].said << " / " << ranks[2].said;
}

TEST(HostLink, clients_that_say_nothing_block_nobody) {
  expect_meeting_in_spite_of([](const MeetingPlace& place) {
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(connect_when_there(place));
    std::this_thread::sleep_for(200ms);
  });
}

TEST(HostLink, clients_with_a_wrong_token_or_nonsense_are_turned_away) {
  expect_meeting_in_spite_of([](const MeetingPlace& place) {
    for (std::size_t i = 0; i < 32; ++i) {
      Hello hello{place.token, 1, 2};
      hello.token[i] ^= 1;
      const FileDescriptor socket = connect_when_there(place);
      static_cast<void>(send_packet(socket, hello.to_bytes(), {}, in(1s)));
    }
    static_cast<void>(send_packet(connect_when_there(place), "GET / HTTP/1.1", {}, in(1s)));
    static_cast<void>(send_packet(connect_when_there(place), std::string(largest_packet, 'x'), {0, 1, 2}, in(1s)));
  });
}

// Each as fast as it can for as long as the others meet: connections that stay silent, that go at once, and that say something wrong.
TEST(HostLink, strangers_that_never_stop_delay_the_start_by_less_than_a_second) {
  expect_meeting_in_spite_of([](const MeetingPlace& place) {
    std::vector<std::thread> strangers;
    const Deadline end = in(300ms);
    for (int kind = 0; kind < 3; ++kind) {
      strangers.emplace_back([&, kind] {
        std::vector<FileDescriptor> kept;
        while (in(0s) < end) {
          Result<FileDescriptor> socket = try_connect(place.name);
          if (!socket || !socket->valid()) continue;
          if (kind == 2) static_cast<void>(send_packet(*socket, Hello{{}, 1, 2}.to_bytes(), {}, in(0s)));
          if (kind == 0) kept.push_back(std::move(*socket));
          if (kept.size() > 200) kept.clear();
        }
      });
    }
    for (std::thread& one : strangers) one.join();
  });
}

TEST(HostLink, another_user_is_turned_away_though_it_has_the_secret) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  expect_meeting_in_spite_of([](const MeetingPlace& place) {
    constexpr uid_t nobody = 65534;
    if (setgid(nobody) != 0 || setuid(nobody) != 0) std::abort();
    const FileDescriptor socket = connect_when_there(place);
    static_cast<void>(send_packet(socket, Hello{place.token, 1, 2}.to_bytes(), {}, in(1s)));
    if (receive_packet(socket, in(1s))) std::abort();  // the others would see that rank 2 is not done
  });
}

TEST(HostLink, all_hear_of_a_rank_that_is_lost) {
  const MeetingPlace place = a_place();
  const auto ranks = run_ranks(4, [&](int rank) -> std::string {
    auto link = HostLink::meet(place, rank, 4, in(5s));
    if (!link) return link.error().message;
    if (rank == 2) raise(SIGKILL);
    const auto all = link->exchange("x", {}, in(5s));
    const auto again = link->exchange("y", {}, in(5s));
    return all || again || again.error() != all.error() ? "no error" : all.error().message;
  });
  for (const int rank : {0, 1, 3}) EXPECT_EQ(ranks[rank].said, "lost rank 2: it closed the connection");
}

}  // namespace
}  // namespace hocket
