// Timelines as reports show them, against the scheduler's own figures and against runs made up by hand.
#include "hocket/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "report/base64.h"
#include "report/page_data.h"
#include "support/captures.h"
#include "support/random_graph.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// %h needs 2 µs, the sum 5 µs beside it; what uses both waits 3 µs.
constexpr const char* small_text = R"(
graph @small(%x: f32[4,4], %y: f32[4,4]) {
  group @dp = ranks[0,1]
  %sum = _c10d_functional.all_reduce(%y, "sum", @dp) : f32[4,4] {est=0.005ms}
  %h   = aten.relu(%x) : f32[4,4] {est=0.002ms}
  %got = _c10d_functional.wait_tensor(%sum) : f32[4,4]
  %z   = aten.mm(%h, %got) : f32[4,4] {est=0.001ms}
  return %z
}
)";

Nanoseconds us(double value) { return Nanoseconds::from_ns(value * 1000); }

ShownTimeline estimated(const Subject& subject, Bytes limit = {}) {
  auto line =
      estimated_timeline(subject, CostModel(CostOptions{}), {.title = "before", .source = "test", .limit = limit});
  EXPECT_TRUE(line) << line.error().to_string();
  return std::move(*line);
}

ShownTimeline small() { return estimated(*parse_graph(small_text, "small")); }

std::vector<std::string> names(const ShownTimeline& line) {
  std::vector<std::string> result;
  for (const ShownSpan& span : line.spans) result.push_back(span.name);
  return result;
}

TEST(Report, shows_when_every_step_runs_and_what_is_exposed) {
  const ShownTimeline line = small();
  EXPECT_THAT(names(line), ElementsAre("sum", "h", "got", "z"));
  EXPECT_THAT(line.lanes, ElementsAre("compute", "dp (2 ranks)"));
  EXPECT_EQ(line.spans[0].lane, 1U);
  EXPECT_EQ(line.spans[0].end, us(5));
  EXPECT_EQ(line.spans[1].end, us(2));
  EXPECT_EQ(line.spans[2].stood, us(3));
  EXPECT_EQ(line.spans[3].begin, us(5));
  EXPECT_EQ(line.step_time, us(6));
  EXPECT_EQ(line.exposed, us(3));
  EXPECT_EQ(line.communication, us(5));
  EXPECT_DOUBLE_EQ(line.hidden_share(), 0.4);
  EXPECT_EQ(line.spans[3].shapes, "f32[4,4], f32[4,4] -> f32[4,4]");
  EXPECT_EQ(line.spans[3].needs, 2U);
  EXPECT_EQ(line.spans[1].needed_by, 3U);
}

TEST(Report, says_of_a_collective_who_waits_for_it_who_uses_it_and_what_limits_it) {
  const ShownTimeline line = small();
  ASSERT_EQ(line.collectives.size(), 1U);
  const ShownCollective& sum = line.collectives[0];
  EXPECT_EQ(sum.kind, "all_reduce");
  EXPECT_EQ(line.spans[sum.wait].name, "got");
  EXPECT_THAT(sum.users, ElementsAre(3U));
  EXPECT_EQ(sum.hidden, us(2));
  EXPECT_EQ(sum.exposed, us(3));
  EXPECT_EQ(sum.start_limit, "nothing more to pass");
  EXPECT_EQ(sum.wait_limit, "needed by z");
}

TEST(Report, leaves_out_steps_that_take_no_time_but_not_what_they_tie_together) {
  const auto graph = parse_graph(R"(
graph @views(%x: f32[4,2], %y: f32[8]) {
  %h = aten.relu(%x) : f32[4,2] {est=0.002ms}
  %v = aten.view(%h, [8]) : f32[8]
  %z = aten.add.Tensor(%v, %y) : f32[8] {est=0.001ms}
  return %z
}
)",
                                 "views");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const ShownTimeline line = estimated(*graph);
  EXPECT_THAT(names(line), ElementsAre("h", "z"));
  EXPECT_EQ(line.spans[1].needs, 0U);
  EXPECT_EQ(line.spans[0].needed_by, 1U);
}

