// Chrome's trace event format. A timeline is a process, a lane a thread; times are microseconds.
#include <nlohmann/json.hpp>

#include "hocket/report/report.h"

namespace hocket {

namespace {

using Json = nlohmann::ordered_json;

constexpr double microsecond = 1e6;  // in picoseconds
double us(Nanoseconds time) { return static_cast<double>(time.picoseconds) / microsecond; }

// A trace of a large program has a hundred thousand events: each is printed when it is made.
class EventList {
 public:
  void add(const Json& event) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string whole() const { return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + text_ + "\n]}\n"; }

 private:
  std::string text_;
};

class TimelineEvents {
 public:
  TimelineEvents(EventList& events, const ShownTimeline& line, std::size_t process)
      : events_(events), line_(line), process_(process) {}

  void add() {
    name("process_name", 0, fmt::format("{} ({})", line_.title, line_.source));
    for (std::size_t lane = 0; lane < line_.lanes.size(); ++lane)
      name("thread_name", lane, lane == 0 ? line_.lanes[lane] : "group " + line_.lanes[lane]);
    for (const ShownSpan& span : line_.spans) add(span);
    for (std::size_t i = 0; i < line_.collectives.size(); ++i) add_arrow(line_.collectives[i], i);
    for (const MemoryPoint& point : line_.memory)
      events_.add({{"ph", "C"},
                   {"name", "memory"},
                   {"pid", process_},
                   {"ts", us(point.time)},
                   {"args", {{"bytes", point.held.count}}}});
  }

 private:
  void name(std::string_view what, std::size_t lane, const std::string& value) {
    events_.add({{"ph", "M"}, {"name", what}, {"pid", process_}, {"tid", lane}, {"args", {{"name", value}}}});
    if (what == "thread_name")
      events_.add({{"ph", "M"},
                   {"name", "thread_sort_index"},
                   {"pid", process_},
                   {"tid", lane},
                   {"args", {{"sort_index", lane}}}});
  }

  void slice(std::string_view name, std::string_view category, std::size_t lane, Nanoseconds begin, Nanoseconds time,
             Json args) {
    events_.add({{"ph", "X"},
                 {"name", name},
                 {"cat", category},
                 {"pid", process_},
                 {"tid", lane},
                 {"ts", us(begin)},
                 {"dur", us(time)},
                 {"args", std::move(args)}});
  }

  void add(const ShownSpan& span) {
    constexpr std::array categories = {"compute", "communication", "wait", "communication"};
    const std::string_view category = categories[static_cast<std::size_t>(span.kind)];
    const Json args = {{"operator", span.op}, {"shapes", span.shapes}, {"bytes", span.bytes.count}};
    if (span.kind == SpanKind::wait) slice(span.name, category, 0, span.begin - span.stood, span.stood, args);
    else slice(span.name, category, span.lane, span.begin, span.end - span.begin, args);
  }

  // An arrow leaves and enters slices: the collective's on its lane, and the wait's on the compute lane.
  void add_arrow(const ShownCollective& row, std::size_t number) {
    if (row.wait == no_span) return;
    const ShownSpan& start = line_.spans[row.span];
    const ShownSpan& wait = line_.spans[row.wait];
    const std::string id = fmt::format("{}.{}", process_, number);
    events_.add({{"ph", "s"},
                 {"name", "start to wait"},
                 {"cat", "communication"},
                 {"id", id},
                 {"pid", process_},
                 {"tid", start.lane},
                 {"ts", us(start.begin)}});
    events_.add({{"ph", "f"},
                 {"bp", "e"},
                 {"name", "start to wait"},
                 {"cat", "communication"},
                 {"id", id},
                 {"pid", process_},
                 {"tid", wait.lane},
                 {"ts", us(wait.begin)}});
  }

  EventList& events_;
  const ShownTimeline& line_;
  std::size_t process_;
};

}  // namespace

std::string report_trace(const ReportData& report) {
  EventList events;
  for (std::size_t i = 0; i < report.timelines.size(); ++i) TimelineEvents(events, report.timelines[i], i + 1).add();
  return events.whole();
}

}  // namespace hocket
