// Reports: timelines of programs, as one HTML page or as a trace for Perfetto.
//
//   HOCKET_TRY(const ReportData report, report_of(original, compiled, cost, limit));
//   HOCKET_CHECK(write_report("overlap.html", report));       // one file, needs no network
//   HOCKET_CHECK(write_trace("trace.json", report));          // for ui.perfetto.dev or chrome://tracing
//
// After a run:
//
//   HOCKET_TRY(const ReportData report, report_of_run(graph, compiled, executor->last_run(), cost));
#pragma once

#include <string>

#include "hocket/compile/compile.h"
#include "hocket/report/report_data.h"
#include "hocket/run/timeline_record.h"
#include "hocket/sim/simulate.h"

namespace hocket {

struct TimelineOptions {
  std::string title = {};
  std::string source = {};
  Bytes limit = {};  // of memory; 0: none
};

// By the two-lane model, the order as it stands.
Result<ShownTimeline> estimated_timeline(const Subject& subject, const CostModel& cost, const TimelineOptions& options);
// As it happened. The record must be of this very program.
Result<ShownTimeline> measured_timeline(const Program& program, const RunRecord& run, const TimelineOptions& options);

// As the simulator ran it; `program` was made from this subject.
Result<ShownTimeline> simulated_timeline(const Subject& subject, const SimProgram& program, const SimResult& result,
                                         const TimelineOptions& options);

// What compile() was given and what it made of it.
Result<ReportData> report_of(const Subject& original, const Compiled& compiled, const CostModel& cost,
                             const MemoryLimit& limit = {});
// The same, and how it really ran. compiled.subject is the program that ran.
Result<ReportData> report_of_run(const Subject& original, const Compiled& compiled, const RunRecord& run,
                                 const CostModel& cost, const MemoryLimit& limit = {});

// The page. Written whole or not at all.
Status write_report(const std::string& path, const ReportData& report);
std::string report_page(const ReportData& report);

// Chrome's trace event format: a track for each lane, arrows from a collective's issue to its wait, memory as a counter.
Status write_trace(const std::string& path, const ReportData& report);
std::string report_trace(const ReportData& report);

}  // namespace hocket
