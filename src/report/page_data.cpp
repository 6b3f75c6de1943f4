#include "report/page_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "hocket/base/version.h"

namespace hocket {

namespace {

using Json = nlohmann::ordered_json;

// Texts, each once, in the order of first appearance.
class TextColumn {
 public:
  std::size_t index(const std::string& text) {
    const auto [entry, is_new] = index_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::string> texts_;
};

// What is known of a step whenever it runs.
class StepColumns {
 public:
  std::size_t index(const ShownSpan& span) {
    const std::int64_t time = (span.end - span.begin).picoseconds;
    std::string key = fmt::format("{}\n{}\n{}\n{}", span.name, span.op, span.shapes, time);
    const auto [entry, is_new] = index_.try_emplace(std::move(key), names_.size());
    if (!is_new) return entry->second;
    names_.push_back(span.name);
    ops_.push_back(op_.index(span.op));
    shapes_.push_back(shape_.index(span.shapes));
    bytes_.push_back(span.bytes.count);
    kinds_.push_back(static_cast<int>(span.kind));
    times_.push_back(time);
    return entry->second;
  }
  Json json() const {
    return {{"name", names_}, {"op", ops_},     {"shapes", shapes_},  {"bytes", bytes_},
            {"kind", kinds_}, {"time", times_}, {"ops", op_.texts()}, {"shape_texts", shape_.texts()}};
  }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  TextColumn op_, shape_;
  std::vector<std::string> names_;
  std::vector<std::size_t> ops_, shapes_;
  std::vector<std::int64_t> bytes_, times_;
  std::vector<int> kinds_;
};

// The difference to the value before it in the column.
class DifferenceColumn {
 public:
  void add(std::int64_t value) {
    values_.push_back(value - last_);
    last_ = value;
  }
  const std::vector<std::int64_t>& values() const { return values_; }

 private:
  std::vector<std::int64_t> values_;
  std::int64_t last_ = 0;
};

Json spans_of(const ShownTimeline& line, StepColumns& steps) {
  DifferenceColumn step;
  std::vector<std::uint32_t> lane;
  std::vector<std::int64_t> gap, stood, needs, needed_by;
  std::vector<Nanoseconds> free(line.lanes.size());
  for (SpanIndex i = 0; i < line.spans.size(); ++i) {
    const ShownSpan& span = line.spans[i];
    step.add(static_cast<std::int64_t>(steps.index(span)));
    lane.push_back(span.lane);
    gap.push_back((span.begin - free[span.lane]).picoseconds);
    free[span.lane] = span.end;
    stood.push_back(span.stood.picoseconds);
    // As a distance; 0: none.
    needs.push_back(span.needs == no_span ? 0 : std::int64_t{i} - span.needs);
    needed_by.push_back(span.needed_by == no_span ? 0 : std::int64_t{span.needed_by} - i);
  }
  return {{"step", step.values()},     {"lane", std::move(lane)},   {"gap", std::move(gap)},
          {"stood", std::move(stood)}, {"needs", std::move(needs)}, {"needed_by", std::move(needed_by)}};
}

Json collectives_of(const ShownTimeline& line) {
  TextColumn texts;
  DifferenceColumn span, issued;
  std::vector<std::int64_t> wait, hidden, exposed;
  std::vector<std::size_t> kind, start_limit, wait_limit;
  Json users = Json::array();
  for (const ShownCollective& row : line.collectives) {
    span.add(row.span);
    issued.add(row.issued.picoseconds);
    wait.push_back(row.wait == no_span ? 0 : std::int64_t{row.wait} - row.span);
    hidden.push_back(row.hidden.picoseconds);
    exposed.push_back(row.exposed.picoseconds);
    kind.push_back(texts.index(row.kind));
    start_limit.push_back(texts.index(row.start_limit));
    wait_limit.push_back(texts.index(row.wait_limit));
    Json list = Json::array();
    for (const SpanIndex user : row.users) list.push_back(std::int64_t{user} - row.span);
    users.push_back(std::move(list));
  }
  return {{"span", span.values()},
          {"wait", std::move(wait)},
          {"issued", issued.values()},
          {"hidden", std::move(hidden)},
          {"exposed", std::move(exposed)},
          {"kind", std::move(kind)},
          {"start_limit", std::move(start_limit)},
          {"wait_limit", std::move(wait_limit)},
          {"texts", texts.texts()},
          {"users", std::move(users)}};
}

Json memory_of(const ShownTimeline& line) {
  DifferenceColumn time, held;
  for (const MemoryPoint& point : line.memory) {
    time.add(point.time.picoseconds);
    held.add(point.held.count);
  }
  return {{"time", time.values()}, {"held", held.values()}};
}

Json timeline_of(const ShownTimeline& line, StepColumns& steps) {
  return {{"title", line.title},
          {"source", line.source},
          {"lanes", line.lanes},
          {"step_time", line.step_time.picoseconds},
          {"compute", line.compute.picoseconds},
          {"communication", line.communication.picoseconds},
          {"exposed", line.exposed.picoseconds},
          {"hidden_share", line.hidden_share()},
          {"peak", line.peak.count},
          {"limit", line.limit.count},
          {"spans", spans_of(line, steps)},
          {"collectives", collectives_of(line)},
          {"memory", memory_of(line)}};
}

}  // namespace

std::string page_data(const ReportData& report) {
  StepColumns steps;
  Json timelines = Json::array();
  for (const ShownTimeline& line : report.timelines) timelines.push_back(timeline_of(line, steps));
  Json facts = Json::array();
  for (const auto& [what, value] : report.facts) facts.push_back({what, value});
  const Json whole = {{"title", report.title}, {"headline", headline_of(report)},
                      {"version", version()},  {"facts", std::move(facts)},
                      {"steps", steps.json()}, {"timelines", std::move(timelines)}};
  // Names come from captured programs and may hold bytes that are no UTF-8.
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hocket
