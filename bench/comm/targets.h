// What hocket's collectives must reach on one host, and which points miss it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "statistics.h"

namespace hocket::comm_bench {

struct Targets {
  double everywhere = 1.0;  // times as fast as the best contestant, from private buffers
  double mostly = 1.5;      // the same, at more than half of the points
  double filled = 2.0;      // from symmetric buffers, the time to fill the input counted on both sides
  std::int64_t filled_from = 256 << 10;
  std::int64_t large_sum = 64 << 20;  // the all_reduce of this size …
  double large_sum_private = 4.0;     // … from private buffers
  double large_sum_floor = 1.5;       // … from symmetric buffers: at most so many times what memory takes
};

// The ratio that a point must have; 0 if nothing is asked of it alone.
double least_ratio(const Point& point, const Targets& targets);
// The all_reduce that is asked for more than the others.
bool is_large_sum(const Point& point, const Targets& targets);
// The side whose ratio that is.
Side judged_side(const Point& point);

// Where the floor that memory sets was measured, too: how many times faster than the best contestant the floor itself is, and how
// many times the floor hocket takes from symmetric buffers.
struct AgainstFloor {
  double others = 0;
  double ours = 0;
};
std::optional<AgainstFloor> against_floor(const Point& point);

// One line for each miss. A point where hocket or all others are absent is a miss, too: nothing was shown there.
std::vector<std::string> misses(const std::vector<Point>& points, const Targets& targets);

}  // namespace hocket::comm_bench
