#include "targets.h"

namespace hocket::comm_bench {

namespace {

void check_point(const Point& point, const Targets& targets, std::vector<std::string>& missed) {
  const double asked = least_ratio(point, targets);
  if (asked == 0) return;
  const auto ratio = best_other_over(point, judged_side(point));
  if (!ratio)
    missed.push_back(fmt::format("{}: nothing to compare: hocket or all others are absent", point.to_string()));
  if (!ratio || ratio->by_round >= asked) return;
  std::string line = fmt::format("{}: {:.2f} times as fast as {}, expected at least {}", point.to_string(),
                                 ratio->by_round, ratio->other, asked);
  if (const auto floor = against_floor(point))
    line += fmt::format(" (the memory floor: {:.2f} times; hocket takes {:.2f} times the floor)", floor->others,
                        floor->ours);
  missed.push_back(std::move(line));
}

void check_floor(const Point& point, const Targets& targets, std::vector<std::string>& missed) {
  const auto floor = against_floor(point);
  if (!floor || floor->ours <= targets.large_sum_floor) return;
  missed.push_back(fmt::format("{}: from symmetric buffers {:.2f} times the memory floor, expected at most {}",
                               point.to_string(), floor->ours, targets.large_sum_floor));
}

void check_most(const std::vector<Point>& points, const Targets& targets, std::vector<std::string>& missed) {
  std::size_t compared = 0;
  std::size_t reached = 0;
  for (const Point& point : points) {
    const auto ratio = point.fill ? std::nullopt : best_other_over(point, Side::hocket);
    if (!ratio) continue;
    ++compared;
    if (ratio->by_round >= targets.mostly) ++reached;
  }
  if (2 * reached > compared || compared == 0) return;
  missed.push_back(fmt::format("{} of {} points are at least {} times as fast as the best, expected more than half",
                               reached, compared, targets.mostly));
}

}  // namespace

double least_ratio(const Point& point, const Targets& targets) {
  if (point.fill) return point.bytes >= targets.filled_from ? targets.filled : 0;
  return is_large_sum(point, targets) ? targets.large_sum_private : targets.everywhere;
}

bool is_large_sum(const Point& point, const Targets& targets) {
  return point.op == Operator::all_reduce && point.bytes == targets.large_sum && !point.fill;
}

std::optional<AgainstFloor> against_floor(const Point& point) {
  const Series* floor = point.of(Side::floor);
  const Series* ours = point.of(Side::hocket_symmetric);
  const auto others = best_other_over(point, Side::floor);
  if (floor == nullptr || ours == nullptr || !others) return std::nullopt;
  return AgainstFloor{others->by_round, 1 / paired_ratio(*floor, *ours).by_round};
}

Side judged_side(const Point& point) { return point.fill ? Side::hocket_symmetric : Side::hocket; }

std::vector<std::string> misses(const std::vector<Point>& points, const Targets& targets) {
  std::vector<std::string> missed;
  for (const Point& point : points) {
    check_point(point, targets, missed);
    if (is_large_sum(point, targets)) check_floor(point, targets, missed);
  }
  check_most(points, targets, missed);
  return missed;
}

}  // namespace hocket::comm_bench
