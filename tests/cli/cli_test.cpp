// The command as a user runs it: output, exit codes, files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli_fixture.h"

namespace {

constexpr const char* sound = R"(graph @g(%x: f32[4]) {
  group @dp = ranks[0,1]
  %s = _c10d_functional.all_reduce(%x, "sum", @dp) : f32[4] {est=0.5ms}
  %w = _c10d_functional.wait_tensor(%s) : f32[4]
  return %w
}
)";
constexpr const char* unsound = "graph @g(%x: f32[4]) {\n  %y = aten.neg(%x) : f32[5]\n  return %y\n}\n";

TEST_F(Cli, VerifySaysOkForASoundGraph) {
  write("g.hk", sound);
  const Outcome outcome = hocket("verify g.hk");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "g.hk: ok, 4 nodes\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Cli, VerifyReadsStandardInput) {
  write("g.hk", sound);
  EXPECT_EQ(hocket("verify - < g.hk").code, 0);
}

TEST_F(Cli, VerifyExitsWithOneAndNamesTheProblem) {
  write("g.hk", unsound);
  const Outcome outcome = hocket("verify g.hk");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("y: type: result is f32[5], but aten.neg.default gives f32[4]"), std::string::npos)
      << outcome.out;
}

TEST_F(Cli, VerifyReportsEveryFileEvenAfterABadOne) {
  write("good.hk", sound);
  write("bad.hk", "graph @g(");
  const Outcome outcome = hocket("verify bad.hk missing.hk good.hk");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("bad.hk:1:10"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("missing.hk: can't be opened: No such file or directory"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("good.hk: ok"), std::string::npos);
}

TEST_F(Cli, VerifyJsonIsOneObjectThatHoldsTheProblems) {
  write("g.hk", unsound);
  const Outcome outcome = hocket("verify --json g.hk");
  EXPECT_EQ(outcome.code, 1);
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_FALSE(report.at("ok"));
  ASSERT_EQ(report.at("problems").size(), 1U);
  EXPECT_EQ(report["problems"][0]["kind"], "type");
  EXPECT_EQ(report["problems"][0]["node"], "y");
}

TEST_F(Cli, ConvertGoesToJsonAndBack) {
  write("g.hk", sound);
  EXPECT_EQ(hocket("convert g.hk g.json.gz").code, 0);
  EXPECT_EQ(read("g.json.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(hocket("convert g.json.gz again.hk").code, 0);
  EXPECT_EQ(read("again.hk"), sound);
  EXPECT_EQ(hocket("convert g.json.gz g.json").code, 0);
  EXPECT_EQ(hocket("convert g.json.gz -o same.json").code, 0);
  EXPECT_EQ(nlohmann::json::parse(read("g.json")).at("schema"), "commgraph/1");
  EXPECT_EQ(read("same.json"), read("g.json"));
}

TEST_F(Cli, ConvertPrintsTextByDefaultAndBrieflyOnDemand) {
  write("g.hk", sound);
  EXPECT_EQ(hocket("convert g.hk").out, sound);
  EXPECT_EQ(hocket("convert --brief g.hk").out.find("est="), std::string::npos);
}

TEST_F(Cli, ConvertWritesNothingForAnUnsoundGraph) {
  write("g.hk", unsound);
  const Outcome outcome = hocket("convert g.hk out.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("nothing was written"), std::string::npos);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(hocket("convert --unverified g.hk out.json").code, 0);
  EXPECT_EQ(files(), 2U);
}

TEST_F(Cli, ConvertKeepsTheOldFileWhereTheNewOneCannotBeWritten) {
  write("g.hk", sound);
  const Outcome outcome = hocket("convert g.hk nowhere/out.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("nowhere/out.json: can't be created"), std::string::npos) << outcome.err;
  fs::create_directory(folder_ / "folder");
  EXPECT_NE(hocket("convert g.hk folder").code, 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "folder"));
}

TEST_F(Cli, ABadFileLeavesNothingBehindWhateverTheCommand) {
  const std::string bad[] = {
      "",
      "{",
      "{}",
      "[1,2]",
      "\x1f\x8b\x08",
      std::string("\xff\xfe\x00graph", 8),
      "graph @g(%x: f32[9223372036854775808]) { return %x }",
      R"({"schema":"commgraph/1","name":"g","groups":[],"storages":[],"nodes":[{"id":0,"name":"o","kind":"output","in":[7],"args":[{"n":7}],"out":[]}]})"};
  for (const std::string& content : bad) {
    write("bad", content);
    for (const char* command :
         {"verify bad", "convert bad out.json", "stats bad", "opt bad -o out.hk", "explain bad"}) {
      const Outcome outcome = hocket(command);
      EXPECT_TRUE(outcome.code == 1 || outcome.code == 2)
          << command << " exited with " << outcome.code << " on: " << content;
      EXPECT_NE(outcome.err.find("bad"), std::string::npos) << "no file name in: " << outcome.err;
    }
    EXPECT_EQ(files(), 1U) << content;
  }
}

TEST_F(Cli, StatsCountsAndJsonAgree) {
  write("g.hk", sound);
  const Outcome people = hocket("stats g.hk");
  EXPECT_EQ(people.code, 0);
  EXPECT_NE(people.out.find("1 collective, 1 wait"), std::string::npos) << people.out;
  const auto report = nlohmann::json::parse(hocket("stats --json g.hk").out);
  EXPECT_EQ(report.at("collectives"), 1);
  EXPECT_EQ(report.at("communication_ms"), 0.5);
  EXPECT_EQ(report.at("peak_bytes"), 32);
  EXPECT_EQ(report.at("communication")[0].at("bytes_in"), 16);
}

TEST_F(Cli, StatsTableHasARowForEachNode) {
  write("g.hk", sound);
  const std::string table = hocket("stats --table g.hk").out;
  for (const char* row : {"all_reduce on @dp", "waits for s", "16 B", "500.00 µs"})
    EXPECT_NE(table.find(row), std::string::npos) << row << " in\n" << table;
  EXPECT_NE(hocket("stats --table --rows 2 g.hk").out.find("… 2 more nodes"), std::string::npos);
}

TEST_F(Cli, OptListsItsPasses) {
  const Outcome outcome = hocket("opt --list-passes");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("verify"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(hocket("opt --list-passes --json").out)[0].at("name"), "verify");
}

TEST_F(Cli, OptRefusesAnUnknownPassAndNamesTheKnownOnes) {
  write("g.hk", sound);
  const Outcome outcome = hocket("opt g.hk --passes verify,nope -o out.hk");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("no pass called nope; known: verify"), std::string::npos) << outcome.err;
  EXPECT_EQ(files(), 1U);
}

TEST_F(Cli, WrongUsageExitsWithTwo) {
  for (const char* arguments : {"verify", "frobnicate", "verify --nope x", "convert", "opt", "explain"}) {
    const Outcome outcome = hocket(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_FALSE(outcome.err.empty()) << arguments;
  }
}

TEST_F(Cli, AMisspeltCommandGetsTheNearestOne) {
  EXPECT_EQ(hocket("verfy x").err,
            "hocket: there is no command 'verfy', did you mean verify?; known: demo, verify, convert, stats, opt, "
            "explain, diff, sim, profile, calibrate, launch\n");
  EXPECT_EQ(hocket("frobnicate").err,
            "hocket: there is no command 'frobnicate'; known: demo, verify, convert, stats, opt, explain, diff, sim, "
            "profile, calibrate, launch\n");
}

TEST_F(Cli, HelpOfEveryCommandHasAnExample) {
  EXPECT_EQ(hocket("--help").code, 0);
  for (const char* command : {"verify", "convert", "stats", "opt", "explain", "demo", "launch"}) {
    const Outcome outcome = hocket(std::string(command) + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.out.find(std::string("hocket ") + command), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("Example"), std::string::npos) << outcome.out;
  }
}

// Where the command was built with libtorch, hocket-torch stands beside it.
const fs::path tool = HOCKET_TEST_TOOL;
bool has_torch() { return fs::exists(tool.parent_path() / "hocket-torch"); }

TEST_F(Cli, TheCommandDoesNotLoadLibtorch) {
  const std::string libraries = run("LD_TRACE_LOADED_OBJECTS=1 '" + tool.string() + "'").out;
  EXPECT_NE(libraries.find("libstdc++"), std::string::npos) << libraries;
  EXPECT_EQ(libraries.find("libtorch"), std::string::npos) << libraries;
}

TEST_F(Cli, TheDemoRunsThroughALinkToTheCommand) {
  if (!has_torch()) GTEST_SKIP() << "built without libtorch";
  fs::create_symlink(tool, folder_ / "linked");
  const Outcome outcome = run("./linked demo --json --out here");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("file"), "here/gpt_step.json.gz");
  EXPECT_EQ(json.at("same_weights"), true);
  EXPECT_EQ(json.at("eager").at("loss_last"), json.at("compiled").at("loss_last"));
  EXPECT_LT(json.at("compiled").at("loss_last"), json.at("compiled").at("loss_first"));
  EXPECT_LT(json.at("collectives_compiled"), json.at("collectives_captured"));
  EXPECT_EQ(hocket("verify here/gpt_step.json.gz").code, 0);
}

TEST_F(Cli, TheDemoSaysWhatIsMissingWhereThereIsNoHocketTorch) {
  fs::copy_file(tool, folder_ / "alone");
  const Outcome outcome = run("./alone demo");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("'demo' needs libtorch"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("there is no " + path("hocket-torch")), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Cli, TheDemoSaysWhyHocketTorchCannotBeRun) {
  fs::copy_file(tool, folder_ / "alone");
  fs::create_directory(folder_ / "hocket-torch");
  const Outcome outcome = run("./alone demo");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "hocket: " + path("hocket-torch") + ": can't be run: Permission denied\n");
}

TEST_F(Cli, BothProgramsHaveTheSameHelp) {
  if (!has_torch()) GTEST_SKIP() << "built without libtorch";
  for (const char* arguments : {"--help", "demo --help", "--version"})
    EXPECT_EQ(hocket(arguments).out, run("'" + tool.string() + "-torch' " + arguments).out) << arguments;
}

TEST_F(Cli, AFullDiskOnStandardOutputIsAnError) {
  write("g.hk", sound);
  const std::string command = "'" HOCKET_TEST_TOOL "' convert '" + path("g.hk") + "' > /dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  const std::string stats = "'" HOCKET_TEST_TOOL "' stats '" + path("g.hk") + "' > /dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(stats.c_str())), 1);
}

// Every field of a capture survives: compared by nlohmann-json, which shares no code with our reader and writer.
void expect_same(const nlohmann::json& before, const nlohmann::json& after, const std::string& where) {
  ASSERT_EQ(before.type() == nlohmann::json::value_t::number_float || before.is_number(), after.is_number()) << where;
  if (before.is_object()) {
    ASSERT_EQ(before.size(), after.size()) << where;
    for (const auto& [key, value] : before.items()) {
      ASSERT_TRUE(after.contains(key)) << where << "." << key;
      expect_same(value, after[key], fmt::format("{}.{}", where, key));
    }
  } else if (before.is_array()) {
    ASSERT_EQ(before.size(), after.size()) << where;
    for (std::size_t i = 0; i < before.size(); ++i) expect_same(before[i], after[i], fmt::format("{}[{}]", where, i));
  } else {
    ASSERT_EQ(before, after) << where;
  }
}

TEST_F(Cli, EveryFieldOfACaptureSurvivesText) {
  for (const char* name : {"fsdp_llama_1l_fwd", "fsdp_llama_tiny", "fsdp_tp_llama_tiny", "ddp_gpt2_12l"}) {
    const std::string source = std::string("'" HOCKET_TEST_DATA "/") + name + ".json.gz'";
    ASSERT_EQ(hocket("convert " + source + " a.hk").code, 0);
    ASSERT_EQ(hocket("convert a.hk b.json").code, 0);
    const std::string unzip = "gzip -dc " + source + " > '" + path("a.json") + "'";
    ASSERT_EQ(std::system(unzip.c_str()), 0);
    expect_same(nlohmann::json::parse(read("a.json")), nlohmann::json::parse(read("b.json")), name);
  }
}

}  // namespace
