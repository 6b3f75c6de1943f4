#include "comm/parts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/random.h"

namespace hocket {
namespace {

GroupCall call_of(const std::vector<std::int64_t>& counts) {
  GroupCall call;
  for (const std::int64_t count : counts) call.many.push_back({nullptr, nullptr, count});
  call.count = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return call;
}

// "part:first+count@at " of each stretch.
std::string stretches(Parts& parts, const GroupCall& call, std::int64_t first, std::int64_t count) {
  std::string text;
  parts.each(first, count, [&](const Stretch& stretch) {
    text += fmt::format("{}:{}+{}@{} ", &stretch.part - call.parts().data(), stretch.first, stretch.count, stretch.at);
  });
  return text;
}

TEST(Parts, are_visited_as_if_they_lay_one_behind_the_other) {
  const GroupCall call = call_of({0, 3, 0, 0, 4, 1, 0});
  Parts parts(call);
  EXPECT_EQ(parts.total(), 8);
  EXPECT_EQ(stretches(parts, call, 0, 8), "1:0+3@0 4:0+4@3 5:0+1@7 ");
  EXPECT_EQ(stretches(parts, call, 1, 3), "1:1+2@0 4:0+1@2 ");
  EXPECT_EQ(stretches(parts, call, 4, 4), "4:1+3@0 5:0+1@3 ");
  EXPECT_EQ(stretches(parts, call, 2, 0), "");
  EXPECT_EQ(stretches(parts, call, 8, 0), "");
  EXPECT_EQ(stretches(parts, call, 0, 1), "1:0+1@0 ");
}

TEST(Parts, of_a_call_with_a_single_buffer_are_that) {
  GroupCall call;
  call.first = {nullptr, nullptr, 10};
  call.count = 10;
  Parts parts(call);
  EXPECT_EQ(stretches(parts, call, 7, 3), "0:7+3@0 ");
}

TEST(Parts, may_be_asked_for_in_any_order) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> counts;
    for (int i = 0; i < 10; ++i) counts.push_back(random.between(0, 4));
    const GroupCall call = call_of(counts);
    Parts parts(call);
    for (int question = 0; question < 20; ++question) {
      const std::int64_t first = random.between(0, call.count);
      const std::int64_t count = random.between(0, call.count - first);
      Parts fresh(call);
      ASSERT_EQ(stretches(parts, call, first, count), stretches(fresh, call, first, count));
    }
  }
}

}  // namespace
}  // namespace hocket
