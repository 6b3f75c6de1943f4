// `hocket explain --flight` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;

const std::string report = "'" HOCKET_TEST_DATA "/flight_mismatch.json'";

using Flight = Cli;

TEST_F(Flight, SaysWhoFailedWhereEachRankIsAndWhereTheyDiffer) {
  const Outcome outcome = hocket("explain --flight " + report);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            R"(group world, ranks 0, 1, 2
failed, says rank 0: ranks made different calls: rank 0 made all_reduce(f32[1024], sum) as call 3 at train.cpp:31, rank 2 made all_gather(f32[256]) as call 3 at train.cpp:40

rank 0 (pid 4711): finished all_reduce(f32[1024], sum) as call 2 at train.cpp:31; in all_reduce(f32[1024], sum) as call 3 at train.cpp:31, for 300.00 µs
rank 1 (pid 4712): finished all_reduce(f32[1024], sum) as call 2 at train.cpp:31; in no call; 1 call behind
rank 2 (pid 4713): finished all_reduce(f32[1024], sum) as call 2 at train.cpp:31; in all_gather(f32[256]) as call 3 at train.cpp:40, for 250.00 µs

the ranks differ from call 3 on:
  rank 0 made all_reduce(f32[1024], sum) as call 3 at train.cpp:31
  rank 2 made all_gather(f32[256]) as call 3 at train.cpp:40

the last calls, and how long they took:
  call       rank 0       rank 1       rank 2
     1    210.50 µs    211.50 µs    212.50 µs  broadcast(f32[4096], from 0) as call 1 at train.cpp:12
     2     35.20 µs     45.20 µs     55.20 µs  all_reduce(f32[1024], sum) as call 2 at train.cpp:31
     3     not done            -     not done  ranks differ, see above

the slowest calls:
    212.50 µs  rank 2: broadcast(f32[4096], from 0) as call 1 at train.cpp:12
    211.50 µs  rank 1: broadcast(f32[4096], from 0) as call 1 at train.cpp:12
    210.50 µs  rank 0: broadcast(f32[4096], from 0) as call 1 at train.cpp:12
     55.20 µs  rank 2: all_reduce(f32[1024], sum) as call 2 at train.cpp:31
     45.20 µs  rank 1: all_reduce(f32[1024], sum) as call 2 at train.cpp:31
)");
}

TEST_F(Flight, JsonHasTheSame) {
  const Outcome outcome = hocket("explain --json --flight " + report);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("group"), "world");
  EXPECT_EQ(json.at("failures").at(0).at("by"), 0);
  EXPECT_EQ(json.at("difference").at("number"), 3);
  EXPECT_EQ(json.at("difference").at("other_rank"), 2);
  EXPECT_EQ(json.at("places").at(1).at("behind"), 1);
  EXPECT_EQ(json.at("slowest").at(0).at("rank"), 2);
}

TEST_F(Flight, MergesTheReportsOfSeveralRanks) {
  auto other = nlohmann::json::parse(std::ifstream(HOCKET_TEST_DATA "/flight_mismatch.json"));
  other["by"] = 2;
  other["reason"] = "rank 1 was killed";
  write("rank2.json", other.dump());
  const Outcome outcome = hocket("explain --flight " + report + " rank2.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("failed, says rank 0: ranks made different calls"));
  EXPECT_THAT(outcome.out, HasSubstr("failed, says rank 2: rank 1 was killed"));
}

TEST_F(Flight, NamesTheFileAndTheFieldThatAreDamaged) {
  auto broken = nlohmann::json::parse(std::ifstream(HOCKET_TEST_DATA "/flight_mismatch.json"));
  broken["places"][1]["calls"][0]["dtype"] = "f33";
  write("broken.json", broken.dump());
  const Outcome outcome = hocket("explain --flight broken.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "hocket: broken.json: places[1].calls[0].dtype: expected a known dtype, got \"f33\"\n");
  write("cut.json", broken.dump().substr(0, 100));
  EXPECT_EQ(hocket("explain --flight cut.json").err, "hocket: cut.json: is damaged or cut off: no JSON\n");
  EXPECT_EQ(hocket("explain --flight missing.json").err,
            "hocket: missing.json: can't be opened: No such file or directory\n");
}

TEST_F(Flight, AndAGraphAreNotExplainedTogetherNorNeither) {
  EXPECT_EQ(hocket("explain g.hk --flight " + report).code, 2);
  const Outcome outcome = hocket("explain");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("explain needs a graph or flight reports"));
}

}  // namespace
