#include "hocket/report/report.h"

#include "hocket/ir/file.h"

namespace hocket {

namespace {

std::string name_of_subject(const Subject& subject) {
  return std::visit([](const auto& form) { return std::string(form.name()); }, subject);
}

std::string passes_of(const Compiled& compiled) {
  std::string text;
  for (const PassRun& run : compiled.runs) {
    if (run.skipped) continue;
    text += (text.empty() ? "" : ", ") + run.call;
  }
  return text;
}

Result<ReportData> compiled_timelines(const Subject& original, const Compiled& compiled, const CostModel& cost,
                                      const MemoryLimit& limit, const std::string& after) {
  TimelineOptions options;
  options.source = fmt::format("estimated for {}", cost.options().machine.name);
  options.limit = limit.of(compiled.before.peak);
  ReportData report;
  report.title = name_of_subject(original);
  for (const auto& [title, subject] : {std::pair{std::string("before"), &original}, {after, &compiled.subject}}) {
    options.title = title;
    HOCKET_TRY(ShownTimeline line, estimated_timeline(*subject, cost, options));
    report.timelines.push_back(std::move(line));
  }
  report.facts = {{"passes", passes_of(compiled)},
                  {"compiled in", fmt::format("{:.0f} ms", compiled.total_ms)},
                  {"no order of these steps takes less than", to_string(compiled.after.lower_bound)}};
  for (const std::string& assumption : compiled.assumptions) report.facts.emplace_back("assumed", assumption);
  return report;
}

}  // namespace

Result<ReportData> report_of(const Subject& original, const Compiled& compiled, const CostModel& cost,
                             const MemoryLimit& limit) {
  return compiled_timelines(original, compiled, cost, limit, "after");
}

Result<ReportData> report_of_run(const Subject& original, const Compiled& compiled, const RunRecord& run,
                                 const CostModel& cost, const MemoryLimit& limit) {
  const Program* const program = compiled.program();
  if (program == nullptr)
    return fail(ErrorKind::usage, "a graph has no record of a run; compile it with the passes lower and plan");
  HOCKET_TRY(ReportData report, compiled_timelines(original, compiled, cost, limit, "planned"));
  TimelineOptions options{.title = "measured", .source = "measured", .limit = limit.of(compiled.before.peak)};
  HOCKET_TRY(ShownTimeline line, measured_timeline(*program, run, options));
  report.timelines.push_back(std::move(line));
  return report;
}

Status write_report(const std::string& path, const ReportData& report) {
  return write_bytes(path, report_page(report));
}

Status write_trace(const std::string& path, const ReportData& report) {
  return write_bytes(path, report_trace(report));
}

}  // namespace hocket
