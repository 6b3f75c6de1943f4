#include "comm/wire_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WireHosts, are_numbered_in_the_order_of_their_lowest_ranks) {
  EXPECT_THAT(number_hosts({"b", "a", "b", "c", "a"}), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(number_hosts({}), IsEmpty());
}

TEST(WireHosts, processes_of_one_host_have_the_same_key) {
  EXPECT_EQ(host_key(), host_key());
  EXPECT_GT(host_key().size(), 20U);  // name, boot and network namespace
}

}  // namespace
}  // namespace hocket
