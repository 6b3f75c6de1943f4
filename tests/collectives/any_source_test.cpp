// Receives from anyone, which only the c10d back end makes so far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/any_source.h"
#include "comm/call_checks.h"
#include "comm/lane.h"
#include "comm/world_factory.h"
#include "ranks.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::shared_ptr<MailBatch> receive_from_anyone(Lane& lane, std::int32_t& into, std::int32_t tag,
                                               std::chrono::milliseconds timeout = 20s) {
  GroupCall call;
  call.op = Operator::receive;
  call.dtype = Dtype::i32;
  call.first = {nullptr, &into, 1};
  call.root = any_source;
  call.tag = tag;
  call.timeout = timeout;
  if (!check_and_count(call, lane.group())) return nullptr;
  return std::static_pointer_cast<MailBatch>(lane.mail().value()->submit({call}));
}

TEST(AnySource, gets_the_messages_of_all_ranks_and_says_whose_they_are) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 4, [](World& world, Complaints& complaints) {
      const auto lane = WorldFactory::lane(world, "world", "mail").value();
      const Communicator group(lane);
      constexpr std::int32_t each = 30;
      if (world.rank() != 0) {
        for (std::int32_t i = 0; i < each; ++i) {
          const std::int32_t word = world.rank() * 1'000 + i;
          complaints.well(group.isend(&word, 1, Dtype::i32, 0, 5), "send");
        }
        return;
      }
      std::vector<std::int32_t> next(4, 0);
      for (std::int32_t i = 0; i < 3 * each; ++i) {
        std::int32_t word = 0;
        const auto batch = receive_from_anyone(*lane, word, 5);
        if (!complaints.well(Work(batch), "receive")) return;
        const std::int32_t expected = batch->from * 1'000 + next[static_cast<std::size_t>(batch->from)]++;
        if (word != expected) complaints.add("got {} from {}, expected {}", word, batch->from, expected);
      }
    });
  }
}

TEST(AnySource, and_receives_from_one_rank_get_messages_in_the_order_in_which_they_were_asked_for) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const auto lane = WorldFactory::lane(world, "world", "mail").value();
      const Communicator group(lane);
      if (world.rank() == 1) {
        complaints.well(group.barrier(), "barrier");
        for (std::int32_t word = 1; word <= 3; ++word) complaints.well(group.isend(&word, 1, Dtype::i32, 0), "send");
        return;
      }
      std::int32_t words[3] = {};
      const Work first(receive_from_anyone(*lane, words[0], 0));
      const Work second = group.irecv(&words[1], 1, Dtype::i32, 1);
      const Work third(receive_from_anyone(*lane, words[2], 0));
      complaints.well(group.barrier(), "barrier");
      for (const Work& work : {first, second, third}) complaints.well(work, "receive");
      if (words[0] != 1 || words[1] != 2 || words[2] != 3) complaints.add("{} {} {}", words[0], words[1], words[2]);
    });
  }
}

TEST(AnySource, that_nobody_sends_to_is_an_error_at_the_timeout) {
  const auto said = run_world(Kind::threads, 2, [](World& world) -> std::string {
    const auto lane = WorldFactory::lane(world, "world", "mail").value();
    std::string text = "fine";
    std::int32_t word = 0;
    if (world.rank() == 0) {
      const Status status = Work(receive_from_anyone(*lane, word, 7, 50ms)).wait();
      text = status ? "no error" : status.error().message;
    }
    static_cast<void>(Communicator(lane).barrier().wait());
    return text;
  });
  EXPECT_THAT(said[0], HasSubstr("no rank came within 50 ms to receive(i32[1], from anyone, tag 7)"));
}

TEST(Lanes, of_other_purposes_of_the_same_ranks_have_an_order_of_their_own) {
  for (const Kind kind : all_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator one(WorldFactory::lane(world, "world", "one").value());
      const Communicator other(WorldFactory::lane(world, "world", "other").value());
      std::vector<std::int32_t> a(1'000, 1);
      std::vector<std::int32_t> b(500, 2);
      const auto first = [&] { return one.all_reduce(a.data(), a.data(), 1'000, Dtype::i32, ReduceOp::sum); };
      const auto second = [&] { return other.all_reduce(b.data(), b.data(), 500, Dtype::i32, ReduceOp::sum); };
      std::vector<Work> works;
      if (world.rank() == 0) works = {first(), second()};
      else works = {second(), first()};
      for (const Work& work : works) complaints.well(work, "all_reduce");
      if (a.back() != 2 || b.back() != 4) complaints.add("got {} and {}", a.back(), b.back());
    });
  }
}

}  // namespace
}  // namespace hocket
