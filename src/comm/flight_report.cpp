#include "comm/flight_report.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "hocket/base/env.h"
#include "hocket/base/file.h"
#include "hocket/base/log.h"

namespace hocket {

namespace {

double microseconds(std::uint64_t from, std::uint64_t to) {
  // Unsigned differences, so that a clock which is a little behind on another core gives a small negative number.
  return static_cast<double>(static_cast<std::int64_t>(to - from)) / ticks_per_second() * 1e6;
}

FlightPlace place_of(const Rounds& rounds, std::int32_t place, std::uint64_t now) {
  const FlightRing& ring = rounds.flight_of(place);
  FlightPlace found;
  found.rank = rounds.world_rank(place);
  found.pid = rounds.pid(place);
  found.finished = ring.finished();
  found.begun = std::max(ring.begun(), found.finished);
  const std::uint64_t oldest = found.begun < FlightRing::size ? 1 : found.begun - FlightRing::size + 1;
  for (std::uint64_t number = oldest; number <= found.begun; ++number) {
    const FlightRecord record = ring.read(number);
    if (record.call.number != number) continue;  // overwritten while it was read, or never recorded
    FlightCall& call = found.calls.emplace_back();
    call.facts = record.call;
    call.file = ring.file_of(record);
    call.start_us = microseconds(now, record.started);
    if (record.finished != 0) call.duration_us = microseconds(record.started, record.finished);
  }
  return found;
}

}  // namespace

const FlightCall* FlightPlace::call(std::uint64_t number) const {
  const auto found =
      std::lower_bound(calls.begin(), calls.end(), number,
                       [](const FlightCall& one, std::uint64_t wanted) { return one.facts.number < wanted; });
  return found != calls.end() && found->facts.number == number ? &*found : nullptr;
}

FlightReport collect_flight_report(const RankGroup& group, const Rounds& rounds, std::string reason) {
  FlightReport report;
  report.group = group.name();
  report.ranks = group.ranks();
  report.by = rounds.world_rank(rounds.place());
  report.reason = std::move(reason);
  report.written = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::uint64_t now = ticks();
  for (std::int32_t place = 0; place < rounds.size(); ++place) report.places.push_back(place_of(rounds, place, now));
  return report;
}

std::string flight_report_path(const std::string& folder, const RankGroup& group, std::int32_t rank) {
  std::string name = group.name();
  // "ranks:1-7/2" is no name of a file.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':' || c == ','; }, '_');
  return fmt::format("{}/flight-{}-rank{}.json", folder, name, rank);
}

std::string leave_flight_report(const RankGroup& group, const Rounds& rounds, const Error& error) {
  const std::string& folder = Env::get().flight;
  if (folder.empty()) return "";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);  // what goes wrong here shows when the file is written
  const FlightReport report = collect_flight_report(group, rounds, error.message);
  const std::string path = flight_report_path(folder, group, report.by);
  if (const Status written = write_file(path, to_json(report)); !written) {
    log().warn("no flight report: {}", written.error().to_string());
    return "";
  }
  return fmt::format("; see {} (hocket explain --flight {})", path, path);
}

}  // namespace hocket
