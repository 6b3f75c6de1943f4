#include "comm/symmetric_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "support/processes.h"
#include "support/random.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

Deadline soon() { return std::chrono::steady_clock::now() + 5s; }

// Runs `body` on ranks that have symmetric memory, and gives what each says.
std::vector<std::string> with_memory(int count, SymmetricMemoryOptions options,
                                     const std::function<Result<std::string>(SymmetricMemory&)>& body) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto ranks = run_ranks(count, [&](int rank) {
    const auto said = [&]() -> Result<std::string> {
      HOCKET_TRY(HostLink link, HostLink::meet(place, rank, count, soon()));
      HOCKET_TRY(SymmetricMemory memory, SymmetricMemory::create(std::move(link), options));
      return body(memory);
    }();
    return said ? *said : said.error().message;
  });
  std::vector<std::string> all;
  for (const RankOutcome& rank : ranks) all.push_back(rank.said);
  return all;
}

Status meet_again(SymmetricMemory& memory) {
  const auto all = memory.link().exchange("", {}, soon());
  return all ? Status() : Status(fail(all.error()));
}

SymmetricMemoryOptions small() { return {Bytes(1 << 20), Bytes(4096)}; }

TEST(SymmetricMemory, what_a_rank_writes_to_another_is_there) {
  const auto said = with_memory(4, {}, [](SymmetricMemory& memory) -> Result<std::string> {
    HOCKET_TRY(const std::int64_t offset, memory.allocate(Bytes(16), soon()));
    for (std::int32_t to = 0; to < memory.size(); ++to) {
      memory.at(to, offset)[memory.rank()] = static_cast<std::byte>('a' + memory.rank());
    }
    HOCKET_CHECK(meet_again(memory));
    return std::string(reinterpret_cast<const char*>(memory.at(memory.rank(), offset)), 5);
  });
  for (const std::string& one : said) EXPECT_EQ(one, std::string("abcd\0", 5));
}

TEST(SymmetricMemory, ranks_that_make_the_same_calls_get_the_same_offsets) {
  const auto said = with_memory(3, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    Random random(11);
    std::string offsets;
    std::vector<std::int64_t> taken;
    for (int call = 0; call < 200; ++call) {
      if (taken.size() < 2 || random.chance(55)) {
        HOCKET_TRY(const std::int64_t offset, memory.allocate(Bytes(random.between(0, 5'000)), soon()));
        taken.push_back(offset);
        offsets += fmt::format("{} ", offset);
      } else {
        random.shuffle(taken);
        HOCKET_CHECK(memory.release(taken.back()));
        taken.pop_back();
      }
    }
    return offsets;
  });
  EXPECT_EQ(said[0].substr(0, 2), "0 ");
  EXPECT_EQ(said[1], said[0]);
  EXPECT_EQ(said[2], said[0]);
}

TEST(SymmetricMemory, grows_without_moving_what_is_in_use) {
  const auto said = with_memory(2, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    HOCKET_TRY(const std::int64_t first, memory.allocate(Bytes(100), soon()));
    std::byte* mine = memory.at(memory.rank(), first);
    std::memcpy(mine, "kept", 5);
    HOCKET_TRY(const std::int64_t large, memory.allocate(Bytes(300'000), soon()));
    std::memset(memory.at(memory.rank(), large), 7, 300'000);
    HOCKET_CHECK(meet_again(memory));
    const std::int32_t peer = 1 - memory.rank();
    const bool same_place = memory.at(memory.rank(), first) == mine;
    const bool whole = memory.at(peer, large)[0] == std::byte{7} && memory.at(peer, large)[299'999] == std::byte{7};
    HOCKET_CHECK(meet_again(memory));
    return fmt::format("{} {} {}", reinterpret_cast<const char*>(memory.at(peer, first)), same_place, whole);
  });
  for (const std::string& one : said) EXPECT_EQ(one, "kept true true");
}

TEST(SymmetricMemory, reuses_what_was_released) {
  const auto said = with_memory(2, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    for (int round = 0; round < 1'000; ++round) {
      HOCKET_TRY(const std::int64_t offset, memory.allocate(Bytes(4'000), soon()));
      HOCKET_CHECK(memory.release(offset));
    }
    const Status twice = memory.release(0);
    return fmt::format("{} {}", memory.mapped().count, twice ? "no error" : twice.error().message);
  });
  for (const std::string& one : said) {
    EXPECT_EQ(one, "4096 nothing was allocated at offset 0 of symmetric memory, or it was released");
  }
}

TEST(SymmetricMemory, says_on_all_ranks_that_it_is_full) {
  const auto said = with_memory(2, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    HOCKET_CHECK(memory.allocate(Bytes(1'000'000), soon()).map([](std::int64_t) {}));
    const auto more = memory.allocate(Bytes(100'000), soon());
    const auto less = memory.allocate(Bytes(10'000), soon());
    return fmt::format("{}, {}", more ? "no error" : more.error().message, less.has_value());
  });
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0], "symmetric memory is full: 976.62 KiB of 1.00 MiB are taken, true");
}

TEST(SymmetricMemory, finds_out_that_ranks_call_differently) {
  const auto said = with_memory(3, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    HOCKET_CHECK(memory.allocate(Bytes(8), soon()).map([](std::int64_t) {}));
    // Fits, so nobody notices yet.
    HOCKET_CHECK(memory.allocate(Bytes(memory.rank() == 2 ? 16 : 8), soon()).map([](std::int64_t) {}));
    const auto grown = memory.allocate(Bytes(50'000), soon());
    return grown ? "no error" : grown.error().message;
  });
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0], said[2]);
  EXPECT_EQ(said[0].substr(0, 60), "ranks use symmetric memory differently: rank 0 made 3 calls ");
  EXPECT_NE(said[0].find(", rank 2 made 3 calls"), std::string::npos) << said[0];
}

TEST(SymmetricMemory, refuses_impossible_sizes) {
  const auto said = with_memory(1, small(), [](SymmetricMemory& memory) -> Result<std::string> {
    const auto negative = memory.allocate(Bytes(-1), soon());
    const auto huge = memory.allocate(Bytes(INT64_MAX), soon());
    return fmt::format("{} {}", negative.has_value(), huge.has_value());
  });
  EXPECT_EQ(said[0], "false false");
}

TEST(Segment, can_be_neither_resized_nor_opened_by_others) {
  const FileDescriptor segment = make_segment(8'192).value();
  EXPECT_NE(ftruncate(segment.number(), 4'096), 0);
  EXPECT_NE(ftruncate(segment.number(), 16'384), 0);
  EXPECT_NE(fcntl(segment.number(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  struct stat facts {};
  ASSERT_EQ(fstat(segment.number(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
  EXPECT_NE(fcntl(segment.number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Segment, one_that_could_shrink_is_refused) {
  EXPECT_TRUE(check_segment(make_segment(4'096).value(), 4'096));
  EXPECT_EQ(check_segment(make_segment(4'096).value(), 8'192).error().message,
            "its shared memory has 4096 bytes, expected 8192");
  const FileDescriptor open(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open.number(), 4'096), 0);
  EXPECT_EQ(check_segment(open, 4'096).error().message,
            "its shared memory is not sealed, so it could vanish while in use");
}

}  // namespace
}  // namespace hocket
