#include "fuse/memory_curve.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hocket/ir/stats.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket::fuse {
namespace {

TEST(PeakCurve, its_peak_is_that_of_the_statistics) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed);
    EXPECT_EQ(PeakCurve(graph).peak(), stats_of(graph).peak) << "seed " << seed;
  }
}

TEST(PeakCurve, adds_to_ranges_as_an_array_would) {
  const Graph graph = random_graph(5, {.shape = GraphShape::ddp});
  const auto size = static_cast<std::uint32_t>(graph.size());
  PeakCurve curve(graph);
  std::vector<Bytes> plain;
  for (std::uint32_t i = 0; i < size; ++i) plain.push_back(curve.highest(i, i + 1));
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    auto begin = static_cast<std::uint32_t>(random.below(size + 1));
    auto end = static_cast<std::uint32_t>(random.below(size + 1));
    if (begin > end) std::swap(begin, end);
    const Bytes bytes(random.between(-1000, 1000));
    curve.add(begin, end, bytes);
    for (std::uint32_t i = begin; i < end; ++i) plain[i] += bytes;
    begin = static_cast<std::uint32_t>(random.below(size));
    end = begin + 1 + static_cast<std::uint32_t>(random.below(size - begin));
    ASSERT_EQ(curve.highest(begin, end), *std::max_element(plain.begin() + begin, plain.begin() + end));
  }
}

}  // namespace
}  // namespace hocket::fuse
