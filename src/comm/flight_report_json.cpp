#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "comm/flight_report.h"

namespace hocket {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto last_reduce_op = static_cast<ReduceOp>(reduce_op_count - 1);
constexpr std::string_view schema = "hocket-flight/1";

double tenths(double value) { return std::round(value * 10.0) / 10.0; }

Json json_of(const FlightCall& call) {
  const CallFacts& facts = call.facts;
  Json object = {{"number", facts.number}, {"operator", name_of(facts.op)}, {"dtype", short_name(facts.dtype)}};
  object["count"] = facts.count;
  object["parts"] = facts.parts;
  if (reduces(facts.op)) object["reduce"] = name_of(facts.reduce);
  if (reduces(facts.op) && facts.reduce == ReduceOp::premul_sum) object["factor"] = facts.factor;
  if (facts.op == Operator::broadcast) object["source"] = facts.root;
  object["asked"] = name_of(facts.algorithm);
  object["used"] = name_of(facts.used);
  object["file"] = call.file;
  object["line"] = facts.line;
  object["start_us"] = tenths(call.start_us);
  if (call.duration_us) object["duration_us"] = tenths(*call.duration_us);
  return object;
}

Json json_of(const FlightPlace& place) {
  Json calls = Json::array();
  for (const FlightCall& call : place.calls) calls.push_back(json_of(call));
  return {{"rank", place.rank},
          {"pid", place.pid},
          {"last_finished", place.finished},
          {"last_begun", place.begun},
          {"calls", std::move(calls)}};
}

// An object of the file and where it stands in it: "places[1].calls[7]". The first thing that is wrong stays.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (!object.is_object()) complain("", "expected an object", object);
  }

  // Numbers of these files are never negative.
  template <class T>
  T integer(const char* name, T least) {
    const Json value = get(name);
    if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>()) && value.get<T>() >= least) {
      return value.get<T>();
    }
    complain(name, fmt::format("expected a whole number from {} to {}", least, std::numeric_limits<T>::max()), value);
    return least;
  }
  double number(const char* name) {
    const Json value = get(name);
    if (value.is_number()) return value.get<double>();
    complain(name, "expected a number", value);
    return 0;
  }
  std::string text(const char* name) {
    const Json value = get(name);
    if (value.is_string()) return value.get<std::string>();
    complain(name, "expected a text", value);
    return "";
  }
  // One of the values 0 … last of an enumeration, by its name.
  template <class T>
  T named(const char* name, T last, std::string_view (*name_of_value)(T)) {
    const std::string given = text(name);
    for (int value = 0; value <= static_cast<int>(last); ++value) {
      if (name_of_value(static_cast<T>(value)) == given) return static_cast<T>(value);
    }
    complain(name, "expected a known name", get(name));
    return T{};
  }
  Json list(const char* name) {
    Json value = get(name);
    if (value.is_array()) return value;
    complain(name, "expected a list", value);
    return Json::array();
  }
  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }
  void complain(std::string_view name, std::string_view expected, const Json& got) {
    if (error_) return;
    const std::string place =
        where_.empty() || name.empty() ? where_ + std::string(name) : where_ + "." + std::string(name);
    std::string text = got.is_null() ? "nothing" : got.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "…";
    error_ =
        Error{ErrorKind::input, fmt::format("{}: {}, got {}", place.empty() ? "the file" : place, expected, text), ""};
  }

 private:
  static constexpr std::size_t longest_shown = 60;
  Json get(const char* name) const { return has(name) ? object_[name] : Json(); }

  const Json& object_;
  std::string where_;
  std::optional<Error>& error_;
};

FlightCall parse_call(const Json& object, const std::string& where, std::optional<Error>& error) {
  Fields fields(object, where, error);
  FlightCall call;
  CallFacts& facts = call.facts;
  facts.number = fields.integer<std::uint64_t>("number", 1);
  facts.op = fields.named<Operator>("operator", Operator::receive, &name_of);
  if (const auto dtype = dtype_from_short_name(fields.text("dtype"))) facts.dtype = *dtype;
  else fields.complain("dtype", "expected a known dtype", object.is_object() ? object.value("dtype", Json()) : object);
  facts.count = fields.integer<std::int64_t>("count", 0);
  facts.parts = fields.integer<std::int32_t>("parts", 0);
  facts.factor = 1.0;
  if (reduces(facts.op)) facts.reduce = fields.named<ReduceOp>("reduce", last_reduce_op, &name_of);
  if (fields.has("factor")) facts.factor = fields.number("factor");
  if (facts.op == Operator::broadcast) facts.root = fields.integer<std::int32_t>("source", 0);
  facts.algorithm = fields.named<CollectiveAlgorithm>("asked", CollectiveAlgorithm::reading, &name_of);
  facts.used = fields.named<CollectiveAlgorithm>("used", CollectiveAlgorithm::reading, &name_of);
  call.file = fields.text("file");
  facts.line = fields.integer<std::uint32_t>("line", 0);
  call.start_us = fields.number("start_us");
  if (fields.has("duration_us")) call.duration_us = fields.number("duration_us");
  return call;
}

FlightPlace parse_place(const Json& object, const std::string& where, std::optional<Error>& error) {
  Fields fields(object, where, error);
  FlightPlace place;
  place.rank = fields.integer<std::int32_t>("rank", 0);
  place.pid = fields.integer<std::int64_t>("pid", 0);
  place.finished = fields.integer<std::uint64_t>("last_finished", 0);
  place.begun = fields.integer<std::uint64_t>("last_begun", 0);
  std::uint64_t last = 0;
  for (const Json& one : fields.list("calls")) {
    const std::string here = fmt::format("{}.calls[{}]", where, place.calls.size());
    place.calls.push_back(parse_call(one, here, error));
    const std::uint64_t number = place.calls.back().facts.number;
    if (number <= last) Fields(one, here, error).complain("number", fmt::format("expected more than {}", last), number);
    last = number;
    if (error) break;
  }
  return place;
}

}  // namespace

std::string to_json(const FlightReport& report) {
  Json places = Json::array();
  for (const FlightPlace& place : report.places) places.push_back(json_of(place));
  const Json whole = {
      {"schema", schema},        {"group", report.group},     {"ranks", report.ranks},      {"by", report.by},
      {"reason", report.reason}, {"written", report.written}, {"places", std::move(places)}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<FlightReport> parse_flight_report(std::string_view text, const std::string& file) {
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_discarded()) return fail(Error{ErrorKind::input, "is damaged or cut off: no JSON", file});
  std::optional<Error> error;
  Fields fields(whole, "", error);
  FlightReport report;
  if (fields.text("schema") != schema) {
    fields.complain("schema", fmt::format("expected \"{}\"", schema),
                    whole.is_object() ? whole.value("schema", Json()) : whole);
  }
  report.group = fields.text("group");
  for (const Json& rank : fields.list("ranks")) {
    const Json wrapped = {{"ranks", rank}};
    report.ranks.push_back(Fields(wrapped, "", error).integer<std::int32_t>("ranks", 0));
  }
  report.by = fields.integer<std::int32_t>("by", 0);
  report.reason = fields.text("reason");
  report.written = fields.number("written");
  for (const Json& one : fields.list("places")) {
    report.places.push_back(parse_place(one, fmt::format("places[{}]", report.places.size()), error));
  }
  if (error) return fail(at(*error, file));
  return report;
}

}  // namespace hocket
