// The wire over a table of functions that has no MPI behind it: a program of one rank, whose messages go to itself.
#include "comm/wire_mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "support/memory_wire.h"
#include "support/wire_contract.h"

struct HocketMpiRequest {
  std::pair<int, std::int32_t> box;  // space and tag
  bool receives = false;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
};

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// What the table's functions, which have no object to belong to, work on.
struct FakeMpi {
  HocketMpiStarted started{0, 1, hocket_mpi_any_thread, 0, 8 * Channel::tags};
  int send_error = 0;
  int cancelled = 0;
  int dropped = 0;
  int looks_to_the_end = 0;  // of a message that is cancelled, until nothing touches its memory
  int stopped = 0;
  std::set<std::thread::id> callers;
  std::map<std::pair<int, std::int32_t>, std::deque<std::vector<std::byte>>> boxes;

  static FakeMpi& now() {
    static FakeMpi fake;
    return fake;
  }
  void is_called() { callers.insert(std::this_thread::get_id()); }
};

int fake_start(HocketMpiStarted* started) {
  FakeMpi::now().is_called();
  *started = FakeMpi::now().started;
  return 0;
}
int fake_stop() { return ++FakeMpi::now().stopped, 0; }
void fake_library(char* text, std::int32_t bytes) {
  std::strncpy(text, "Fake\tMPI 1.0, built today", static_cast<std::size_t>(bytes));
}
void fake_explain(int error, char* text, std::int32_t bytes) {
  std::strncpy(text, error == hocket_mpi_wrong_size ? "another size" : "no route", static_cast<std::size_t>(bytes));
}
int fake_all_gather(const void* mine, void* all, std::int32_t bytes, HocketMpiRequest** request) {
  std::memcpy(all, mine, static_cast<std::size_t>(bytes));
  *request = new HocketMpiRequest;
  return 0;
}
int fake_send(HocketMpiSpace space, const void* data, std::int64_t bytes, std::int32_t, std::int32_t tag,
              HocketMpiRequest** request) {
  FakeMpi& fake = FakeMpi::now();
  fake.is_called();
  if (fake.send_error != 0) return fake.send_error;
  const auto* const begin = static_cast<const std::byte*>(data);
  fake.boxes[{space, tag}].emplace_back(begin, begin + bytes);
  *request = new HocketMpiRequest;
  return 0;
}
int fake_receive(HocketMpiSpace space, void* data, std::int64_t bytes, std::int32_t, std::int32_t tag,
                 HocketMpiRequest** request) {
  FakeMpi::now().is_called();
  *request = new HocketMpiRequest{{space, tag}, true, static_cast<std::byte*>(data), static_cast<std::size_t>(bytes)};
  return 0;
}
int fake_probe(HocketMpiSpace space, std::int32_t tag, std::int32_t* rank) {
  *rank = FakeMpi::now().boxes[{space, tag}].empty() ? -1 : 0;
  return 0;
}
int fake_test(HocketMpiRequest* request, std::int32_t* done) {
  FakeMpi& fake = FakeMpi::now();
  fake.is_called();
  *done = 0;
  bool fits = true;
  if (request->receives) {
    auto& box = fake.boxes[request->box];
    if (box.empty()) return 0;
    fits = box.front().size() == request->bytes;
    if (fits && request->bytes > 0) std::memcpy(request->to, box.front().data(), request->bytes);
    box.pop_front();
  }
  *done = 1;
  delete request;
  return fits ? 0 : hocket_mpi_wrong_size;
}
void fake_cancel(HocketMpiRequest* request, std::int32_t* done) {
  *done = FakeMpi::now().looks_to_the_end-- <= 0 ? 1 : 0;
  if (*done == 0) return;
  ++FakeMpi::now().cancelled;
  delete request;
}
void fake_drop(HocketMpiRequest* request) {
  ++FakeMpi::now().dropped;
  delete request;
}

constexpr HocketMpiTable table{hocket_mpi_table_version,
                               "none",
                               fake_start,
                               fake_stop,
                               fake_library,
                               fake_explain,
                               fake_all_gather,
                               fake_send,
                               fake_receive,
                               fake_probe,
                               fake_test,
                               fake_cancel,
                               fake_drop};

