// What flight reports tell when they are read together: where the ranks of a group stopped, and where they went different ways.
#pragma once

#include "comm/flight_report.h"

namespace hocket {

struct FlightFailure {
  std::int32_t by = 0;  // the rank that says so
  std::string reason;
};

// The first call number at which two ranks did different things.
struct FlightDifference {
  std::uint64_t number = 0;
  std::int32_t rank = 0;
  std::int32_t other_rank = 0;
  FlightCall call;
  FlightCall other_call;
};

struct FlightStory {
  std::string group;
  Ranks ranks;
  std::vector<FlightFailure> failures;  // one for each reason, the earliest report first
  std::vector<FlightPlace> places;      // by rank; what the latest report knows of each
  std::vector<std::int32_t> unknown;    // ranks of the group that no report tells of
  std::optional<FlightDifference> difference;
  std::uint64_t furthest = 0;  // the last call that anybody began
};

// The reports of several ranks about the same failure of the same group, with the files that they came from. At least one.
Result<FlightStory> tell(std::vector<FlightReport> reports, const std::vector<std::string>& files);

// Whether ranks that made these two calls would have come together.
bool same_call(const CallFacts& a, const CallFacts& b);

// The `most` calls of all ranks that took longest, the longest first. Those that have not finished are not among them.
struct SlowCall {
  std::int32_t rank = 0;
  FlightCall call;
};
std::vector<SlowCall> slowest_calls(const FlightStory& story, std::size_t most);

}  // namespace hocket
