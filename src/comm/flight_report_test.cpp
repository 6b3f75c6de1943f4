#include "comm/flight_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comm/flight_story.h"

namespace hocket {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

FlightCall call_of(std::uint64_t number, Operator op, std::int64_t count) {
  FlightCall call;
  call.facts.op = op;
  call.facts.dtype = Dtype::bf16;
  call.facts.reduce = ReduceOp::avg;
  call.facts.count = count;
  call.facts.factor = 1.0;
  call.facts.number = number;
  call.facts.line = 31;
  call.file = "train.cpp";
  call.start_us = -100.5 + static_cast<double>(number);
  return call;
}

FlightReport some_report() {
  FlightReport report{"ranks:2-3", {2, 3}, 3, "rank 2 is stuck", 1000.5, {}};
  for (const std::int32_t rank : {2, 3}) {
    FlightPlace& place = report.places.emplace_back(FlightPlace{rank, 4000 + rank, 2, 3, {}});
    place.calls.push_back(call_of(1, Operator::all_reduce, 8));
    place.calls.push_back(call_of(2, Operator::broadcast, 16));
    place.calls[0].duration_us = rank == 2 ? 12.5 : 30.5;
    place.calls[1].duration_us = 2.5;
    place.calls[1].facts.root = 1;
    place.calls.push_back(call_of(3, rank == 2 ? Operator::barrier : Operator::all_gather, 0));
  }
  return report;
}

TEST(FlightReport, is_the_same_after_writing_and_reading) {
  const FlightReport before = some_report();
  const Result<FlightReport> after = parse_flight_report(to_json(before), "f.json");
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(to_json(*after), to_json(before));
  EXPECT_EQ(after->places[1].calls[0].to_string(), "all_reduce(bf16[8], avg) as call 1 at train.cpp:31");
  EXPECT_EQ(after->places[1].calls[1].to_string(), "broadcast(bf16[16], from 1) as call 2 at train.cpp:31");
}

TEST(FlightReport, of_another_kind_or_cut_off_is_refused_by_name) {
  const std::string text = to_json(some_report());
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3}) {
    const auto report = parse_flight_report(text.substr(0, length), "f.json");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().to_string(), "f.json: is damaged or cut off: no JSON");
  }
  EXPECT_EQ(parse_flight_report("[]", "f.json").error().to_string(), "f.json: the file: expected an object, got []");
  EXPECT_EQ(parse_flight_report(R"({"schema": "commgraph/1"})", "f.json").error().to_string(),
            R"(f.json: schema: expected "hocket-flight/1", got "commgraph/1")");
}

// Puts other values in the place of every member of every object, and takes every member away.
void damage(const Json& whole, Json& part, const std::string& where) {
  const auto expect_no_crash = [&] {
    const auto report = parse_flight_report(whole.dump(), "f.json");
    EXPECT_THAT(report ? "f.json: " : report.error().to_string(), HasSubstr("f.json: ")) << where;
  };
  if (part.is_structured()) {
    for (auto& item : part.items()) damage(whole, item.value(), where + "/" + item.key());
  }
  const Json old = part;
  for (const Json& other : {Json(nullptr), Json(-1), Json(1e300), Json("x"), Json(Json::array()), Json(Json::object()),
                            Json(~std::uint64_t{0})}) {
    part = other;
    expect_no_crash();
  }
  part = old;
}

TEST(FlightReport, with_any_value_damaged_is_an_error_or_read_but_never_a_crash) {
  Json whole = Json::parse(to_json(some_report()));
  damage(whole, whole, "");
}

TEST(FlightReport, names_the_damaged_field) {
  const auto error_with = [](const std::string& pointer, const Json& value) {
    Json whole = Json::parse(to_json(some_report()));
    whole[Json::json_pointer(pointer)] = value;
    const auto report = parse_flight_report(whole.dump(), "f.json");
    return report ? "no error" : report.error().to_string();
  };
  EXPECT_EQ(error_with("/places/1/calls/2/operator", "dance"),
            R"(f.json: places[1].calls[2].operator: expected a known name, got "dance")");
  EXPECT_EQ(error_with("/places/0/calls/1/number", 1),
            "f.json: places[0].calls[1].number: expected more than 1, got 1");
  EXPECT_EQ(error_with("/places/0/rank", -1),
            "f.json: places[0].rank: expected a whole number from 0 to 2147483647, got -1");
  EXPECT_EQ(error_with("/reason", nullptr), "f.json: reason: expected a text, got nothing");
}

TEST(FlightStory, finds_the_first_call_that_differs_and_the_slowest) {
  const FlightStory story = tell({some_report()}, {"f.json"}).value();
  ASSERT_TRUE(story.difference);
  EXPECT_EQ(story.difference->number, 3U);
  EXPECT_EQ(story.difference->rank, 2);
  EXPECT_EQ(story.difference->other_rank, 3);
  const auto slow = slowest_calls(story, 2);
  ASSERT_EQ(slow.size(), 2U);
  EXPECT_EQ(slow[0].rank, 3);
  EXPECT_EQ(slow[0].call.duration_us, 30.5);
}

TEST(FlightStory, takes_of_each_rank_what_the_report_that_knows_most_has) {
  FlightReport early = some_report();
  FlightReport late = some_report();
  early.by = 2;
  early.reason = "rank 3 was killed";
  late.written += 2.0;
  late.places[0].begun = late.places[0].finished = 9;
  late.places[0].calls.push_back(call_of(9, Operator::barrier, 0));
  const FlightStory story = tell({late, early}, {"late.json", "early.json"}).value();
  ASSERT_EQ(story.failures.size(), 2U);
  EXPECT_EQ(story.failures[0].by, 2) << "who wrote first comes first";
  EXPECT_EQ(story.places[0].finished, 9U);
  EXPECT_EQ(story.furthest, 9U);
  EXPECT_DOUBLE_EQ(story.places[1].calls[0].start_us, -99.5 - 2e6) << "relative to the later report";
}

TEST(FlightStory, of_two_groups_is_refused) {
  FlightReport other = some_report();
  other.group = "world";
  EXPECT_EQ(tell({some_report(), other}, {"a.json", "b.json"}).error().to_string(),
            "b.json: is of group world, but a.json is of group ranks:2-3: read the reports of one group at a time");
}

TEST(FlightStory, names_the_ranks_that_nobody_tells_of) {
  FlightReport report = some_report();
  report.ranks = {1, 2, 3, 7};
  EXPECT_EQ(tell({report}, {"f.json"}).value().unknown, (std::vector<std::int32_t>{1, 7}));
}

}  // namespace
}  // namespace hocket
