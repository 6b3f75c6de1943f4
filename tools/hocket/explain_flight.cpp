#include "explain_flight.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "comm/flight_story.h"
#include "command.h"
#include "hocket/base/file.h"
#include "hocket/base/units.h"

namespace hocket::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t table_rows = 10;
constexpr std::size_t slowest_shown = 5;

std::string time_of(double microseconds) { return to_string(Nanoseconds::from_ns(microseconds * 1e3)); }

std::string last_finished(const FlightPlace& place) {
  if (place.finished == 0) return "finished nothing";
  const FlightCall* const call = place.call(place.finished);
  return "finished " + (call != nullptr ? call->to_string() : fmt::format("call {}", place.finished));
}

std::string where_it_is(const FlightPlace& place) {
  if (place.begun == place.finished) return "in no call";
  const FlightCall* const call = place.call(place.begun);
  if (call == nullptr) return fmt::format("in call {}", place.begun);
  return fmt::format("in {}, for {}", call->to_string(), time_of(-call->start_us));
}

std::string behind(const FlightPlace& place, const FlightStory& story) {
  const std::uint64_t calls = story.furthest - place.begun;
  return calls == 0 ? "" : fmt::format("; {} call{} behind", calls, calls == 1 ? "" : "s");
}

std::string cell(const FlightPlace& place, std::uint64_t number) {
  const FlightCall* const call = place.call(number);
  if (call == nullptr) return "-";
  return call->duration_us ? time_of(*call->duration_us) : "not done";
}

// What most ranks would recognise: the call as the first rank that has it made it.
std::string name_of_call(const FlightStory& story, std::uint64_t number) {
  if (story.difference && story.difference->number == number) return "ranks differ, see above";
  for (const FlightPlace& place : story.places) {
    if (const FlightCall* const call = place.call(number)) return call->to_string();
  }
  return "unknown";
}

std::string table_of(const FlightStory& story) {
  constexpr int width = 11;
  std::string text = fmt::format("{:>6}", "call");
  for (const FlightPlace& place : story.places)
    text += fmt::format("  {:>{}}", fmt::format("rank {}", place.rank), width);
  text += "\n";
  const std::uint64_t first = story.furthest < table_rows ? 1 : story.furthest - table_rows + 1;
  for (std::uint64_t number = first; number <= story.furthest; ++number) {
    text += fmt::format("{:>6}", number);
    for (const FlightPlace& place : story.places) {
      const std::string shown = cell(place, number);
      // fmt counts the two bytes of µ as one column, as a terminal does.
      text += fmt::format("  {:>{}}", shown, width);
    }
    text += "  " + name_of_call(story, number) + "\n";
  }
  return text;
}

std::string in_words(const FlightStory& story) {
  std::string text = fmt::format("group {}, ranks {}\n", story.group, fmt::join(story.ranks, ", "));
  for (const FlightFailure& failure : story.failures) {
    text += fmt::format("failed, says rank {}: {}\n", failure.by, failure.reason);
  }
  if (story.failures.empty()) text += "has not failed\n";
  text += "\n";
  for (const FlightPlace& place : story.places) {
    text += fmt::format("rank {} (pid {}): {}; {}{}\n", place.rank, place.pid, last_finished(place), where_it_is(place),
                        behind(place, story));
  }
  if (!story.unknown.empty()) {
    text += fmt::format("nothing is known of ranks {}: add the report of a rank on their host\n",
                        fmt::join(story.unknown, ", "));
  }
  if (const auto& difference = story.difference) {
    text += fmt::format("\nthe ranks differ from call {} on:\n  rank {} made {}\n  rank {} made {}\n",
                        difference->number, difference->rank, difference->call.to_string(), difference->other_rank,
                        difference->other_call.to_string());
  }
  if (story.furthest == 0) return text;
  text += "\nthe last calls, and how long they took:\n" + table_of(story);
  const auto slow = slowest_calls(story, slowest_shown);
  if (!slow.empty()) text += "\nthe slowest calls:\n";
  for (const SlowCall& one : slow) {
    text += fmt::format("  {:>11}  rank {}: {}\n", time_of(*one.call.duration_us), one.rank, one.call.to_string());
  }
  return text;
}

Json json_of(const FlightCall& call) {
  Json object = {{"number", call.facts.number},
                 {"call", call.to_string()},
                 {"used", name_of(call.facts.used)},
                 {"start_us", call.start_us}};
  if (call.duration_us) object["duration_us"] = *call.duration_us;
  return object;
}

Json json_of(const FlightPlace& place, const FlightStory& story) {
  Json object = {{"rank", place.rank},
                 {"pid", place.pid},
                 {"last_finished", place.finished},
                 {"last_begun", place.begun},
                 {"behind", story.furthest - place.begun}};
  if (const FlightCall* const call = place.call(place.finished)) object["finished"] = json_of(*call);
  if (place.begun != place.finished) {
    if (const FlightCall* const call = place.call(place.begun)) object["in"] = json_of(*call);
  }
  Json calls = Json::array();
  for (const FlightCall& call : place.calls) {
    if (call.facts.number + table_rows > story.furthest) calls.push_back(json_of(call));
  }
  object["calls"] = std::move(calls);
  return object;
}

Json json_of(const FlightStory& story) {
  Json object = {{"group", story.group}, {"ranks", story.ranks}};
  object["failures"] = Json::array();
  for (const FlightFailure& failure : story.failures) {
    object["failures"].push_back({{"by", failure.by}, {"reason", failure.reason}});
  }
  object["places"] = Json::array();
  for (const FlightPlace& place : story.places) object["places"].push_back(json_of(place, story));
  object["unknown"] = story.unknown;
  if (const auto& difference = story.difference) {
    object["difference"] = {{"number", difference->number},
                            {"rank", difference->rank},
                            {"call", json_of(difference->call)},
                            {"other_rank", difference->other_rank},
                            {"other_call", json_of(difference->other_call)}};
  }
  object["slowest"] = Json::array();
  for (const SlowCall& one : slowest_calls(story, slowest_shown)) {
    Json call = json_of(one.call);
    call["rank"] = one.rank;
    object["slowest"].push_back(std::move(call));
  }
  return object;
}

Result<FlightStory> read_story(const std::vector<std::string>& files) {
  std::vector<FlightReport> reports;
  for (const std::string& file : files) {
    HOCKET_TRY(const std::string text, read_file(file));
    HOCKET_TRY(FlightReport report, parse_flight_report(text, file));
    reports.push_back(std::move(report));
  }
  return tell(std::move(reports), files);
}

}  // namespace

int run_explain_flight(const std::vector<std::string>& files, bool json) {
  const Result<FlightStory> story = read_story(files);
  if (!story) return complain(story.error());
  say(json ? json_of(*story).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : in_words(*story));
  return ok;
}

}  // namespace hocket::tool
