// The figures of one point, and what is concluded from them.
//
// A ratio compares what was measured in the same round, one right after the other, so that a slow moment of the machine is on
// both sides: the median over the rounds of (median time of the other in the round / median time of hocket in the round). Rounds in
// which the cores were nearer to each other for one than for the other do not count, unless there are no others. The other is the
// contestant whose median over all rounds is the lowest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol.h"

namespace hocket::comm_bench {

enum class Side : std::uint8_t { hocket, hocket_symmetric, other, floor };

// The times of one contestant at one point.
struct Series {
  std::string title;
  Side side = Side::other;
  std::vector<std::vector<double>> rounds;  // microseconds, one for each repetition
  std::string absent;                       // why there are none
  std::vector<double> round_trips_ns = {};  // by round: core_distance.h; none where nobody has looked

  bool present() const { return absent.empty() && !rounds.empty(); }
  double lowest() const;
  double median() const;  // of the rounds' medians
};

struct Point {
  std::string setting;
  std::int32_t ranks = 0;
  Operator op = Operator::barrier;
  std::int64_t bytes = 0;
  bool fill = false;  // the time to write the input counts
  std::vector<Series> series;

  const Series* of(Side side) const;  // null if it is not present
  // In how many rounds the cores were as far apart for all that are present.
  std::size_t fair_rounds() const;
  // "crowded all_gather 16 KiB", for messages.
  std::string to_string() const;
};

struct Ratio {
  std::string other;    // the best one
  double by_round = 0;  // of medians, as above; what is checked
  double of_minima = 0;
};

// In this round the cores were as far apart for both.
bool is_fair(const Series& one, const Series& other, std::size_t round);

// How many times faster `ours` is than the best contestant. Nothing if one of them is not there.
std::optional<Ratio> best_other_over(const Point& point, Side ours);
// The same between two.
Ratio paired_ratio(const Series& other, const Series& ours);

// Of a repetition: that of the rank that took longest. All ranks have the same number of repetitions.
std::vector<double> slowest_of_ranks(const std::vector<std::vector<double>>& ranks);

}  // namespace hocket::comm_bench
