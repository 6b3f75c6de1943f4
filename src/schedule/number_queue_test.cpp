#include "schedule/number_queue.h"

#include <gtest/gtest.h>

#include <set>

#include "support/random.h"

namespace hocket::overlap {
namespace {

TEST(NumberQueue, gives_the_lowest_first_whatever_the_range) {
  Random random(7);
  for (const std::int64_t range : {1, 2, 63, 64, 65, 4095, 4096, 4097, 300'000}) {
    NumberQueue queue(static_cast<std::size_t>(range));
    std::set<std::uint32_t> reference;
    for (int i = 0; i < 3'000; ++i) {
      ASSERT_EQ(queue.empty(), reference.empty());
      if (!reference.empty() && random.chance(45)) {
        ASSERT_EQ(queue.take_lowest(), *reference.begin()) << "of " << range;
        reference.erase(reference.begin());
      } else {
        const auto number = static_cast<std::uint32_t>(random.between(0, range - 1));
        queue.add(number);
        reference.insert(number);
      }
    }
    for (const std::uint32_t number : reference) ASSERT_EQ(queue.take_lowest(), number) << "of " << range;
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace hocket::overlap
