// The verifier on random programs, on captures, and on both with seeded defects.
// What it says about each single rule is in tests/programs/verify_*.hk.
#include "hocket/ir/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "support/captures.h"
#include "support/graph_defects.h"
#include "support/program_defects.h"
#include "support/random_graph.h"
#include "support/random_program.h"

namespace hocket {
namespace {

constexpr std::uint64_t times_longer = 20;     // the suites that begin with Long
constexpr std::size_t longest_print = 20'000;  // of a broken graph

std::string all_of(const std::vector<Problem>& problems) {
  return problems.empty() ? "" : to_error(problems, "it").message;
}

// ---------------------------------------------------------------- sound programs

void find_nothing_in_graphs(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Graph graph = random_graph(seed);
    ASSERT_EQ(all_of(verify(graph)), "") << "seed " << seed << "\n" << print(graph);
  }
}

void find_nothing_in_programs(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = random_program(seed);
    ASSERT_EQ(all_of(verify(program)), "") << "seed " << seed << "\n" << print(program);
  }
}

TEST(Verify, finds_nothing_in_random_graphs) { find_nothing_in_graphs(0, 1500); }
TEST(Verify, finds_nothing_in_random_programs) { find_nothing_in_programs(0, 3000); }
TEST(LongVerify, finds_nothing_in_random_graphs) { find_nothing_in_graphs(1'000'000, 1500 * times_longer); }
TEST(LongVerify, finds_nothing_in_random_programs) { find_nothing_in_programs(1'000'000, 3000 * times_longer); }

TEST(Verify, finds_nothing_in_shipped_captures) {
  ASSERT_EQ(shipped_captures().size(), 4U);
  for (const std::string& path : shipped_captures()) EXPECT_EQ(all_of(verify(*read_graph(path))), "") << path;
}

// ---------------------------------------------------------------- seeded defects

// How often a defect was put into a program, and how often the verifier saw it.
struct Score {
  std::string_view name;
  int applied = 0;
  int caught = 0;
};

bool is_caught(const std::vector<Problem>& problems, const std::vector<ProblemKind>& kinds) {
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return std::find(kinds.begin(), kinds.end(), problem.kind) != kinds.end();
  });
}

template <class Defect>
std::vector<Score> scores_for(const std::vector<Defect>& defects) {
  std::vector<Score> scores;
  for (const Defect& defect : defects) scores.push_back({defect.name});
  return scores;
}

void show(std::string_view title, const std::vector<Score>& scores) {
  std::string table = fmt::format("{:45} {:>8} {:>8}\n", title, "put in", "caught");
  Score total{"all"};
  for (const Score& score : scores) {
    table += fmt::format("{:45} {:8} {:8}\n", score.name, score.applied, score.caught);
    total.applied += score.applied;
    total.caught += score.caught;
  }
  fmt::print("{}{:45} {:8} {:8}\n", table, total.name, total.applied, total.caught);
  std::fflush(stdout);
}

// Puts every defect into a graph or a program once.
template <class Draft, class Subject, class Defect>
void break_with(const std::vector<Defect>& defects, const Subject& subject, Random& random,
                std::vector<Score>& scores) {
  for (std::size_t i = 0; i < defects.size(); ++i) {
    Draft draft = Draft::of(subject);
    if (!defects[i].apply(draft, subject, random)) continue;
    const auto broken = draft.build();
    ASSERT_TRUE(broken) << defects[i].name << ": " << broken.error().to_string();
    const auto problems = verify(*broken);
    ++scores[i].applied;
    if (is_caught(problems, defects[i].kinds)) ++scores[i].caught;
    else
      ADD_FAILURE() << "not caught: " << defects[i].name << "\nfound: " << all_of(problems) << "\n"
                    << print(*broken).substr(0, longest_print);
  }
}

void break_graph(const Graph& graph, Random& random, std::vector<Score>& scores) {
  static const std::vector<GraphDefect> defects = graph_defects();
  break_with<GraphDraft>(defects, graph, random, scores);
}

void break_program(const Program& program, Random& random, std::vector<Score>& scores) {
  static const std::vector<ProgramDefect> defects = program_defects();
  break_with<ProgramDraft>(defects, program, random, scores);
}

void break_random_graphs(std::uint64_t first, std::uint64_t count) {
  std::vector<Score> scores = scores_for(graph_defects());
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    break_graph(random_graph(seed), random, scores);
  }
  show("defect of a random graph", scores);
  for (const Score& score : scores) EXPECT_GT(score.applied, 0) << score.name << " found no place in any graph";
}

void break_random_programs(std::uint64_t first, std::uint64_t count) {
  std::vector<Score> scores = scores_for(program_defects());
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    break_program(random_program(seed), random, scores);
  }
  show("defect of a random program", scores);
  for (const Score& score : scores) EXPECT_GT(score.applied, 0) << score.name << " found no place in any program";
}

void break_captures(const std::vector<std::string>& paths, int rounds) {
  std::vector<Score> scores = scores_for(graph_defects());
  for (const std::string& path : paths) {
    const auto graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      SCOPED_TRACE(fmt::format("{}, seed {}", path, round));
      Random random(static_cast<std::uint64_t>(round));
      break_graph(*graph, random, scores);
    }
  }
  show("defect of a capture", scores);
}

TEST(SeededDefects, of_random_graphs_are_all_caught) { break_random_graphs(0, 150); }
TEST(SeededDefects, of_random_programs_are_all_caught) { break_random_programs(0, 400); }
TEST(SeededDefects, of_shipped_captures_are_all_caught) { break_captures(shipped_captures(), 1); }
TEST(LongSeededDefects, of_random_graphs_are_all_caught) { break_random_graphs(1'000'000, 150 * times_longer); }
TEST(LongSeededDefects, of_random_programs_are_all_caught) { break_random_programs(1'000'000, 400 * times_longer); }
TEST(LongSeededDefects, of_shipped_captures_are_all_caught) { break_captures(shipped_captures(), times_longer); }
TEST(LongSeededDefects, of_shared_captures_are_all_caught) {
  if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
  break_captures(shared_captures(), 1);
}

// ---------------------------------------------------------------- problems as text

TEST(Problem, says_node_kind_and_message) {
  EXPECT_EQ((Problem{ProblemKind::type, "mm_3", "is wrong"}).to_string(), "mm_3: type: is wrong");
  EXPECT_EQ((Problem{ProblemKind::structure, "", "no output"}).to_string(), "structure: no output");
}

TEST(Problem, kinds_have_different_names) {
  std::vector<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ProblemKind::memory); ++kind)
    names.push_back(name_of(static_cast<ProblemKind>(kind)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::count(names.begin(), names.end(), ""), 0);
}

TEST(Problem, lists_become_one_error_of_bounded_length) {
  const std::vector<Problem> problems(5, {ProblemKind::wait, "c", "never waited for"});
  const Error error = to_error(problems, "step.hk", 2);
  EXPECT_EQ(error.kind, ErrorKind::input);
  EXPECT_EQ(error.message,
            "5 problems in step.hk\n  c: wait: never waited for\n  c: wait: never waited for\n  … and 3 more");
  EXPECT_EQ(to_error({problems[0]}, "x").message, "1 problem in x\n  c: wait: never waited for");
}

}  // namespace
}  // namespace hocket
