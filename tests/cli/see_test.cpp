// What shows a step to people: pages, traces, pictures, the simulator, differences; as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;
using testing::Not;

const std::string capture = "'" HOCKET_TEST_DATA "/fsdp_llama_tiny.json.gz'";
const std::string two_groups = "'" HOCKET_TEST_DATA "/fsdp_tp_llama_tiny.json.gz'";

using See = Cli;

// Columns of the longest line; every character of these pictures is one column wide.
std::size_t columns_of(const std::string& text) {
  std::size_t longest = 0, now = 0;
  for (const char c : text) {
    if (c == '\n') now = 0;
    else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) longest = std::max(longest, ++now);
  }
  return longest;
}

TEST_F(See, OptWritesAPageAndATrace) {
  const Outcome outcome = hocket("opt " + capture + " --html page.html --trace trace.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(read("page.html"), HasSubstr("<title>fsdp_llama_tiny – hocket</title>"));
  EXPECT_GT(nlohmann::json::parse(read("trace.json")).at("traceEvents").size(), 1000U);
}

TEST_F(See, APageThatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  const Outcome outcome = hocket("opt " + capture + " --html absent/page.html");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("absent/page.html"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(See, ExplainDrawsAPictureWithoutColourWhereThereIsNoTerminal) {
  const Outcome outcome = hocket("explain " + capture);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("compute"));
  EXPECT_THAT(outcome.out, HasSubstr("G all_gather, S reduce_scatter"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b[")));
  EXPECT_LE(columns_of(outcome.out), 120U);
  const auto list = nlohmann::json::parse(hocket("explain " + capture + " --json").out);
  EXPECT_EQ(list.size(), 78U);
}

TEST_F(See, ExplainFitsATerminalAndUsesItsColours) {
  if (run("command -v script").code != 0) GTEST_SKIP() << "no `script` to make a terminal with";
  const Outcome outcome =
      run("script -qec \"stty cols 60; '" HOCKET_TEST_TOOL "' explain " + capture + "\" /dev/null | head -5");
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[31m"));
  std::string plain;
  for (std::size_t i = 0; i < outcome.out.size(); ++i) {
    if (outcome.out[i] == '\x1b') i = outcome.out.find('m', i);
    else if (outcome.out[i] != '\r') plain += outcome.out[i];
  }
  EXPECT_EQ(columns_of(plain), 59U) << plain;  // the last column stays free: some terminals wrap there
}

TEST_F(See, SimulationIsTheSchedulersEstimateWhereNothingIsShared) {
  const auto sim = nlohmann::json::parse(hocket("sim " + two_groups + " --no-sharing --json").out).at(0);
  const auto opt = nlohmann::json::parse(hocket("opt " + two_groups + " --json").out);
  EXPECT_DOUBLE_EQ(sim.at("step_ms").get<double>(), opt.at("original_step_ms").get<double>());
  EXPECT_DOUBLE_EQ(sim.at("exposed_ms").get<double>(), opt.at("original_exposed_ms").get<double>());
}

TEST_F(See, SimulationSweepsHostsAndAsksWhatIf) {
  const Outcome sweep = hocket("sim " + two_groups + " --sweep hosts=1,2,2048 --json");
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  const auto curve = nlohmann::json::parse(sweep.out);
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_EQ(curve.at(2).at("ranks").get<int>(), 16384);
  EXPECT_EQ(curve.at(2).at("simulated_ranks").get<int>(), 1);
  EXPECT_GT(curve.at(2).at("step_ms").get<double>(), curve.at(0).at("step_ms").get<double>());
  const Outcome asked =
      hocket("sim " + two_groups +
             " --hosts 4 --what-if 'bandwidth*4' --what-if 'compute/2' --what-if memory-limit=1.5x --json");
  ASSERT_EQ(asked.code, 0) << asked.err;
  const auto cases = nlohmann::json::parse(asked.out);
  ASSERT_EQ(cases.size(), 4U);
  const auto step = [&](std::size_t i) { return cases.at(i).at("step_ms").get<double>(); };
  EXPECT_LT(step(1), step(0));
  EXPECT_GT(step(2), step(0));
  EXPECT_LT(step(3), step(0));
}

TEST_F(See, SimulationOfAStragglerRunsAllRanks) {
  const Outcome outcome =
      hocket("sim " + two_groups + " --hosts 2 --straggler 3=2 --jitter 0.05 --seed 7 --json --html slow.html");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto one = nlohmann::json::parse(outcome.out).at(0);
  EXPECT_EQ(one.at("simulated_ranks").get<int>(), 16);
  EXPECT_EQ(one.at("slowest_rank").get<int>(), 3);
  EXPECT_THAT(read("slow.html"), HasSubstr("<!doctype html>"));
}

TEST_F(See, SimulationRefusesWrongOptionsWithAWordOfHelp) {
  EXPECT_THAT(hocket("sim " + capture + " --what-if warp*2").err, HasSubstr("expected bandwidth*2"));
  EXPECT_THAT(hocket("sim " + capture + " --what-if bandwidth.warp*2").err, HasSubstr("it has nvlink, network"));
  EXPECT_THAT(hocket("sim " + capture + " --sweep ranks=1").err, HasSubstr("expected hosts=1,2,4"));
  EXPECT_THAT(hocket("sim " + capture + " --straggler 3").err, HasSubstr("RANK=FACTOR"));
  EXPECT_EQ(hocket("sim " + capture + " --slowdown 0").code, 2);
}

// Rank 0 waits for its turn with 1 before it goes on, 1 with 2, 2 with 0.
TEST_F(See, SimulationShowsRanksThatWaitForEachOtherAsACycle) {
  const auto stage = [](const std::string& first, const std::string& second) {
    return "graph @stage(%x: f32[4], %y: f32[4]) {\n  group @" + first + " = ranks[" + first.substr(1, 1) + "," +
           first.substr(2, 1) + "]\n  group @" + second + " = ranks[" + second.substr(1, 1) + "," +
           second.substr(2, 1) + "]\n  %a = _c10d_functional.all_reduce(%x, \"sum\", @" + first +
           ") : f32[4]\n  %wa = _c10d_functional.wait_tensor(%a) : f32[4]\n  %b = _c10d_functional.all_reduce(%wa, "
           "\"sum\", @" +
           second + ") : f32[4]\n  %wb = _c10d_functional.wait_tensor(%b) : f32[4]\n  return %wb\n}\n";
  };
  write("0.hk", stage("g01", "g02"));
  write("1.hk", stage("g12", "g01"));
  write("2.hk", stage("g02", "g12"));
  const Outcome outcome = hocket("sim 0.hk 1.hk 2.hk --estimates machine");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("wait for each other for ever"));
  for (const char* rank : {"rank 0", "rank 1", "rank 2"}) EXPECT_THAT(outcome.err, HasSubstr(rank));
}

TEST_F(See, ChakraTracesReplayAsTheScheduleThatWasWritten) {
  ASSERT_EQ(hocket("convert " + two_groups + " step.0.et").code, 0);
  const auto replayed = nlohmann::json::parse(hocket("sim step.0.et --no-sharing --json").out).at(0);
  const auto simulated = nlohmann::json::parse(hocket("sim " + two_groups + " --no-sharing --json").out).at(0);
  EXPECT_DOUBLE_EQ(replayed.at("step_ms").get<double>(), simulated.at("step_ms").get<double>());
  EXPECT_EQ(hocket("sim step.0.et --hosts 4").code, 2);
}

TEST_F(See, ProfileTakesMeasuredTimesFromATraceOfPyTorch) {
  write("step.hk",
        "graph @step(%x: f32[64,128], %w: f32[128,32]) {\n  %h = aten.mm(%x, %w) : f32[64,32]\n  %e = aten.exp(%h) : "
        "f32[64,32]\n"
        "  return %e\n}\n");
  const Outcome outcome =
      hocket("profile '" HOCKET_TEST_DATA "/traces/kineto_step.json.gz' step.hk -o measured.json --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("calls_found").get<int>(), 1);
  EXPECT_THAT(read("measured.json"), HasSubstr("aten.mm.default(f32[64,128],f32[128,32])"));
  const Outcome wrong = hocket("profile '" HOCKET_TEST_DATA "/traces/kineto_step.json.gz' " + capture);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("is it a trace of this program"));
}

TEST_F(See, DiffSaysWhatMovedAndWhatThatChanged) {
  EXPECT_THAT(hocket("diff " + capture + " " + capture).out, HasSubstr("the same steps in the same order"));
  ASSERT_EQ(hocket("opt " + capture + " --passes raise_comms,sink_waits -o moved.json.gz").code, 0);
  const Outcome words = hocket("diff " + capture + " moved.json.gz --html diff.html");
  ASSERT_EQ(words.code, 0) << words.err;
  EXPECT_THAT(words.out, HasSubstr("steps moved"));
  const auto json = nlohmann::json::parse(hocket("diff " + capture + " moved.json.gz --json").out);
  EXPECT_FALSE(json.at("same_order").get<bool>());
  EXPECT_TRUE(json.at("gone").empty());
  EXPECT_EQ(json.at("collectives").size(), 78U);
  EXPECT_LT(json.at("step_ms").at(1).get<double>(), json.at("step_ms").at(0).get<double>());
  const std::string passes = "bucket_all_gather,bucket_reduce_scatter";
  const auto merged = nlohmann::json::parse((hocket("opt " + capture + " --passes " + passes + " -o fast.json.gz"),
                                             hocket("diff " + capture + " fast.json.gz --json"))
                                                .out);
  EXPECT_EQ(merged.at("collectives_gone").size() - merged.at("collectives_added").size(), 70U);
}

}  // namespace
