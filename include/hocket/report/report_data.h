// What a report shows, wherever it comes from: the scheduler's model, the simulator, or a run that was measured.
//
//   ReportData report;
//   report.title = "gpt_step";
//   report.timelines.push_back(*measured_timeline(program, executor->last_run(), {.title = "measured"}));
//   HOCKET_CHECK(write_report("overlap.html", report));
//
// A timeline has lanes with spans on them. The first lane computes, one after the other; every other lane communicates. Steps that
// take no time and do not communicate (views, inputs) are left out.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hocket/base/units.h"

namespace hocket {

enum class SpanKind : std::uint8_t {
  compute,     // on lane 0
  collective,  // on its group's lane; issued from lane 0 and then beside it
  wait,        // on lane 0: nothing itself, but the lane may have stood still for it
  blocking,    // on lane 0: communication that runs to its end there
};

using SpanIndex = std::uint32_t;
inline constexpr SpanIndex no_span = std::numeric_limits<SpanIndex>::max();

struct ShownSpan {
  std::string name;
  std::string op;
  std::string shapes;  // "f32[64,1024], f32[1024,8] -> f32[64,8]"
  Bytes bytes;         // read and written; of communication: what is sent in and comes out
  SpanKind kind = SpanKind::compute;
  std::uint32_t lane = 0;
  Nanoseconds begin, end;
  // So long lane 0 did nothing but wait, right before `begin`; of a collective: so long it took lane 0 to issue it.
  Nanoseconds stood;
  SpanIndex needs = no_span;      // the last span before it that it depends on
  SpanIndex needed_by = no_span;  // the first span behind it that depends on it
};

struct ShownCollective {
  SpanIndex span = no_span;
  SpanIndex wait = no_span;      // its first wait; absent where nobody waits
  std::vector<SpanIndex> users;  // what uses its result, the first ones
  std::string kind;              // "all_gather"
  Nanoseconds issued;            // when lane 0 reached it; it begins when its own lane is free
  Nanoseconds hidden;            // of its time, while lane 0 computed
  Nanoseconds exposed;           // lane 0 stood still for it
  std::string start_limit;       // why it does not start earlier: "depends on mm_3"
  std::string wait_limit;        // why its wait does not come later
};

struct MemoryPoint {
  Nanoseconds time;
  Bytes held;  // from here to the next point
};

struct ShownTimeline {
  std::string title;   // "before", "after", "measured"
  std::string source;  // where the times come from: "estimated for h100x8", "measured on rank 0"
  std::vector<std::string> lanes;
  std::vector<ShownSpan> spans;  // in the order of the program
  std::vector<ShownCollective> collectives;
  std::vector<MemoryPoint> memory;  // ascending in time
  Bytes peak;
  Bytes limit;  // 0: none
  Nanoseconds step_time;
  Nanoseconds compute;
  Nanoseconds communication;  // sum over all collectives
  Nanoseconds exposed;        // lane 0 stood still, its tail included

  // How much of the communication is hidden, 0 … 1; 1 where there is none.
  double hidden_share() const;
};

struct ReportData {
  std::string title;
  std::vector<ShownTimeline> timelines;                    // the first is compared with the last
  std::vector<std::pair<std::string, std::string>> facts;  // what else a reader wants to know: {"passes", "…"}
};

// "communication hidden: 91 %, step 1.80 times faster, memory +0.0 %": the last timeline beside the first.
std::string headline_of(const ReportData& report);

}  // namespace hocket
