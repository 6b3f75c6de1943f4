#include "statistics.h"

#include <algorithm>

#include "core_distance.h"
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

std::size_t Point::fair_rounds() const {
  std::vector<const Series*> present;
  for (const Series& one : series) {
    if (one.present()) present.push_back(&one);
  }
  if (present.empty()) return 0;
  std::size_t fair = 0;
  for (std::size_t round = 0; round < present[0]->rounds.size(); ++round) {
    if (std::ranges::all_of(present, [&](const Series* one) { return is_fair(*present[0], *one, round); })) ++fair;
  }
  return fair;
}

bool is_fair(const Series& one, const Series& other, std::size_t round) {
  if (round >= one.round_trips_ns.size() || round >= other.round_trips_ns.size()) return true;
  return is_same_distance(one.round_trips_ns[round], other.round_trips_ns[round]);
}

Ratio paired_ratio(const Series& other, const Series& ours) {
  std::vector<double> all;
  std::vector<double> fair;
  const std::size_t rounds = std::min(other.rounds.size(), ours.rounds.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    all.push_back(upper_median(other.rounds[i]) / upper_median(ours.rounds[i]));
    if (is_fair(other, ours, i)) fair.push_back(all.back());
  }
  return {other.title, upper_median(fair.empty() ? all : fair), other.lowest() / ours.lowest()};
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
