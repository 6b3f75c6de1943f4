#include "hocket/base/digest.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hocket {
namespace {

// Golden values: ranks of different machines and releases compare digests, so they must never change.
TEST(Digest, is_the_same_on_every_machine) {
  EXPECT_EQ(Digester().finish().to_string(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Digester().add("all_reduce").add(std::int64_t{4096}).finish().to_string(),
            "ae382171bfc62203e4fc6133c69b9169");
  EXPECT_EQ(Digester().add(std::int64_t{-1}).finish().to_string(), "dc6b20d207425aa58b3249d34c2ef0b0");
  EXPECT_EQ(Digester().add(std::string(1000, 'x')).finish().to_string(), "9ded8b00f48e420af32d4d8b7c06495d");
}

TEST(Digest, tells_apart_where_one_field_ends_and_the_next_begins) {
  EXPECT_NE(Digester().add("ab").add("c").finish(), Digester().add("a").add("bc").finish());
  EXPECT_NE(Digester().add("").finish(), Digester().finish());
  EXPECT_NE(Digester().add("").add("a").finish(), Digester().add("a").add("").finish());
}

TEST(Digest, tells_neighbouring_numbers_apart) {
  std::set<Digest> seen;
  for (std::int64_t number = -1000; number < 1000; ++number) seen.insert(Digester().add(number).finish());
  EXPECT_EQ(seen.size(), 2000U);
}

TEST(Digest, can_be_asked_for_in_between) {
  Digester digester;
  digester.add("first");
  const Digest early = digester.finish();
  EXPECT_EQ(digester.finish(), early);
  digester.add("second");
  EXPECT_NE(digester.finish(), early);
  EXPECT_EQ(digester.finish(), Digester().add("first").add("second").finish());
}

TEST(Digest, moves_with_its_digester) {
  Digester from;
  from.add("first");
  Digester to = std::move(from);
  to.add("second");
  EXPECT_EQ(to.finish(), Digester().add("first").add("second").finish());
}

TEST(Digest, is_written_with_32_digits) {
  EXPECT_EQ((Digest{0x1, 0xab}).to_string(), "000000000000000100000000000000ab");
}

}  // namespace
}  // namespace hocket
