// `hocket calibrate` as a user runs it, for a very short time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/sanitizers.h"
#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;

using Calibrate = Cli;

TEST_F(Calibrate, WritesAFileThatLaterRunsReadAndSaysWhatItChose) {
  if (hocket::under_thread_sanitizer) GTEST_SKIP() << "takes five minutes there; Calibrate of room comm measures, too";
  const Outcome outcome = run("HOCKET_CACHE=cache '" HOCKET_TEST_TOOL "' calibrate --ranks 2 --seconds 0.05");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text :
       {"2 ranks (used for 2), while a round of these takes about ", "block", "whole_until", "one_shot_until",
        "streaming_from", "pushing_streams_from", "pulling_from", "reading_from", "written to cache/tuning-"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
  const std::string name = fs::directory_iterator(folder_ / "cache")->path().filename();
  EXPECT_EQ(nlohmann::json::parse(read("cache/" + name)).at("schema"), "hocket-tuning/3");

  write("cache/" + name, "damaged");
  const Outcome again =
      run("HOCKET_CACHE=cache '" HOCKET_TEST_TOOL "' calibrate --ranks 2 --seconds 0.05 --dry-run --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("hocket warning: cache/" + name + ": is no JSON object; using default thresholds"));
  EXPECT_EQ(read("cache/" + name), "damaged") << "a dry run writes nothing";
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json.at("calibrations").at(0).at("choices").size(), 8U);
  EXPECT_GT(json.at("calibrations").at(0).at("round_ns"), 0);
  EXPECT_FALSE(json.contains("file"));
}

TEST_F(Calibrate, RefusesWhatItCanNotDoBeforeItMeasures) {
  EXPECT_EQ(hocket("calibrate --ranks 1").code, 2);
  EXPECT_EQ(hocket("calibrate --ranks 3,4").code, 2);
  const Outcome nowhere = run("env -u HOME -u XDG_CACHE_HOME -u HOCKET_CACHE '" HOCKET_TEST_TOOL "' calibrate");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("set HOCKET_CACHE, XDG_CACHE_HOME or HOME"));
}

constexpr const char* step = R"(graph @step(%x: f32[64,64], %w: f32[64,64]) {
  group @all = ranks[0,1]
  %y = aten.mm(%x, %w)
  %sum = _c10d_functional.all_reduce(%y, "sum", @all)
  %z = aten.relu(%w)
  %s = _c10d_functional.wait_tensor(%sum)
  %r = aten.add.Tensor(%s, %z)
  return %r
}
)";

// What it writes is what the other commands read, and they use it for every step.
TEST_F(Calibrate, MeasuresTheKernelsAndCollectivesOfACapturedStep) {
  if (!fs::exists(HOCKET_TEST_TOOL "-torch")) GTEST_SKIP() << "built without libtorch";
  write("step.hk", step);
  const Outcome outcome = hocket("calibrate step.hk -o measured.json --machine-output here.json --runs 3 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto said = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(said.at("ranks"), 2);
  EXPECT_EQ(said.at("calls"), 3);
  EXPECT_GT(said.at("step_ms"), 0);
  const auto calls = nlohmann::json::parse(read("measured.json")).at("calls");
  for (const char* const call : {"aten.mm.default(f32[64,64],f32[64,64])", "aten.relu.default(f32[64,64])",
                                 "aten.add.Tensor(f32[64,64],f32[64,64])"}) {
    EXPECT_TRUE(calls.contains(call)) << calls.dump() << " has no " << call;
  }
  EXPECT_TRUE(nlohmann::json::parse(read("here.json")).contains("collectives"));
  const Outcome opt = hocket("opt step.hk --estimates machine --machine here.json --profile measured.json");
  EXPECT_EQ(opt.code, 0) << opt.err;
}

TEST_F(Calibrate, SaysWhyAStepCanNotBeMeasured) {
  if (!fs::exists(HOCKET_TEST_TOOL "-torch")) GTEST_SKIP() << "built without libtorch";
  std::string large = step;
  large.replace(large.find("ranks[0,1]"), 10, "ranks[0,4095]");
  write("large.hk", large);
  const Outcome outcome = hocket("calibrate large.hk");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("large.hk: was captured for 4096 ranks, and this machine has "));
  EXPECT_EQ(hocket("calibrate large.hk --dry-run").code, 2);
  EXPECT_EQ(hocket("calibrate --output measured.json").code, 2);
}

}  // namespace