// The figures of a page are those that the compiler prints.
TEST(Report, has_the_figures_of_the_scheduler) {
  std::vector<Graph> graphs;
  for (const std::string& path : shipped_captures()) graphs.push_back(*read_graph(path));
  for (std::uint64_t seed = 1; seed <= 30; ++seed) graphs.push_back(random_graph(seed));
  const CostModel cost(CostOptions{});
  for (const Graph& graph : graphs) {
    SCOPED_TRACE(graph.name());
    const auto measures = measure(graph, cost);
    ASSERT_TRUE(measures);
    const ShownTimeline line = estimated(graph);
    EXPECT_EQ(line.step_time, measures->step_time);
    EXPECT_EQ(line.peak, measures->peak);
    Nanoseconds blocking;
    for (const ShownSpan& span : line.spans)
      blocking += span.kind == SpanKind::blocking ? span.end - span.begin : Nanoseconds();
    EXPECT_EQ(line.exposed, measures->exposed + blocking);
    EXPECT_EQ(line.compute + blocking, measures->compute);
    Bytes most;
    for (const MemoryPoint& point : line.memory) most = std::max(most, point.held);
    EXPECT_EQ(most, line.peak);
    EXPECT_TRUE(std::is_sorted(line.memory.begin(), line.memory.end(),
                               [](const MemoryPoint& a, const MemoryPoint& b) { return a.time < b.time; }));
  }
}

TEST(Report, of_a_run_shows_what_was_measured) {
  // The program comes from a graph: that is what users do.
  CompileOptions options;
  options.passes = *parse_passes("lower,plan");
  const auto compiled = compile(*parse_graph(small_text, "small"), options);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  const Program& lowered = *compiled->program();
  RunRecord run;
  Nanoseconds now;
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    const bool communicates = lowered.collective(StepId(i)) != nullptr;
    run.steps.push_back({now, now + us(1), now + us(communicates ? 4 : 1)});
    now += us(1);
  }
  run.total = now;
  const auto line = measured_timeline(lowered, run, {.title = "measured"});
  ASSERT_TRUE(line) << line.error().to_string();
  EXPECT_EQ(line->step_time, run.total);
  Nanoseconds expected;
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    const OpSpec* spec = lowered.op_spec(StepId(i));
    if (spec->effects.waits || spec->effects.comm) expected += us(1);
  }
  EXPECT_EQ(line->exposed, expected);
  const auto report = report_of_run(*parse_graph(small_text, "small"), *compiled, run, CostModel(options.cost));
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(report->timelines.size(), 3U);
  EXPECT_EQ(report->timelines[2].title, "measured");
  EXPECT_THAT(headline_of(*report), HasSubstr("estimated"));
}

TEST(Report, of_a_run_lets_collectives_of_a_group_begin_one_after_the_other) {
  CompileOptions options;
  options.passes = *parse_passes("lower,plan");
  const auto compiled = compile(*parse_graph(R"(
graph @two(%x: f32[4], %y: f32[4]) {
  group @dp = ranks[0,1]
  %a = _c10d_functional.all_reduce(%x, "max", @dp) : f32[4]
  %b = _c10d_functional.all_reduce(%y, "max", @dp) : f32[4]
  %wa = _c10d_functional.wait_tensor(%a) : f32[4]
  %wb = _c10d_functional.wait_tensor(%b) : f32[4]
  return %wa, %wb
}
)",
                                             "two"),
                                options);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  const Program& program = *compiled->program();
  RunRecord run;
  run.total = us(20);
  std::size_t issued = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const bool starts = program.collective(StepId(i)) != nullptr;
    const Nanoseconds now = us(static_cast<double>(i));
    run.steps.push_back({now, now + us(1), starts ? us(issued++ == 0 ? 10 : 15) : now + us(1)});
  }
  const auto line = measured_timeline(program, run, {});
  ASSERT_TRUE(line) << line.error().to_string();
  ASSERT_EQ(line->collectives.size(), 2U);
  const ShownSpan& first = line->spans[line->collectives[0].span];
  const ShownSpan& second = line->spans[line->collectives[1].span];
  EXPECT_EQ(first.end, us(10));
  EXPECT_EQ(second.begin, us(10));
  EXPECT_EQ(second.end, us(15));
  EXPECT_LT(line->collectives[1].issued, us(10));
}

TEST(Report, refuses_a_record_of_another_program) {
  CompileOptions options;
  options.passes = *parse_passes("lower,plan");
  const auto compiled = compile(*parse_graph(small_text, "small"), options);
  const auto line = measured_timeline(*compiled->program(), RunRecord{}, {});
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("the record is of 0 steps"));
}