class MpiWireOfOne : public testing::Test {
 protected:
  void SetUp() override { FakeMpi::now() = FakeMpi{}; }
  static Result<std::unique_ptr<Wire>> open(bool one_thread = false) {
    return make_mpi_wire(table, one_thread, soon());
  }
  static Deadline soon() { return std::chrono::steady_clock::now() + 5s; }
  static std::unique_ptr<Channel> channel_of(Wire& wire) { return wire.channel(std::vector{0}, soon()).value(); }
  static std::span<std::byte> bytes_of(int& number) { return {reinterpret_cast<std::byte*>(&number), sizeof number}; }
  static Status pass(Channel& from, Channel& to, int sent, int& got, std::int32_t tag = 1) {
    std::vector<RequestHandle> requests;
    HOCKET_TRY(RequestHandle receive, to.irecv(bytes_of(got), 0, tag));
    HOCKET_TRY(RequestHandle send, from.isend(bytes_of(sent), 0, tag));
    requests.push_back(std::move(receive));
    requests.push_back(std::move(send));
    return wait_for_all(requests, std::chrono::steady_clock::now() + 50ms, "a message");
  }
};

std::vector<std::unique_ptr<Wire>> make_fake_mpi_wire(int) {
  FakeMpi::now() = FakeMpi{};
  std::vector<std::unique_ptr<Wire>> wires;
  // What has no MPI behind it has no locks either.
  wires.push_back(make_mpi_wire(table, true, std::chrono::steady_clock::now() + 5s).value());
  return wires;
}

std::vector<std::unique_ptr<Wire>> make_memory_wires(int ranks) {
  const auto network = std::make_shared<MemoryNetwork>();
  std::vector<std::unique_ptr<Wire>> wires;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    wires.push_back(std::make_unique<MemoryWire>(network, std::vector<std::int32_t>{0, 1, 0}, rank));
  }
  return wires;
}

INSTANTIATE_TEST_SUITE_P(, WireContract,
                         testing::Values(WireMaker{"mpi", make_fake_mpi_wire, 1},
                                         WireMaker{"memory", make_memory_wires, 3}),
                         name_of_wire);

TEST_F(MpiWireOfOne, a_write_to_a_rank_that_has_died_does_not_end_the_process) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const auto wire = open();
  ASSERT_TRUE(wire) << wire.error().to_string();
  EXPECT_EQ(raise(SIGPIPE), 0);
  std::signal(SIGPIPE, before);
}

TEST_F(MpiWireOfOne, says_what_it_runs_on_in_a_few_words) {
  const auto wire = open().value();
  EXPECT_EQ(wire->name(), "Fake MPI 1.0");
  EXPECT_EQ(wire->rank(), 0);
  EXPECT_EQ(wire->size(), 1);
  EXPECT_EQ(wire->host_of(0), 0);
  EXPECT_EQ(wire->exchange("hello", soon()).value(), std::vector<std::string>{"hello"});
}

TEST_F(MpiWireOfOne, passes_messages_on_and_keeps_channels_apart) {
  const auto wire = open().value();
  const auto first = channel_of(*wire);
  const auto second = channel_of(*wire);
  int got = 0;
  EXPECT_TRUE(pass(*first, *first, 42, got));
  EXPECT_EQ(got, 42);
  EXPECT_THAT(pass(*first, *second, 43, got).error().message, HasSubstr("rank 0 did not come to a message in time"));
}

TEST_F(MpiWireOfOne, finds_messages_that_nobody_has_asked_for) {
  const auto wire = open().value();
  const auto channel = channel_of(*wire);
  EXPECT_EQ(channel->probe(3).value(), std::nullopt);
  int number = 5;
  EXPECT_TRUE(channel->isend(bytes_of(number), 0, 3).value()->test().value());
  EXPECT_EQ(channel->probe(3).value(), 0);
  EXPECT_EQ(channel->probe(4).value(), std::nullopt);
}

TEST_F(MpiWireOfOne, gives_channel_numbers_back_and_says_when_there_are_none) {
  const auto wire = open().value();
  std::vector<std::unique_ptr<Channel>> channels;
  for (int i = 0; i < 8; ++i) channels.push_back(channel_of(*wire));
  const auto more = wire->channel(std::vector{0}, soon());
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("8 groups that span hosts, which is all that MPI has tags for"));
  channels.pop_back();
  EXPECT_TRUE(wire->channel(std::vector{0}, soon()));
}

TEST_F(MpiWireOfOne, puts_errors_into_the_words_of_the_library) {
  const auto wire = open().value();
  const auto channel = channel_of(*wire);
  int number = 1;
  std::int64_t longer = 0;
  const auto receive = channel->irecv({reinterpret_cast<std::byte*>(&longer), sizeof longer}, 0, 1).value();
  ASSERT_TRUE(channel->isend(bytes_of(number), 0, 1).value()->test().value());
  EXPECT_EQ(receive->test().error().message,
            "the message from or to rank 0 failed: MPI could not pass a message on: another size");
  FakeMpi::now().send_error = 77;
  EXPECT_EQ(channel->isend(bytes_of(number), 0, 1).error().message,
            "the message from or to rank 0 failed: MPI could not begin a message: no route");
}

