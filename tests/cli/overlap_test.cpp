// What `hocket opt` claims of the pass overlap, as others see it: the judge of the captures, and other processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli_fixture.h"
#include "support/captures.h"

namespace {

// The memory of PyTorch's fastest variant, in GiB by graph: of the cells "ms / GiB" of each row the one with the least time.
std::map<std::string, double> pytorch_peaks(const std::string& results) {
  std::ifstream file(results);
  std::map<std::string, double> peaks;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string cell, name;
    std::getline(cells, cell, '|');
    std::getline(cells, name, '|');
    name = name.substr(std::min<std::size_t>(1, name.size()), name.find_last_not_of(' '));
    double best = 0;
    while (std::getline(cells, cell, '|')) {
      double ms = 0, gib = 0;
      if (std::sscanf(cell.c_str(), " %lf / %lf", &ms, &gib) == 2 && (best == 0 || ms < best)) {
        best = ms;
        peaks[name] = gib;
      }
    }
  }
  return peaks;
}

class LongOverlapJudge : public Cli {
 protected:
  void SetUp() override {
    if (hocket::shared_captures().empty()) GTEST_SKIP() << hocket::no_shared_captures;
    if (run("python3 --version").code != 0) GTEST_SKIP() << "python3 is absent";
    folder_of_captures_ = fs::path(hocket::shared_captures()[0]).parent_path();
    peaks_ = pytorch_peaks(folder_of_captures_ / "RESULTS.md");
    ASSERT_GE(peaks_.size(), hocket::shared_captures().size());
  }

  // Step time, exposed time and peak are the judge's, and the peak is within the limit.
  void expect_judged(const std::string& capture, const std::string& effort, std::int64_t limit) {
    SCOPED_TRACE(fmt::format("{} --effort {} --memory-limit {}B", capture, effort, limit));
    const std::string asked = limit == 0 ? "1.0x" : fmt::format("{}B", limit);
    const Outcome outcome = hocket(fmt::format(
        "opt '{}' --machine h100x8 --effort {} --memory-limit {} -o out.json --json", capture, effort, asked));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto ours = nlohmann::json::parse(outcome.out);
    const Outcome judged = run(fmt::format("python3 '{}' '{}' --result out.json --json",
                                           (folder_of_captures_ / "evaluate.py").string(), capture));
    ASSERT_EQ(judged.code, 0) << judged.err;
    const auto theirs = nlohmann::json::parse(judged.out);
    EXPECT_NEAR(theirs.at("step_ms").get<double>() / ours.at("step_ms").get<double>(), 1, 1e-6);
    EXPECT_NEAR(theirs.at("exposed_ms").get<double>(), ours.at("exposed_ms").get<double>(), 1e-6);
    EXPECT_EQ(theirs.at("peak_bytes"), ours.at("peak_bytes"));
    const auto original = theirs.at("original_peak_bytes").get<std::int64_t>();
    EXPECT_LE(theirs.at("peak_bytes").get<std::int64_t>(), limit == 0 ? original : limit);
    EXPECT_LE(theirs.at("step_ms").get<double>(), theirs.at("original_step_ms").get<double>());
  }

  // At the original's peak and at PyTorch's memory, where that is more.
  void expect_all_judged(const std::string& effort) {
    for (const std::string& capture : hocket::shared_captures()) {
      expect_judged(capture, effort, 0);
      const double gib = peaks_.at(fs::path(capture).stem().stem());
      const Outcome original = hocket(fmt::format("stats '{}' --json", capture));
      ASSERT_EQ(original.code, 0) << original.err;
      const auto peak = nlohmann::json::parse(original.out).at("peak_bytes").get<std::int64_t>();
      expect_judged(capture, effort, std::max(peak, static_cast<std::int64_t>(gib * (1 << 30))));
    }
  }

  fs::path folder_of_captures_;
  std::map<std::string, double> peaks_;
};

TEST_F(LongOverlapJudge, finds_the_same_figures_at_effort_fast) { expect_all_judged("fast"); }
TEST_F(LongOverlapJudge, finds_the_same_figures_at_the_default_effort) { expect_all_judged("default"); }

using Overlap = Cli;

// Ranks are processes of their own, on machines that differ: addresses, threads, languages.
TEST_F(Overlap, IsTheSameInEveryProcess) {
  const std::string command =
      "'" HOCKET_TEST_TOOL "' opt '" HOCKET_TEST_DATA "/fsdp_tp_llama_tiny.json.gz' --machine h100x8 -o ";
  ASSERT_EQ(run(command + "one.json").code, 0);
  const std::string one = read("one.json");
  ASSERT_FALSE(one.empty());
  const std::map<std::string, std::string> surroundings = {
      {"other addresses", ""},
      {"fixed addresses", "setarch -R"},
      {"one core", "taskset -c 0"},
      {"seven threads", "env OMP_NUM_THREADS=7 MKL_NUM_THREADS=7"},
      {"a decimal comma", "env LC_ALL=de_DE.UTF-8 LANGUAGE=de"},
      {"no language", "env -i LC_ALL=C"},
      {"other memory", "env MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 GLIBCXX_FORCE_NEW=1"}};
  for (const auto& [what, prefix] : surroundings) {
    if (!prefix.empty() && run(prefix + " true").code != 0) continue;  // the sandbox does not allow it
    ASSERT_EQ(run(prefix + " " + command + "other.json").code, 0) << what;
    EXPECT_EQ(read("other.json"), one) << what;
  }
}

}  // namespace
