#include "comm/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "comm/round_time.h"
#include "support/host_ranks.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;

GroupCall call_number(std::uint64_t number, std::int64_t count = 1) {
  GroupCall call;
  call.op = Operator::all_reduce;
  call.dtype = Dtype::i64;
  call.number = number;
  call.count = count;
  call.timeout = 20s;
  return call;
}

using RoundsBody = std::function<Result<std::string>(Rounds&)>;

std::vector<std::string> run_rounds(std::int32_t count, const RoundsBody& body) {
  return run_hosts(count, [&](const std::shared_ptr<Host>& host) -> Result<std::string> {
    std::vector<std::int32_t> members;
    for (std::int32_t i = 0; i < count; ++i) members.push_back(i);
    HOCKET_TRY(const std::unique_ptr<Rounds> rounds, Rounds::create(host, digest_of("test"), members, in(20s)));
    return body(*rounds);
  });
}

TEST(Rounds, bring_everyone_what_everyone_wrote) {
  for (const std::int64_t small : {std::int64_t{0}, Rounds::one_line_bytes, Rounds::two_lines_bytes}) {
    for (const std::int32_t ranks : {1, 2, 3, 5}) {
      const auto said = run_rounds(ranks, [&](Rounds& rounds) -> Result<std::string> {
        for (std::uint64_t number = 1; number <= 40; ++number) {
          const GroupCall call = call_number(number);
          rounds.begin(call, small);
          for (std::int64_t round = 0; round < static_cast<std::int64_t>(number % 7); ++round) {
            HOCKET_TRY(std::byte * slot, rounds.open());
            const std::int64_t mine = round * 100 + rounds.place();
            // at the end of a small slot
            const std::int64_t at = std::max<std::int64_t>(small - static_cast<std::int64_t>(sizeof mine), 0);
            std::memcpy(slot + at, &mine, sizeof mine);
            rounds.post(static_cast<std::uint64_t>(mine) * 3);
            HOCKET_CHECK(rounds.take_all());
            for (std::int32_t place = 0; place < rounds.size(); ++place) {
              if (place == rounds.place()) continue;
              std::int64_t theirs = 0;
              std::memcpy(&theirs, rounds.slot_of(place) + at, sizeof theirs);
              if (theirs != round * 100 + place) return fmt::format("place {} wrote {}", place, theirs);
              if (rounds.note_of(place) != static_cast<std::uint64_t>(theirs) * 3) return "another note";
            }
          }
          rounds.end();
        }
        return "well";
      });
      for (const std::string& one : said) EXPECT_EQ(one, "well") << ranks << " ranks, small slot: " << small;
    }
  }
}

// One writes, the others read and never write: it may be ahead of them, but never so far that it overwrites what they read.
TEST(Rounds, nobody_overwrites_what_is_still_read) {
  const auto said = run_rounds(3, [](Rounds& rounds) -> Result<std::string> {
    const GroupCall call = call_number(1);
    rounds.begin(call);
    constexpr std::size_t words = 2'000;
    for (std::uint64_t round = 1; round <= 300; ++round) {
      // Rounds without slots come in between, and not as often as slots take turns.
      if (round % 7 < 3) {
        HOCKET_CHECK(rounds.open_empty());
        rounds.post();
      }
      HOCKET_TRY(std::byte * slot, rounds.open());
      auto* const numbers = reinterpret_cast<std::uint64_t*>(slot);
      if (rounds.place() == 0) std::fill_n(numbers, words, round);
      rounds.post();
      if (rounds.place() == 0) continue;
      HOCKET_TRY(const std::byte* theirs, rounds.take(0));
      const auto* const read = reinterpret_cast<const std::uint64_t*>(theirs);
      if (round % 50 == 0) std::this_thread::sleep_for(1ms);
      if (std::count(read, read + words, round) != words) return fmt::format("round {} was overwritten", round);
    }
    rounds.end();
    return "well";
  });
  for (const std::string& one : said) EXPECT_EQ(one, "well");
}

TEST(Rounds, take_the_same_time_for_all_ranks) {
  const auto said = run_rounds(3, [](Rounds& rounds) -> Result<std::string> {
    const GroupCall call = call_number(1);
    rounds.begin(call);
    HOCKET_TRY(const std::int64_t ns, round_time_ns(rounds));
    rounds.end();
    return std::to_string(ns);
  });
  EXPECT_GT(std::stol(said[0]), 1);
  EXPECT_LT(std::stol(said[0]), 1'000'000'000);
  EXPECT_THAT(said, testing::Each(said[0]));
}

TEST(Rounds, notice_another_call_and_say_so_on_all_sides) {
  const auto said = run_rounds(2, [](Rounds& rounds) -> Result<std::string> {
    const GroupCall call = call_number(1, rounds.place() == 0 ? 10 : 20);
    rounds.begin(call);
    HOCKET_CHECK(rounds.open());
    rounds.post();
    const Status status = rounds.take_all();
    return status ? "no error" : status.error().message;
  });
  for (const std::string& one : said) {
    EXPECT_EQ(one,
              "ranks made different calls: rank 0 made all_reduce(i64[10], sum) as call 1, rank 1 made "
              "all_reduce(i64[20], sum) as call 1");
  }
}

TEST(Rounds, name_who_did_not_come_and_what_it_did_last) {
  const auto said = run_rounds(2, [](Rounds& rounds) -> Result<std::string> {
    GroupCall first = call_number(1);
    rounds.begin(first);
    HOCKET_CHECK(rounds.open());
    rounds.post();
    HOCKET_CHECK(rounds.take_all());
    rounds.end();
    if (rounds.place() == 1) {
      std::this_thread::sleep_for(300ms);
      return "slow";
    }
    GroupCall second = call_number(2, 5);
    second.timeout = 50ms;
    rounds.begin(second);
    HOCKET_CHECK(rounds.open());
    rounds.post();
    const Status status = rounds.take_all();
    return status ? "no error" : status.error().message;
  });
  EXPECT_THAT(said[0],
              MatchesRegex("rank 1 \\(pid [0-9]+\\) is alive but did not come within 50 ms to "
                           "all_reduce\\(i64\\[5\\], sum\\) as call 2, which rank 0 waits for: it last finished "
                           "all_reduce\\(i64\\[1\\], sum\\) as call 1"));
}

TEST(Rounds, that_failed_on_one_rank_fail_on_all_with_its_reason) {
  const auto said = run_rounds(3, [](Rounds& rounds) -> Result<std::string> {
    const GroupCall call = call_number(1);
    rounds.begin(call);
    if (rounds.place() == 2) {
      rounds.fail_all(Error{ErrorKind::peer, "the roof is leaking", ""});
      std::this_thread::sleep_for(200ms);
      return "failed";
    }
    HOCKET_CHECK(rounds.open());
    rounds.post();
    const Status status = rounds.take_all();
    return status ? "no error" : status.error().message;
  });
  EXPECT_THAT(said[0], HasSubstr("the roof is leaking"));
  EXPECT_THAT(said[1], HasSubstr("the roof is leaking"));
}

}  // namespace
}  // namespace hocket
