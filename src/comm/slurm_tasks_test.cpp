#include "comm/slurm_tasks.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(SlurmTasks, counts_the_hosts_of_each_part) {
  const std::int32_t expected[] = {4, 4, 3, 1, 1};
  for (std::int32_t node = 0; node < 5; ++node) EXPECT_EQ(tasks_of_node("4(x2),3,1(x2)", node), expected[node]);
  EXPECT_EQ(tasks_of_node("4(x2),3,1(x2)", 5), std::nullopt);
  EXPECT_EQ(tasks_of_node("16", 0), 16);
}

TEST(SlurmTasks, a_malformed_list_says_nothing) {
  for (const char* list : {"", "x", "4(x", "4(x2", "4(2)", "0", "-1", "99999999999", "4;3", "(x2)"}) {
    EXPECT_EQ(tasks_of_node(list, 1), std::nullopt) << list;
  }
}

}  // namespace
}  // namespace hocket
