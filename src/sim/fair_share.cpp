#include "sim/fair_share.h"

#include <algorithm>

namespace hocket {

// Progressive filling: all flows speed up together until a link is full or they go at full speed; those on the full link stay as
// fast as they are, the others go on.
std::vector<double> fair_rates(std::span<const LinkUses> flows, std::size_t links) {
  constexpr double full = 1e-12;  // what is left of a full link
  std::vector<double> rates(flows.size(), 0), left(links, 1), wanted(links);
  std::vector<bool> settled(flows.size(), false);
  double level = 0;
  while (level < 1) {
    std::fill(wanted.begin(), wanted.end(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const LinkUse& use : flows[f]) wanted[use.link] += settled[f] ? 0 : use.share;
    }
    double step = 1 - level;
    for (std::size_t l = 0; l < links; ++l) {
      if (wanted[l] > 0) step = std::min(step, left[l] / wanted[l]);
    }
    level += step;
    bool more = false;
    for (std::size_t l = 0; l < links; ++l) left[l] -= step * wanted[l];
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (settled[f]) continue;
      rates[f] = level;
      settled[f] = std::any_of(flows[f].begin(), flows[f].end(),
                               [&](const LinkUse& use) { return use.share > 0 && left[use.link] <= full; });
      more = more || !settled[f];
    }
    if (!more) break;
  }
  return rates;
}

}  // namespace hocket
