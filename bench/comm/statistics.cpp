#include "statistics.h"

#include <algorithm>

#include "hocket/base/median.h"
#include "hocket/base/units.h"
#include "measuring.h"

namespace hocket::comm_bench {

double Series::lowest() const {
  double least = rounds.front().front();
  for (const auto& round : rounds) least = std::min(least, hocket::lowest(round));
  return least;
}

double Series::median() const {
  std::vector<double> medians;
  for (const auto& round : rounds) medians.push_back(upper_median(round));
  return upper_median(std::move(medians));
}

const Series* Point::of(Side side) const {
  const auto found =
      std::find_if(series.begin(), series.end(), [&](const Series& one) { return one.side == side && one.present(); });
  return found == series.end() ? nullptr : &*found;
}

std::string Point::to_string() const {
  std::string text = fmt::format("{}, {}", setting, name_of(op));
  if (op != Operator::barrier) text += " " + hocket::to_string(Bytes(bytes));
  if (fill) text += ", input filled";
  return text;
}

Ratio paired_ratio(const Series& other, const Series& ours) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(other.rounds.size(), ours.rounds.size());
  for (std::size_t i = 0; i < rounds; ++i)
    ratios.push_back(upper_median(other.rounds[i]) / upper_median(ours.rounds[i]));
  return {other.title, upper_median(std::move(ratios)), other.lowest() / ours.lowest()};
}

std::optional<Ratio> best_other_over(const Point& point, Side ours) {
  const Series* own = point.of(ours);
  const Series* best = nullptr;
  for (const Series& one : point.series) {
    if (one.side != Side::other || !one.present()) continue;
    if (best == nullptr || one.median() < best->median()) best = &one;
  }
  if (own == nullptr || best == nullptr) return std::nullopt;
  return paired_ratio(*best, *own);
}

std::vector<double> slowest_of_ranks(const std::vector<std::vector<double>>& ranks) {
  std::vector<double> slowest = ranks.front();
  for (const auto& rank : ranks) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank[i]);
  }
  return slowest;
}

}  // namespace hocket::comm_bench
