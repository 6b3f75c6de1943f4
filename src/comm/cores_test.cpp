#include "comm/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

namespace hocket {
namespace {

TEST(Cores, hold_each_usable_processor_once) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  std::set<int> seen;
  const std::vector<std::vector<int>> cores = usable_cores().value();
  for (const std::vector<int>& core : cores) {
    EXPECT_FALSE(core.empty());
    for (const int processor : core) {
      EXPECT_TRUE(CPU_ISSET(processor, &usable)) << processor;
      EXPECT_TRUE(seen.insert(processor).second) << processor;
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), CPU_COUNT(&usable));
}

}  // namespace
}  // namespace hocket
