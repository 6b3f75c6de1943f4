// `hocket opt` and `hocket explain` as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_fixture.h"

namespace {

using testing::HasSubstr;

const std::string capture = "'" HOCKET_TEST_DATA "/fsdp_llama_tiny.json.gz'";
const std::string shared = HOCKET_TEST_DATA "/../../../shared/graphs";

using Opt = Cli;

TEST_F(Opt, PrintsWhatChanged) {
  const Outcome outcome = hocket("opt " + capture);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line : {"collectives", "step time", "exposed communication", "peak memory", "memory limit"})
    EXPECT_THAT(outcome.out, HasSubstr(line));
}

TEST_F(Opt, JsonHasTheFiguresOfBothOrders) {
  const Outcome outcome = hocket("opt " + capture + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_GT(json.at("compile_ms").get<double>(), 0);
  EXPECT_LT(json.at("step_ms").get<double>(), json.at("original_step_ms").get<double>());
  EXPECT_LT(json.at("exposed_ms").get<double>(), json.at("original_exposed_ms").get<double>());
  EXPECT_LE(json.at("peak_bytes").get<std::int64_t>(), json.at("original_peak_bytes").get<std::int64_t>());
  EXPECT_NEAR(json.at("original_step_ms").get<double>(), 1.4374776669999998, 1e-9);  // evaluate.py's
  EXPECT_EQ(json.at("collectives_before").get<int>(), 78);
  EXPECT_LT(json.at("collectives_after").get<int>(), 78);
}

TEST_F(Opt, WritesAGraphThatVerifiesAndIsTheSameTwice) {
  ASSERT_EQ(hocket("opt " + capture + " -o one.json.gz").code, 0);
  ASSERT_EQ(hocket("opt " + capture + " -o two.json.gz").code, 0);
  EXPECT_EQ(read("one.json.gz"), read("two.json.gz"));
  EXPECT_EQ(hocket("verify one.json.gz").code, 0);
}

TEST_F(Opt, TheJudgeAcceptsItsResultsAndFindsTheSameFigures) {
  if (!fs::exists(shared + "/evaluate.py")) GTEST_SKIP() << "no ../shared/graphs/evaluate.py";
  const auto judged = [&](const std::string& how) {
    const std::string command = "cd '" + folder_.string() + "' && python3 '" + shared + "/evaluate.py' " + capture +
                                " " + how + " --json > judged.json";
    EXPECT_EQ(std::system(command.c_str()), 0) << how;
    return nlohmann::json::parse(read("judged.json"));
  };
  for (const char* passes :
       {"bucket_all_gather,bucket_reduce_scatter,reorder_communication_preserving_peak_memory,sink_waits_iterative",
        "'bucket_all_gather(form=concat),bucket_reduce_scatter(form=concat)'", "raise_comms,sink_waits", "overlap",
        "'overlap(effort=fast)'", "'overlap(reorder_only=on)'"}) {
    SCOPED_TRACE(passes);
    const Outcome outcome = hocket("opt " + capture + " --passes " + passes + " -o out.json.gz --json");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto ours = nlohmann::json::parse(outcome.out);
    const auto theirs = judged("--result out.json.gz");
    EXPECT_NEAR(theirs.at("step_ms").get<double>() / ours.at("step_ms").get<double>(), 1, 1e-6);
    EXPECT_NEAR(theirs.at("exposed_ms").get<double>(), ours.at("exposed_ms").get<double>(), 1e-6);
    EXPECT_EQ(theirs.at("peak_bytes"), ours.at("peak_bytes"));
  }
  const Outcome ordered = hocket("opt " + capture + " --passes raise_comms --order-out order.json --json");
  ASSERT_EQ(ordered.code, 0) << ordered.err;
  EXPECT_NEAR(judged("--order order.json").at("step_ms").get<double>(),
              nlohmann::json::parse(ordered.out).at("step_ms").get<double>(), 1e-6);
}

TEST_F(Opt, OrderOutRefusesAResultWithOtherNodes) {
  const Outcome outcome = hocket("opt " + capture + " --passes bucket_all_gather --order-out order.json -o out.hk");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("these passes change them, use -o"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(Opt, KeepsTheMemoryLimitThatItIsGiven) {
  const auto peak = [&](const std::string& limit) {
    return nlohmann::json::parse(hocket("opt " + capture + " --json --memory-limit " + limit).out)
        .at("peak_bytes")
        .get<std::int64_t>();
  };
  const std::int64_t original = 87295720;  // evaluate.py's
  EXPECT_LE(peak("1.0x"), original);
  EXPECT_LE(peak("1.05x"), original * 105 / 100);
  EXPECT_LE(peak("90MB"), 90'000'000);
}

TEST_F(Opt, PrintsAfterThePassesThatItIsAskedFor) {
  write("g.hk", "graph @g(%x: f32[4]) {\n  %y = aten.neg(%x)\n  return %y\n}\n");
  const Outcome outcome = hocket("opt g.hk --passes sink_waits,verify --print-after verify");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("// after verify\ngraph @g("));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("// after sink_waits")));
}

