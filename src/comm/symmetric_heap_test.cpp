#include "comm/symmetric_heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/host_ranks.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

// A heap of three ranks, whose segments are filled differently before, so that the same offset lies elsewhere in each.
class Heaps {
 public:
  explicit Heaps(Rounds& rounds) : rounds_(rounds), heap_(rounds) {}
  Result<SymmetricPlace> allocate(std::int64_t bytes) {
    call_ = GroupCall();
    call_.op = Operator::allocate;
    call_.count = bytes;
    call_.number = ++number_;
    call_.timeout = 20s;
    rounds_.begin(call_);
    Result<SymmetricPlace> place = heap_.allocate(bytes);
    if (place) rounds_.end();
    return place;
  }
  SymmetricHeap& heap() { return heap_; }
  Rounds& rounds() { return rounds_; }

 private:
  Rounds& rounds_;
  SymmetricHeap heap_;
  GroupCall call_;
  std::uint64_t number_ = 0;
};

void expect_all_well(const std::function<Result<std::string>(Heaps&)>& body) {
  const auto said = run_hosts(3, [&](const std::shared_ptr<Host>& host) -> Result<std::string> {
    for (int i = 0; i < host->self(); ++i)
      HOCKET_CHECK(host->memory().allocate(Bytes(3 << 20)).map([](std::int64_t) {}));
    HOCKET_TRY(const std::unique_ptr<Rounds> rounds, Rounds::create(host, digest_of("heap"), {0, 1, 2}, in(20s)));
    Heaps heaps(*rounds);
    Result<std::string> result = body(heaps);
    HOCKET_CHECK(heaps.allocate(0).map([](const SymmetricPlace&) {}));  // nobody leaves before all are done
    return result;
  });
  for (const std::string& one : said) EXPECT_EQ(one, "well");
}

TEST(SymmetricHeap, grows_by_chunks_that_lie_elsewhere_on_each_rank) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    std::int64_t last = -1;
    for (const std::int64_t bytes : {100, 1'000'000, 500'000, 10'000'000, 5'000'000}) {
      HOCKET_TRY(const SymmetricPlace place, heaps.allocate(bytes));
      if (place.offset <= last) return fmt::format("{} bytes are at {}", bytes, place.offset);
      last = place.offset;
      const auto self = static_cast<std::size_t>(heaps.rounds().place());
      const auto offset = heaps.heap().offset_of(place.parts[self] + bytes - 1);
      if (offset != place.offset + bytes - 1) return "does not know its own address";
      for (std::int32_t i = 0; i < 3; ++i) {
        if (heaps.heap().at(i, place.offset) != place.parts[static_cast<std::size_t>(i)]) return "at() says another";
      }
    }
    int local = 0;
    return heaps.heap().offset_of(&local) ? "knows a stranger" : "well";
  });
}

TEST(SymmetricHeap, takes_the_lowest_place_that_was_given_back) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    std::vector<std::int64_t> offsets;
    for (int i = 0; i < 10; ++i) {
      HOCKET_TRY(const SymmetricPlace place, heaps.allocate(1'000));
      offsets.push_back(place.offset);
    }
    heaps.heap().release(offsets[7]);
    heaps.heap().release(offsets[3]);
    HOCKET_TRY(const SymmetricPlace again, heaps.allocate(1'000));
    HOCKET_TRY(const SymmetricPlace more, heaps.allocate(1'000));
    return again.offset == offsets[3] && more.offset == offsets[7] ? "well" : "elsewhere";
  });
}

// Bytes of the pages that a range lies in, which take up memory of the machine.
Result<std::int64_t> resident(std::byte* begin, std::int64_t bytes) {
  const std::int64_t page = page_size();
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % static_cast<std::size_t>(page));
  std::vector<unsigned char> pages(static_cast<std::size_t>((over + bytes + page - 1) / page));
  if (mincore(begin - over, static_cast<std::size_t>(over + bytes), pages.data()) != 0) {
    return fail(ErrorKind::system, "mincore: {}", std::strerror(errno));
  }
  return page * std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1U) != 0; });
}

TEST(SymmetricHeap, gives_the_pages_of_what_all_have_released_back_with_the_next_allocation) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    constexpr std::int64_t large = std::int64_t{32} << 20;
    const auto self = static_cast<std::size_t>(heaps.rounds().place());
    HOCKET_TRY(const SymmetricPlace kept, heaps.allocate(large));
    HOCKET_TRY(const SymmetricPlace gone, heaps.allocate(large));
    std::memset(kept.parts[self], 7, large);
    std::memset(gone.parts[self], 7, large);
    heaps.heap().release(gone.offset);
    HOCKET_TRY(const std::int64_t before, resident(gone.parts[self], large));
    if (before != large) return fmt::format("{} bytes are left before others have released theirs", before);
    HOCKET_TRY(const SymmetricPlace small, heaps.allocate(100));
    HOCKET_TRY(const std::int64_t after, resident(gone.parts[self], large));
    HOCKET_TRY(const std::int64_t untouched, resident(kept.parts[self], large));
    if (after > 2 * page_size()) return fmt::format("{} bytes are left", after);
    if (untouched != large || kept.parts[self][large - 1] != std::byte{7}) return "took what is in use";
    constexpr std::int64_t less = large - huge_page;
    HOCKET_TRY(const SymmetricPlace again, heaps.allocate(less));
    if (again.parts[self] >= gone.parts[self] + huge_page) return "did not take the lowest place";
    HOCKET_TRY(const std::int64_t anew, resident(again.parts[self], less));
    return anew >= less - 2 * huge_page && again.parts[self][less / 2] == std::byte{0} ? "well" : "no pages again";
  });
}

TEST(SymmetricHeap, keeps_the_pages_of_what_is_taken_again_at_once) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    constexpr std::int64_t large = std::int64_t{8} << 20;
    const auto self = static_cast<std::size_t>(heaps.rounds().place());
    HOCKET_TRY(const SymmetricPlace first, heaps.allocate(large));
    std::memset(first.parts[self], 7, large);
    heaps.heap().release(first.offset);
    HOCKET_TRY(const SymmetricPlace again, heaps.allocate(large));
    return again.offset == first.offset && again.parts[self][large / 2] == std::byte{7} ? "well" : "lost its pages";
  });
}

// Huge pages, but not two megabytes for a few bytes at the end.
TEST(SymmetricHeap, takes_little_more_memory_than_it_is_asked_for) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    constexpr std::int64_t asked = 5 * huge_page + 1000;
    const auto self = static_cast<std::size_t>(heaps.rounds().place());
    HOCKET_TRY(const SymmetricPlace place, heaps.allocate(asked));
    std::memset(place.parts[self], 7, asked);
    HOCKET_TRY(const std::int64_t taken, resident(place.parts[self], 6 * huge_page));
    return taken <= asked + page_size() ? "well" : fmt::format("{} bytes for {}", taken, asked);
  });
}

TEST(SymmetricHeap, says_on_all_ranks_who_has_no_room) {
  expect_all_well([](Heaps& heaps) -> Result<std::string> {
    const auto huge = heaps.allocate(std::int64_t{1} << 40);
    if (huge) return "1 TiB was given";
    if (huge.error().message != "rank 0 has no place for 1.00 TiB of symmetric memory") return huge.error().message;
    HOCKET_TRY(const SymmetricPlace place, heaps.allocate(10));
    return place.offset == 0 ? "well" : "not at the start";
  });
}

}  // namespace
}  // namespace hocket
