// The last calls of the ranks of a group, collected from their flight rings when something went wrong.
//
//   FlightReport report = collect_flight_report(group, rounds, "rank 3 (pid 4711) was killed by signal 9 (Killed)");
//   HOCKET_CHECK(write_file("flight.json", to_json(report)));
//   … later, elsewhere …
//   HOCKET_TRY(FlightReport again, parse_flight_report(text, "flight.json"));
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/rounds.h"

namespace hocket {

struct FlightCall {
  CallFacts facts{};  // `file` is not used
  std::string file;
  double start_us = 0;                // relative to the report, so negative
  std::optional<double> duration_us;  // absent: it has not finished

  std::string to_string() const { return describe(facts, file); }
};

// What one rank did last.
struct FlightPlace {
  std::int32_t rank = 0;
  std::int64_t pid = 0;
  std::uint64_t finished = 0;     // number of the last call that it finished; 0: none
  std::uint64_t begun = 0;        // number of the last call that it began; the same if it is in none
  std::vector<FlightCall> calls;  // ascending numbers

  const FlightCall* call(std::uint64_t number) const;
};

struct FlightReport {
  std::string group;
  Ranks ranks;
  std::int32_t by = 0;              // the rank that wrote it
  std::string reason;               // why the group has failed; empty if it has not
  double written = 0;               // seconds since 1970
  std::vector<FlightPlace> places;  // of the ranks on the writer's host
};

FlightReport collect_flight_report(const RankGroup& group, const Rounds& rounds, std::string reason);
std::string to_json(const FlightReport& report);
// Errors name `file` and the field.
Result<FlightReport> parse_flight_report(std::string_view text, const std::string& file);

// "FOLDER/flight-GROUP-rankR.json"
std::string flight_report_path(const std::string& folder, const RankGroup& group, std::int32_t rank);
// Writes a report if HOCKET_FLIGHT asks for it. What is to be said of it behind the error: "; see FILE (…)", or nothing.
std::string leave_flight_report(const RankGroup& group, const Rounds& rounds, const Error& error);

}  // namespace hocket