TEST_F(Opt, SaysOnceWhatItsEstimatesAssume) {
  write("g.hk",
        "graph @g(%x: f32[4]) {\n  %y = mylib.odd(%x) : f32[4]\n  %z = mylib.odd(%y) : f32[4]\n  return %z\n}\n");
  const std::string assumed = "mylib.odd.default is not in the operator table";
  for (const char* command : {"opt g.hk --stats --visualize", "explain g.hk"}) {
    const Outcome outcome = hocket(command);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err,
                testing::MatchesRegex("hocket warning: estimates of g: y: " + assumed + "[^\n]*; and 1 more\n"))
        << command;
  }
  const auto json = nlohmann::json::parse(hocket("opt g.hk --json").out);
  EXPECT_THAT(json.at("assumptions").get<std::vector<std::string>>(),
              testing::ElementsAre(testing::StartsWith("y: " + assumed), testing::StartsWith("z: " + assumed)));
}

TEST_F(Opt, LowersToAProgramAndRefusesToWriteItAsJson) {
  ASSERT_EQ(hocket("opt " + capture + " --passes lower,plan -o program.hk").code, 0);
  EXPECT_THAT(read("program.hk").substr(0, 8), "program ");
  EXPECT_EQ(hocket("verify program.hk").code, 0);
  const Outcome outcome = hocket("opt " + capture + " --passes lower -o program.json");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("a program of steps has no JSON form"));
  EXPECT_FALSE(fs::exists(folder_ / "program.json"));
}

TEST_F(Opt, SaysWhichPassesComeInTheWrongOrder) {
  EXPECT_THAT(hocket("opt " + capture + " --passes lower,bucket_all_gather").err,
              HasSubstr("pass bucket_all_gather works on a graph, but what it got is a program; put it before lower"));
  EXPECT_THAT(hocket("opt " + capture + " --passes plan").err, HasSubstr("put lower before it"));
}

TEST_F(Opt, RefusesWrongOptions) {
  for (const char* wrong : {"--memory-limit 3y", "--machine nope", "--passes 'a('", "--off nope", "--print-after nope",
                            "--estimates guess", "--passes 'sink_waits(x=1)'"}) {
    const Outcome outcome = hocket("opt " + capture + " -o out.json " + wrong);
    EXPECT_EQ(outcome.code, 2) << wrong << outcome.err;
    EXPECT_EQ(files(), 0U) << wrong;
  }
}

using Explain = Cli;

TEST_F(Explain, ListsTheMostExposedAndExplainsOne) {
  const Outcome list = hocket("explain " + capture);
  ASSERT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("78 collectives; the most exposed:"));
  const Outcome one = hocket("explain " + capture + " reduce_scatter_tensor_38");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("the compute lane stands still for 25.44 µs"));
  EXPECT_THAT(one.out, HasSubstr("Start it earlier: "));
  const auto json = nlohmann::json::parse(hocket("explain " + capture + " reduce_scatter_tensor_38 --json").out);
  EXPECT_EQ(json.at("collective"), "reduce_scatter_tensor_38");
  EXPECT_EQ(json.at("earlier").at("limit"), "collective order");
}

TEST_F(Explain, NamesTheNearestCollectiveForAnUnknownOne) {
  const Outcome outcome = hocket("explain " + capture + " reduce_scatter_tensor_83");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no collective reduce_scatter_tensor_83, did you mean"));
}

}  // namespace
