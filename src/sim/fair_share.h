// Max-min fair rates: nobody can have more without somebody who has no more than they having less.
//
//   // two flows on one link: half each; one of them could only use a third of it: it gets that, the other two thirds
//   fair_rates({{{0, 1.0}}, {{0, 1.0}}}, 1) == {0.5, 0.5}
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

struct LinkUse {
  std::uint32_t link = 0;
  double share = 1;  // of the link that the flow needs to go at full speed
};
using LinkUses = std::vector<LinkUse>;

// The speed of each flow, at most 1. No link carries more than it can.
std::vector<double> fair_rates(std::span<const LinkUses> flows, std::size_t links);

}  // namespace hocket
