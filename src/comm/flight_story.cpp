#include "comm/flight_story.h"

#include <algorithm>
#include <map>

namespace hocket {

namespace {

constexpr double microseconds_per_second = 1e6;

// Times of a report are relative to it; here all are relative to the last.
void shift(FlightPlace& place, double microseconds) {
  for (FlightCall& call : place.calls) call.start_us -= microseconds;
}

// A later report knows more of a rank, unless the rank has ended: then all know the same.
bool knows_more(const FlightPlace& a, const FlightPlace& b) {
  return std::pair(a.begun, a.finished) > std::pair(b.begun, b.finished);
}

std::optional<FlightDifference> first_difference(const std::vector<FlightPlace>& places) {
  std::map<std::uint64_t, std::pair<std::int32_t, const FlightCall*>> first;  // who made a call of this number first
  std::optional<FlightDifference> found;
  for (const FlightPlace& place : places) {
    for (const FlightCall& call : place.calls) {
      const std::uint64_t number = call.facts.number;
      if (found && number >= found->number) break;
      const auto [known, is_new] = first.emplace(number, std::pair(place.rank, &call));
      if (is_new || same_call(known->second.second->facts, call.facts)) continue;
      found = FlightDifference{number, known->second.first, place.rank, *known->second.second, call};
    }
  }
  return found;
}

}  // namespace

bool same_call(const CallFacts& a, const CallFacts& b) {
  const bool same_kind = a.op == b.op && a.dtype == b.dtype && a.count == b.count && a.parts == b.parts;
  const bool same_reduction = !reduces(a.op) || (a.reduce == b.reduce && a.factor == b.factor);
  const bool same_source = a.op != Operator::broadcast || a.root == b.root;
  return same_kind && same_reduction && same_source && a.algorithm == b.algorithm;
}

Result<FlightStory> tell(std::vector<FlightReport> reports, const std::vector<std::string>& files) {
  FlightStory story{reports.front().group, reports.front().ranks, {}, {}, {}, {}, 0};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].group == story.group && reports[i].ranks == story.ranks) continue;
    return fail(Error{ErrorKind::input,
                      fmt::format("is of group {}, but {} is of group {}: read the reports of one group at a time",
                                  reports[i].group, files.front(), story.group),
                      files[i]});
  }
  std::stable_sort(reports.begin(), reports.end(),
                   [](const FlightReport& a, const FlightReport& b) { return a.written < b.written; });
  std::map<std::int32_t, FlightPlace> by_rank;
  for (FlightReport& report : reports) {
    const bool is_new = std::none_of(story.failures.begin(), story.failures.end(),
                                     [&](const FlightFailure& known) { return known.reason == report.reason; });
    if (is_new && !report.reason.empty()) story.failures.push_back({report.by, report.reason});
    for (FlightPlace& place : report.places) {
      shift(place, (reports.back().written - report.written) * microseconds_per_second);
      const auto [known, is_first] = by_rank.emplace(place.rank, place);
      if (!is_first && knows_more(place, known->second)) known->second = std::move(place);
    }
  }
  for (auto& [rank, place] : by_rank) {
    story.furthest = std::max(story.furthest, place.begun);
    story.places.push_back(std::move(place));
  }
  for (const std::int32_t rank : story.ranks) {
    if (!by_rank.contains(rank)) story.unknown.push_back(rank);
  }
  story.difference = first_difference(story.places);
  return story;
}

std::vector<SlowCall> slowest_calls(const FlightStory& story, std::size_t most) {
  std::vector<SlowCall> all;
  for (const FlightPlace& place : story.places) {
    for (const FlightCall& call : place.calls) {
      if (call.duration_us) all.push_back({place.rank, call});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const SlowCall& a, const SlowCall& b) { return *a.call.duration_us > *b.call.duration_us; });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace hocket
