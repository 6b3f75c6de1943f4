#include "sim/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::vector<double> rates(const std::vector<LinkUses>& flows, std::size_t links) { return fair_rates(flows, links); }
auto near(double value) { return DoubleNear(value, 1e-9); }

TEST(FairShare, of_one_flow_is_everything) { EXPECT_THAT(rates({{{0, 1.0}}}, 1), ElementsAre(near(1))); }

TEST(FairShare, of_two_flows_on_one_link_is_half_each) {
  EXPECT_THAT(rates({{{0, 1.0}}, {{0, 1.0}}}, 1), ElementsAre(near(0.5), near(0.5)));
}

TEST(FairShare, leaves_flows_on_other_links_alone) {
  EXPECT_THAT(rates({{{0, 1.0}}, {{1, 1.0}}}, 2), ElementsAre(near(1), near(1)));
}

// A third flow is on both links: the classic example of max-min fairness with a link of two and one of three flows.
TEST(FairShare, gives_what_others_cannot_use_to_those_who_can) {
  const auto result = rates({{{0, 1.0}}, {{0, 1.0}, {1, 1.0}}, {{1, 1.0}}, {{1, 1.0}}}, 2);
  EXPECT_THAT(result, ElementsAre(near(2.0 / 3), near(1.0 / 3), near(1.0 / 3), near(1.0 / 3)));
}

TEST(FairShare, of_a_flow_that_needs_little_of_a_link_hardly_slows_anybody) {
  const auto result = rates({{{0, 1.0}}, {{0, 0.25}}}, 1);
  EXPECT_THAT(result, ElementsAre(near(0.8), near(0.8)));
}

// The definition itself: no link is overfull, and every flow below full speed is on a full link where nobody is faster.
TEST(FairShare, of_random_flows_is_max_min_fair) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::size_t links = 1 + random() % 6;
    std::vector<LinkUses> flows(1 + random() % 7);
    for (LinkUses& uses : flows) {
      for (std::uint32_t l = 0; l < links; ++l) {
        if (random() % 2 == 0) uses.push_back({l, 0.1 + 0.9 * static_cast<double>(random() % 1000) / 1000});
      }
    }
    const auto result = fair_rates(flows, links);
    std::vector<double> load(links);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const LinkUse& use : flows[f]) load[use.link] += use.share * result[f];
    }
    for (const double one : load) ASSERT_LE(one, 1 + 1e-9);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (result[f] > 1 - 1e-9) continue;
      const bool held_back = std::any_of(flows[f].begin(), flows[f].end(), [&](const LinkUse& use) {
        if (load[use.link] < 1 - 1e-9) return false;
        for (std::size_t other = 0; other < flows.size(); ++other) {
          for (const LinkUse& theirs : flows[other]) {
            if (theirs.link == use.link && result[other] > result[f] + 1e-9) return false;
          }
        }
        return true;
      });
      ASSERT_TRUE(held_back) << "round " << round << ", flow " << f;
    }
  }
}

}  // namespace
}  // namespace hocket
