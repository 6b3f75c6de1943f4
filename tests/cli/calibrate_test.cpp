// `hocket calibrate` as a user runs it, for a very short time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;

using Calibrate = Cli;

TEST_F(Calibrate, WritesAFileThatLaterRunsReadAndSaysWhatItChose) {
  const Outcome outcome = run("HOCKET_CACHE=cache '" HOCKET_TEST_TOOL "' calibrate --ranks 2 --seconds 0.05");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"2 ranks (used for 2)", "block", "whole_until", "one_shot_until", "streaming_from",
                           "pushing_streams_from", "written to cache/tuning-"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
  const std::string name = fs::directory_iterator(folder_ / "cache")->path().filename();
  EXPECT_EQ(nlohmann::json::parse(read("cache/" + name)).at("schema"), "hocket-tuning/1");

  write("cache/" + name, "damaged");
  const Outcome again =
      run("HOCKET_CACHE=cache '" HOCKET_TEST_TOOL "' calibrate --ranks 2 --seconds 0.05 --dry-run --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("hocket warning: cache/" + name + ": is no JSON object; using default thresholds"));
  EXPECT_EQ(read("cache/" + name), "damaged") << "a dry run writes nothing";
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json.at("calibrations").at(0).at("choices").size(), 5U);
  EXPECT_FALSE(json.contains("file"));
}

TEST_F(Calibrate, RefusesWhatItCanNotDoBeforeItMeasures) {
  EXPECT_EQ(hocket("calibrate --ranks 1").code, 2);
  EXPECT_EQ(hocket("calibrate --ranks 3,4").code, 2);
  const Outcome nowhere = run("env -u HOME -u XDG_CACHE_HOME -u HOCKET_CACHE '" HOCKET_TEST_TOOL "' calibrate");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("set HOCKET_CACHE, XDG_CACHE_HOME or HOME"));
}

}  // namespace
