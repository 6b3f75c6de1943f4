// Flight reports, from ranks that may have been dying when they wrote them: whatever the bytes are, there is a story or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "comm/flight_report.h"
#include "comm/flight_story.h"
#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = parse_flight_report(text, "input");
  if (!report) {
    fuzz::must_have_place(report.error());
    return 0;
  }
  if (const auto story = tell({*report}, {"input"}); !story && story.error().message.empty())
    fuzz::violated("what can't be told has a reason", std::string(text));
  const std::string json = to_json(*report);
  const auto again = parse_flight_report(json, "again");
  if (!again) fuzz::violated("a report that was written is read", again.error().to_string() + "\n" + json);
  if (to_json(*again) != json) fuzz::violated("JSON gives the same report", json);
  return 0;
}
