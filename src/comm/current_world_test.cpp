#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "hocket/comm/world.h"

namespace hocket {
namespace {

std::int32_t current_rank() { return World::current().value().rank(); }

TEST(CurrentWorld, is_an_error_that_says_what_to_do_where_there_is_none) {
  const Result<World> none = World::current();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::usage);
  EXPECT_THAT(none.error().message, testing::HasSubstr("call World::join() first"));
}

TEST(CurrentWorld, is_the_one_that_was_joined_as_long_as_somebody_has_it) {
  {
    const Result<World> world = World::join();
    ASSERT_TRUE(world) << world.error().message;
    EXPECT_TRUE(World::current());
    std::thread([] { EXPECT_TRUE(World::current()) << "on any thread"; }).join();
  }
  EXPECT_FALSE(World::current());
}

TEST(CurrentWorld, is_that_of_the_innermost_scope_of_the_thread) {
  const std::vector<World> worlds = World::threads(3).value();
  {
    const WorldScope outer(worlds[1]);
    EXPECT_EQ(current_rank(), 1);
    {
      const WorldScope inner(worlds[2]);
      EXPECT_EQ(current_rank(), 2);
      std::thread([&] {
        EXPECT_FALSE(World::current());
        const WorldScope other(worlds[0]);
        EXPECT_EQ(current_rank(), 0);
      }).join();
    }
    EXPECT_EQ(current_rank(), 1);
  }
  EXPECT_FALSE(World::current());
}

}  // namespace
}  // namespace hocket
