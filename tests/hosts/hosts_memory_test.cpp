// Symmetric memory of groups on two hosts in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "hosts/rank_threads.h"
#include "support/random.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// What all ranks have said of one allocation.
class Offsets {
 public:
  void add(std::size_t number, std::int64_t offset) {
    const std::lock_guard lock(mutex_);
    if (seen_.size() <= number) seen_.resize(number + 1);
    seen_[number].insert(offset);
  }
  const std::vector<std::set<std::int64_t>>& all() const { return seen_; }

 private:
  std::mutex mutex_;
  std::vector<std::set<std::int64_t>> seen_;
};

TEST(HostsMemory, lies_at_the_same_offset_on_all_hosts_whatever_was_released) {
  Offsets offsets;
  on_two_hosts([&](World& world) {
    const Communicator all = world.communicator().value();
    // A group of one host takes memory in between: it has no say in where that of others lies.
    const Communicator here = world.communicator(world.rank() < 2 ? Ranks{0, 1} : Ranks{2, 3}).value();
    std::vector<SymmetricBuffer> others;
    std::vector<SymmetricBuffer> kept;
    Random random(7);  // the same choices on all ranks
    for (std::size_t number = 0; number < 60; ++number) {
      if (world.rank() < 2) others.push_back(here.allocate(Bytes(100'000)).value());
      kept.push_back(all.allocate(Bytes(static_cast<std::int64_t>(random.between(1, 3'000'000)))).value());
      offsets.add(number, kept.back().offset());
      if (random.chance(50)) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random.index(kept.size())));
    }
  });
  ASSERT_EQ(offsets.all().size(), 60U);
  for (const std::set<std::int64_t>& of_one : offsets.all()) EXPECT_EQ(of_one.size(), 1U);
}

TEST(HostsMemory, that_only_one_host_has_released_is_named_at_the_next_allocation) {
  on_two_hosts([](World& world) {
    const Communicator all = world.communicator().value();
    std::optional<SymmetricBuffer> first = all.allocate(Bytes(4096)).value();
    if (world.rank() < 2) first.reset();
    const Result<SymmetricBuffer> next = all.allocate(Bytes(4096));
    ASSERT_FALSE(next);
    EXPECT_THAT(next.error().message, HasSubstr("is at offset 0 on rank 0, but at 4096 on rank 2: ranks must let go"));
  });
}

}  // namespace
}  // namespace hocket
