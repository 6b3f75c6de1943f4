#include "comm/host_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "support/processes.h"
#include "support/random.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

HostMemory memory_of_one() {
  HostLink link = HostLink::meet(MeetingPlace::random().value(), 0, 1, in(10s)).value();
  return HostMemory::create(link, Sharing::processes, in(10s)).value();
}

// Memory of the machine that all memfds of this process take up, in bytes.
std::int64_t resident_shared() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  std::int64_t kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "RssShmem:", 9) == 0) kib = std::strtoll(line + 9, nullptr, 10);
  }
  std::fclose(file);
  return kib << 10;
}

bool all_zero(const std::byte* data, std::int64_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(HostMemory, of_one_process_is_seen_by_the_others) {
  const MeetingPlace place = MeetingPlace::random().value();
  const auto ranks = run_ranks(3, [&](int rank) -> std::string {
    const auto said = [&]() -> Result<std::string> {
      HOCKET_TRY(HostLink link, HostLink::meet(place, rank, 3, in(10s)));
      HOCKET_TRY(HostMemory memory, HostMemory::create(link, Sharing::processes, in(10s)));
      for (int i = 0; i < rank; ++i) HOCKET_CHECK(memory.allocate(Bytes(1'000)).map([](std::int64_t) {}));
      HOCKET_TRY(const std::int64_t offset, memory.allocate(Bytes(100)));
      std::memcpy(memory.at(rank, offset), "rank", 4);
      memory.at(rank, offset)[4] = static_cast<std::byte>('0' + rank);
      HOCKET_TRY(const std::vector<Packet> all, link.exchange(std::to_string(offset), {}, in(10s)));
      std::string text;
      for (std::int32_t i = 0; i < 3; ++i) {
        text += reinterpret_cast<const char*>(memory.at(i, std::stoll(all[static_cast<std::size_t>(i)].bytes)));
      }
      HOCKET_TRY(const std::vector<Packet> done, link.exchange("", {}, in(10s)));
      return text;
    }();
    return said ? *said : said.error().message;
  });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.said, "rank0rank1rank2");
}

TEST(HostMemory, of_threads_has_one_address_and_stays_until_the_last_is_gone) {
  const MeetingPlace place = MeetingPlace::random().value();
  std::byte* seen[2][2] = {};
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      HostLink link = HostLink::meet(place, rank, 2, in(10s)).value();
      HostMemory memory = HostMemory::create(link, Sharing::threads, in(10s)).value();
      for (std::int32_t other = 0; other < 2; ++other) seen[rank][other] = memory.at(other, 0);
      static_cast<void>(link.exchange("", {}, in(10s)));
      if (rank == 0) return;  // its memory is still written to
      static_cast<void>(link.exchange("", {}, in(100ms)));
      std::memset(memory.at(0, 0), 1, 1'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen[0][0], seen[1][0]);
  EXPECT_EQ(seen[0][1], seen[1][1]);
  EXPECT_NE(seen[0][0], seen[0][1]);
}

TEST(HostMemory, gives_aligned_places_that_do_not_overlap) {
  HostMemory memory = memory_of_one();
  Random random(5);
  std::map<std::int64_t, std::int64_t> taken;
  for (int i = 0; i < 300; ++i) {
    if (!taken.empty() && random.chance(40)) {
      auto one = taken.begin();
      std::advance(one, random.index(taken.size()));
      memory.release(one->first);
      taken.erase(one);
      continue;
    }
    const std::int64_t bytes = random.pick({random.between(0, 10'000), random.between(1 << 20, 8 << 20)});
    const std::int64_t offset = memory.allocate(Bytes(bytes)).value();
    EXPECT_EQ(offset % (bytes >= huge_page ? huge_page : 128), 0);
    const auto behind = taken.lower_bound(offset);
    if (behind != taken.end()) {
      ASSERT_LE(offset + bytes, behind->first);
    }
    if (behind != taken.begin()) {
      ASSERT_LE(std::prev(behind)->first + std::prev(behind)->second, offset);
    }
    taken.emplace(offset, bytes);
  }
  for (const auto& [offset, bytes] : taken) memory.release(offset);
  EXPECT_EQ(memory.used(), Bytes());
}

TEST(HostMemory, that_is_large_goes_back_to_the_system_and_is_zero_again) {
  HostMemory memory = memory_of_one();
  constexpr std::int64_t bytes = 32 << 20;
  const std::int64_t before = resident_shared();
  const std::int64_t offset = memory.allocate(Bytes(bytes)).value();
  std::byte* const data = memory.at(0, offset);
  EXPECT_TRUE(all_zero(data, bytes));
  std::memset(data, 7, bytes);
  EXPECT_GE(resident_shared() - before, bytes / 2);
  memory.release(offset);
  EXPECT_LT(resident_shared() - before, bytes / 2);
  EXPECT_EQ(memory.allocate(Bytes(bytes)).value(), offset);
  EXPECT_TRUE(all_zero(data, bytes));
}

TEST(HostMemory, costs_nothing_until_it_is_touched) {
  HostMemory memory = memory_of_one();
  const std::int64_t before = resident_shared();
  EXPECT_TRUE(memory.allocate(Bytes(std::int64_t{100} << 30)));
  EXPECT_LT(resident_shared() - before, 1 << 20);
}

TEST(HostMemory, says_how_full_it_is) {
  HostMemory memory = memory_of_one();
  ASSERT_TRUE(memory.allocate(Bytes(1'000)));
  const auto huge = memory.allocate(Bytes(std::int64_t{1} << 42));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().message,
            "no place for 4.00 TiB in the shared memory of this rank, of which 4.00 KiB are taken");
  EXPECT_FALSE(memory.allocate(Bytes(-1)));
  EXPECT_TRUE(memory.allocate(Bytes(1'000))) << "a refusal changes nothing";
}

TEST(HostMemory, knows_what_lies_in_it) {
  HostMemory memory = memory_of_one();
  const std::int64_t offset = memory.allocate(Bytes(1'000)).value();
  EXPECT_EQ(memory.offset_of(memory.at(0, offset + 5)), offset + 5);
  int local = 0;
  EXPECT_EQ(memory.offset_of(&local), std::nullopt);
  EXPECT_EQ(memory.offset_of(nullptr), std::nullopt);
  EXPECT_EQ(memory.offset_of(memory.at(0, 0) - 1), std::nullopt);
}

}  // namespace
}  // namespace hocket
