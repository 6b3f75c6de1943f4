// Programs of several groups that overlap, in which one rank does two things the other way round: those that would get stuck, and no
// others, are refused before anything runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "hocket/compile/compile.h"
#include "hocket/cost/local_ranks.h"
#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"
#include "hocket/schedule/collective_order.h"
#include "rank_programs.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// What each rank is told.
std::vector<Status> on_all(std::size_t ranks, const std::function<Status(std::size_t, AllGather&)>& body) {
  LocalRanks local(static_cast<std::int64_t>(ranks));
  std::vector<Status> told(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { told[rank] = body(rank, local.rank(static_cast<std::int64_t>(rank))); });
  for (std::thread& thread : threads) thread.join();
  return told;
}

template <class Form>
void expect_judged(const std::vector<Form>& forms, std::map<Outcome, int>& seen) {
  const Outcome truth = outcome_of(forms);
  ++seen[truth];
  const std::vector<Status> told = on_all(forms.size(), [&](std::size_t rank, AllGather& all) {
    return agree_on_order(communication_of(forms[rank], Rank{static_cast<std::int32_t>(rank)}), all);
  });
  for (const Status& one : told) {
    ASSERT_EQ(one.has_value(), truth == Outcome::all_end)
        << static_cast<int>(truth) << ": " << (one ? "accepted" : one.error().to_string());
    if (one) continue;
    EXPECT_EQ(one.error().to_string(), told[0].error().to_string()) << "ranks are told different things";
  }
}

// With kernels that block and with collectives that run beside the computation.
std::vector<Program> lowered(const std::vector<Graph>& graphs, bool blocking) {
  std::vector<Program> programs;
  for (const Graph& graph : graphs) {
    LowerOptions options;
    options.force = blocking ? ReduceAlgorithm::one_shot : ReduceAlgorithm::pipelined;
    Result<Lowered> result = lower(graph, options);
    EXPECT_TRUE(result) << result.error().to_string();
    programs.push_back(std::move(result->program));
  }
  return programs;
}

// Every seed is a sound set of programs, and the same with one inversion; until so many got stuck. How often which came out.
std::map<Outcome, int> judge_inversions(std::uint64_t first_seed, int stuck) {
  std::map<Outcome, int> after_inversion;
  for (std::uint64_t seed = first_seed; after_inversion[Outcome::stuck] < stuck; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RankPrograms programs = random_rank_programs(seed);
    Random random(seed + 1);
    std::map<Outcome, int> sound;
    expect_judged(graphs_of(programs), sound);
    EXPECT_EQ(sound[Outcome::all_end], 1) << "the generator is wrong";
    if (!invert(programs, random)) continue;
    const std::vector<Graph> graphs = graphs_of(programs);
    expect_judged(graphs, after_inversion);
    for (const bool blocking : {true, false}) {
      std::map<Outcome, int> of_programs;
      expect_judged(lowered(graphs, blocking), of_programs);
    }
    if (testing::Test::HasFailure()) break;
  }
  fmt::print("{} inversions get ranks stuck, {} let different calls meet, {} harm nobody\n",
             after_inversion[Outcome::stuck], after_inversion[Outcome::confused], after_inversion[Outcome::all_end]);
  return after_inversion;
}

TEST(Inversions, are_refused_before_running_where_ranks_would_get_stuck_and_nowhere_else) {
  const auto outcomes = judge_inversions(0, 50);
  EXPECT_GT(outcomes.at(Outcome::confused), 10);
  EXPECT_GT(outcomes.at(Outcome::all_end), 10);
}

TEST(LongInversions, of_a_thousand_programs_are_refused_where_ranks_would_get_stuck_and_nowhere_else) {
  const auto outcomes = judge_inversions(10'000, 1'000);
  EXPECT_GT(outcomes.at(Outcome::confused), 100);
  EXPECT_GT(outcomes.at(Outcome::all_end), 100);
}

// One program for all ranks, step by step, whose groups form a circle: 0 and 1, 1 and 2, 2 and 0.
Graph step_of_circle(int rank, bool agreed) {
  const auto pair = [](int a, int b) { return fmt::format("{},{}", std::min(a, b), std::max(a, b)); };
  std::string first = pair(rank, (rank + 1) % 3);
  std::string second = pair(rank, (rank + 2) % 3);
  if (agreed && first > second) std::swap(first, second);
  const auto graph = parse_graph(fmt::format(R"(graph @g(%x: f32[64], %y: f32[64]) {{
  group @first = ranks[{}]
  group @second = ranks[{}]
  %a = _c10d_functional.all_reduce(%x, "sum", @first)
  %b = _c10d_functional.wait_tensor(%a)
  %c = _c10d_functional.all_reduce(%y, "sum", @second)
  %d = _c10d_functional.wait_tensor(%c)
  return %b, %d
}})",
                                             first, second),
                                 "test");
  if (!graph) throw std::logic_error(graph.error().to_string());
  return *graph;
}

std::vector<Status> compile_circle(bool agreed, const std::string& passes) {
  return on_all(3, [&](std::size_t rank, AllGather& all) -> Status {
    CompileOptions options;
    options.passes = *parse_passes(passes);
    options.all_ranks = &all;
    return compile(step_of_circle(static_cast<int>(rank), agreed), options).map([](const Compiled&) {});
  });
}

TEST(Inversions, of_programs_that_are_alike_but_for_their_groups_are_refused_by_compile) {
  for (const char* const passes : {"remove_dead_getitems", "lower,plan", "lower(algorithm=pipelined),plan"}) {
    SCOPED_TRACE(passes);
    for (const Status& told : compile_circle(false, passes)) {
      ASSERT_FALSE(told);
      EXPECT_THAT(told.error().to_string(), HasSubstr("wait for each other for ever: rank 0 waits for"));
    }
    for (const Status& told : compile_circle(true, passes)) EXPECT_TRUE(told) << told.error().to_string();
  }
}

}  // namespace
}  // namespace hocket
