#include "comm/first_fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.h"

namespace hocket {
namespace {

constexpr std::int64_t line = FirstFit::alignment;

TEST(FirstFit, takes_the_lowest_place_that_is_large_enough) {
  FirstFit places(10 * line);
  EXPECT_EQ(places.take(2 * line), 0);
  EXPECT_EQ(places.take(1), 2 * line);
  EXPECT_EQ(places.take(0), 3 * line);
  EXPECT_TRUE(places.give_back(0));
  EXPECT_EQ(places.take(3 * line), 4 * line);
  EXPECT_EQ(places.take(line), 0);
  EXPECT_EQ(places.taken(), 6 * line);
}

TEST(FirstFit, refuses_what_does_not_fit_and_what_was_not_taken) {
  FirstFit places(4 * line);
  EXPECT_EQ(places.take(4 * line + 1), std::nullopt);
  EXPECT_EQ(places.take(INT64_MAX), std::nullopt);
  EXPECT_EQ(places.take(4 * line), 0);
  EXPECT_EQ(places.take(0), std::nullopt);
  EXPECT_FALSE(places.give_back(line));
  EXPECT_TRUE(places.give_back(0));
  EXPECT_FALSE(places.give_back(0));
}

TEST(FirstFit, a_place_may_reach_from_the_old_end_into_what_was_added) {
  FirstFit places(2 * line);
  EXPECT_EQ(places.take(line), 0);
  places.grow(2 * line);
  EXPECT_EQ(places.take(3 * line), line);
  EXPECT_EQ(places.size(), 4 * line);
}

// The same by looking at every line.
class EveryLine {
 public:
  void grow(std::int64_t lines) { owner_.resize(owner_.size() + static_cast<std::size_t>(lines), -1); }
  std::optional<std::int64_t> take(std::int64_t bytes) {
    const std::size_t lines = bytes == 0 ? 1 : static_cast<std::size_t>((bytes + line - 1) / line);
    for (std::size_t first = 0; first + lines <= owner_.size(); ++first) {
      bool free = true;
      for (std::size_t i = first; i < first + lines; ++i) free = free && owner_[i] < 0;
      if (!free) continue;
      for (std::size_t i = first; i < first + lines; ++i) owner_[i] = static_cast<std::int64_t>(first);
      return static_cast<std::int64_t>(first) * line;
    }
    return std::nullopt;
  }
  void give_back(std::int64_t offset) {
    for (std::int64_t& owner : owner_) owner = owner == offset / line ? -1 : owner;
  }
  // (first line, lines) of each free range that has a line from begin up to before end.
  std::vector<std::pair<std::int64_t, std::int64_t>> free_around(std::int64_t begin, std::int64_t end) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (std::int64_t first = 0; first < lines(); ++first) {
      std::int64_t behind = first;
      while (behind < lines() && is_free(behind)) ++behind;
      if (behind > begin && first < end && behind > first) found.emplace_back(first, behind - first);
      first = behind;
    }
    return found;
  }
  std::int64_t lines() const { return static_cast<std::int64_t>(owner_.size()); }

 private:
  bool is_free(std::int64_t place) const { return owner_[static_cast<std::size_t>(place)] == -1; }
  std::vector<std::int64_t> owner_;
};

TEST(FirstFit, agrees_with_a_look_at_every_line) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    FirstFit places;
    EveryLine expected;
    std::vector<std::int64_t> taken;
    for (int step = 0; step < 300; ++step) {
      if (random.chance(5)) {
        const std::int64_t lines = random.between(1, 20);
        places.grow(lines * line);
        expected.grow(lines);
      } else if (random.chance(60) || taken.empty()) {
        const std::int64_t bytes = random.between(0, 6 * line);
        const auto place = places.take(bytes);
        ASSERT_EQ(place, expected.take(bytes)) << "seed " << seed << " step " << step;
        if (place) taken.push_back(*place);
      } else {
        random.shuffle(taken);
        ASSERT_TRUE(places.give_back(taken.back()));
        expected.give_back(taken.back());
        taken.pop_back();
      }
      const std::int64_t begin = random.between(0, expected.lines());
      const std::int64_t lines = random.between(1, 10);
      std::vector<std::pair<std::int64_t, std::int64_t>> around;
      for (const FirstFit::Range& range : places.free_around({begin * line, lines * line})) {
        around.emplace_back(range.offset / line, range.bytes / line);
      }
      ASSERT_EQ(around, expected.free_around(begin, begin + lines)) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace hocket