TEST_F(MpiWireOfOne, ends_mpi_with_its_last_user) {
  auto wire = open().value();
  auto channel = channel_of(*wire);
  wire.reset();
  EXPECT_EQ(FakeMpi::now().stopped, 0);
  channel.reset();
  EXPECT_EQ(FakeMpi::now().stopped, 1);
}

TEST_F(MpiWireOfOne, does_not_end_mpi_when_a_message_was_given_up) {
  int number = 0;
  { const auto lost = channel_of(*open().value())->irecv(bytes_of(number), 0, 1).value(); }
  EXPECT_EQ(FakeMpi::now().cancelled, 1);
  EXPECT_EQ(FakeMpi::now().stopped, 0) << "it would wait for a rank that does not answer";
}

// MPI goes on writing the memory of a receive that is half there, which its owner may let go of next.
TEST_F(MpiWireOfOne, waits_for_the_end_of_a_message_that_was_given_up_while_it_came) {
  int number = 0;
  FakeMpi::now().looks_to_the_end = 3;
  { const auto lost = channel_of(*open().value())->irecv(bytes_of(number), 0, 1).value(); }
  EXPECT_EQ(FakeMpi::now().cancelled, 1);
  EXPECT_EQ(FakeMpi::now().dropped, 0);
}

TEST_F(MpiWireOfOne, does_not_wait_for_long_for_messages_that_never_end) {
  constexpr int messages = 100;
  int numbers[messages] = {};
  FakeMpi::now().looks_to_the_end = 1'000'000;
  const auto channel = channel_of(*open().value());
  std::vector<RequestHandle> lost;
  for (int& number : numbers) lost.push_back(channel->irecv(bytes_of(number), 0, 1).value());
  const auto start = std::chrono::steady_clock::now();
  lost.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 500ms) << "one short time for all of a call's messages";
  EXPECT_EQ(FakeMpi::now().dropped, messages);
}

TEST_F(MpiWireOfOne, ends_mpi_when_a_receive_was_only_not_needed_any_more) {
  int number = 0;
  {
    const auto spare = channel_of(*open().value())->irecv(bytes_of(number), 0, 1).value();
    spare->cancel();
  }
  EXPECT_EQ(FakeMpi::now().cancelled, 1);
  EXPECT_EQ(FakeMpi::now().stopped, 1);
}

TEST_F(MpiWireOfOne, does_not_end_mpi_when_a_member_was_lost) {
  channel_of(*open().value())->abandon();
  EXPECT_EQ(FakeMpi::now().stopped, 0);
}

TEST_F(MpiWireOfOne, calls_from_one_thread_where_the_library_allows_no_more) {
  for (const auto threads : {hocket_mpi_one_at_a_time, hocket_mpi_main_thread, hocket_mpi_any_thread}) {
    FakeMpi::now() = FakeMpi{};
    FakeMpi::now().started.threads = threads;
    const auto wire = open(threads == hocket_mpi_any_thread).value();  // there only as if
    FakeMpi::now().callers.clear();
    const auto channel = channel_of(*wire);
    std::vector<std::thread> users;
    for (std::int32_t tag = 1; tag < 4; ++tag) {
      users.emplace_back([&, tag] {
        int got = 0;
        EXPECT_TRUE(pass(*channel, *channel, tag * 10, got, tag));
        EXPECT_EQ(got, tag * 10);
      });
    }
    for (std::thread& user : users) user.join();
    EXPECT_EQ(FakeMpi::now().callers.size(), 1U) << threads;
  }
}

TEST_F(MpiWireOfOne, refuses_an_mpi_of_the_program_s_that_only_one_thread_may_call) {
  for (const auto threads : {hocket_mpi_main_thread, hocket_mpi_one_at_a_time}) {
    FakeMpi::now().started.threads = threads;
    FakeMpi::now().started.by_program = 1;
    const auto wire = open();
    ASSERT_FALSE(wire);
    EXPECT_EQ(wire.error().kind, ErrorKind::usage);
    EXPECT_THAT(wire.error().message, HasSubstr("call MPI_Init_thread with MPI_THREAD_MULTIPLE"));
  }
}

}  // namespace
}  // namespace hocket