TEST(Report, headline_says_what_a_manager_wants_to_know) {
  ReportData report;
  report.timelines = {small(), small()};
  report.timelines[0].step_time = us(12);
  report.timelines[1].exposed = us(0.5);
  EXPECT_EQ(headline_of(report), "communication hidden: 90 %, step 2.00 times faster, memory +0.0 %");
}

// ---------------------------------------------------------------- the page

TEST(Base64, of_the_examples_of_rfc_4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

// What the page does with the columns, in C++.
TEST(PageData, gives_every_span_back) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ReportData report;
    report.timelines = {estimated(random_graph(seed)), estimated(random_graph(seed + 1))};
    const auto json = nlohmann::json::parse(page_data(report));
    for (std::size_t t = 0; t < 2; ++t) {
      const ShownTimeline& line = report.timelines[t];
      const auto& spans = json.at("timelines").at(t).at("spans");
      std::vector<std::int64_t> free(line.lanes.size());
      std::int64_t step = 0;
      for (std::size_t i = 0; i < line.spans.size(); ++i) {
        step += spans.at("step").at(i).get<std::int64_t>();
        const std::size_t lane = spans.at("lane").at(i);
        const std::int64_t begin = free[lane] + spans.at("gap").at(i).get<std::int64_t>();
        free[lane] = begin + json.at("steps").at("time").at(step).get<std::int64_t>();
        ASSERT_EQ(begin, line.spans[i].begin.picoseconds);
        ASSERT_EQ(free[lane], line.spans[i].end.picoseconds);
        ASSERT_EQ(json.at("steps").at("name").at(step), line.spans[i].name);
      }
    }
  }
}

TEST(Page, is_one_file_that_asks_for_nothing) {
  ReportData report;
  report.title = "a </title><script>alert(1)</script> & more";
  report.timelines = {small()};
  const std::string page = report_page(report);
  EXPECT_THAT(page, HasSubstr("<title>a &lt;/title&gt;&lt;script&gt;"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* absent : {"http://", "https://", " src=", "@import", "{{"})
    EXPECT_EQ(page.find(absent), std::string::npos) << absent;
}

TEST(Page, of_fifty_thousand_steps_stays_below_two_megabytes) {
  RandomGraphOptions options;
  options.shape = GraphShape::fsdp;
  options.layers = 2600;
  const Graph graph = random_graph(7, options);
  ASSERT_GT(graph.size(), 50'000U);
  ReportData report;
  report.timelines = {estimated(graph), estimated(graph)};
  EXPECT_LT(report_page(report).size(), 2'000'000U);
}

TEST(Page, is_written_whole_or_not_at_all) {
  const TemporaryFolder folder;
  ReportData report;
  report.timelines = {small()};
  EXPECT_TRUE(write_report(folder.path() + "/page.html", report));
  EXPECT_EQ(*read_bytes(folder.path() + "/page.html"), report_page(report));
  const Status nowhere = write_report(folder.path() + "/absent/page.html", report);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::system);
}

// ---------------------------------------------------------------- the trace

TEST(Trace, has_a_track_for_each_lane_arrows_from_start_to_wait_and_the_memory) {
  ReportData report;
  report.timelines = {small()};
  const auto trace = nlohmann::json::parse(report_trace(report));
  std::map<std::string, int> phases;
  std::vector<std::string> tracks;
  for (const auto& event : trace.at("traceEvents")) {
    ++phases[event.at("ph")];
    if (event.at("name") == "thread_name") tracks.push_back(event.at("args").at("name"));
  }
  EXPECT_THAT(tracks, ElementsAre("compute", "group dp (2 ranks)"));
  EXPECT_EQ(phases["X"], 4);
  EXPECT_EQ(phases["s"], 1);
  EXPECT_EQ(phases["f"], 1);
  EXPECT_GE(phases["C"], 1);
  const auto wait = std::find_if(trace.at("traceEvents").begin(), trace.at("traceEvents").end(),
                                 [](const auto& event) { return event.at("name") == "got"; });
  EXPECT_DOUBLE_EQ(wait->at("ts").get<double>(), 2);
  EXPECT_DOUBLE_EQ(wait->at("dur").get<double>(), 3);
}

}  // namespace
}  // namespace hocket
