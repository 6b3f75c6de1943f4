// The memory of an order in the making, against the memory curve of the whole order that it would become.
#include "schedule/guide_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/schedule/timeline.h"
#include "schedule/lean_order.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket::overlap {
namespace {

struct RandomUnits {
  explicit RandomUnits(std::uint64_t seed) : graph(random_graph(seed)) {
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i < graph.size(); ++i)
      times.push_back(Nanoseconds::from_picoseconds(static_cast<std::int64_t>(1000 * ((i * 31 + seed) % 9))));
    steps = StepGraph::of(graph, times, {.keep_collective_order = false}).value();
    units.emplace(*steps, UnitGraph::grouping(*steps, options), options, Buckets{});
    guide = units->order_of(steps->original_order());
  }
  Size peak_of(const std::vector<UnitIndex>& order) const {
    return memory_curve(*steps, units->steps_in(order)).peak.count;
  }

  Graph graph;
  OverlapOptions options;
  std::optional<StepGraph> steps;
  std::optional<UnitGraph> units;
  std::vector<UnitIndex> guide;
};

TEST(GuideMemory, counts_the_guides_peak_as_the_memory_curve_does) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomUnits program(seed);
    GuideMemory memory(*program.units);
    memory.reset(program.guide);
    EXPECT_EQ(memory.guide_peak(), program.peak_of(program.guide)) << "seed " << seed;
    for (const UnitIndex u : program.guide) memory.run(u);
    EXPECT_EQ(memory.peak(), program.peak_of(program.guide)) << "seed " << seed;
  }
}

// Units are drawn at random from those that are ready. What is allowed must fit, whatever comes later; what is refused should not.
TEST(GuideMemory, allows_what_fits_with_the_rest_in_the_guides_order) {
  std::size_t allowed = 0, refused = 0, refused_in_vain = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const RandomUnits program(seed);
    const UnitGraph& units = *program.units;
    GuideMemory memory(units);
    memory.reset(program.guide);
    const Size limit = memory.guide_peak();
    Random random(seed);
    std::vector<UnitIndex> done;
    std::vector<std::size_t> missing(units.size());
    for (UnitIndex u = 0; u < units.size(); ++u) missing[u] = units.before(u).size();
    while (done.size() < units.size()) {
      std::vector<UnitIndex> ready;
      for (UnitIndex u = 0; u < units.size(); ++u) {
        if (missing[u] == 0 && !memory.done(u)) ready.push_back(u);
      }
      const UnitIndex u = random.chance(30) ? memory.next() : random.pick(ready);
      std::vector<UnitIndex> whole = done;
      whole.push_back(u);
      for (const UnitIndex rest : program.guide) {
        if (rest != u && !memory.done(rest)) whole.push_back(rest);
      }
      const bool fits = program.peak_of(whole) <= limit;
      if (memory.try_run(u, limit)) {
        ASSERT_TRUE(fits) << "seed " << seed << " after " << done.size();
        done.push_back(u);
        for (const UnitIndex later : units.after(u)) --missing[later];
        ++allowed;
      } else {
        ++refused;
        if (fits) ++refused_in_vain;
        ASSERT_NE(u, memory.next()) << "the guide's next is always allowed";
      }
    }
    EXPECT_LE(program.peak_of(done), limit) << "seed " << seed;
    EXPECT_EQ(memory.peak(), program.peak_of(done)) << "seed " << seed;
  }
  EXPECT_GT(allowed, 1000U);
  EXPECT_GT(refused, 100U);
  EXPECT_LE(refused_in_vain * 50, refused);  // steps within a unit count as one: rarely a little too careful
}

TEST(LeanOrder, is_an_order_that_seldom_holds_more) {
  std::size_t better = 0, worse = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomUnits program(seed);
    for (const auto& order_of : {lean_order, frugal_order, raised_order, demanded_order}) {
      const auto order = order_of(*program.units, program.guide);
      ASSERT_EQ(order.size(), program.guide.size());
      std::vector<std::size_t> place(order.size());
      for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
      for (const UnitIndex u : order) {
        for (const UnitIndex earlier : program.units->before(u)) ASSERT_LT(place[earlier], place[u]) << "seed " << seed;
      }
      if (order_of != lean_order) continue;
      const Size before = program.peak_of(program.guide);
      const Size after = program.peak_of(order);
      better += after < before ? 1 : 0;
      worse += after > before ? 1 : 0;
    }
  }
  EXPECT_GT(better, 10U);
  EXPECT_GT(better, 5 * worse);
}

}  // namespace
}  // namespace hocket::overlap
