#include "hocket/cost/captured_machine.h"

#include <gtest/gtest.h>

#include "hocket/cost/cost_model.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "support/captures.h"

namespace hocket {
namespace {

const std::vector<Rank> four = {Rank{0}, Rank{1}, Rank{2}, Rank{3}};

// An all_reduce of each of these numbers of floats, with the time that `ns` gives to what it moves.
template <class Time>
Graph captured(const std::vector<std::int64_t>& counts, const Time& ns) {
  std::string inputs;
  std::string body;
  std::string results;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    inputs += fmt::format("{}%x{}: f32[{}]", comma, i, counts[i]);
    body += fmt::format(
        "  %s{0} = _c10d_functional.all_reduce(%x{0}, \"sum\", @dp) {{est={1:.6f}ms}}\n"
        "  %w{0} = _c10d_functional.wait_tensor(%s{0})\n",
        i, ns(8.0 * static_cast<double>(counts[i])) / 1e6);
    results += fmt::format("{}%w{}", comma, i);
  }
  const std::string text =
      fmt::format("graph @g({}) {{\n  group @dp = ranks[0,1,2,3]\n{}  return {}\n}}\n", inputs, body, results);
  auto graph = parse_graph(text, "g.hk");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

double on(const Machine& machine, CollectiveKind kind, std::int64_t moved) {
  return CostModel({.machine = machine}).collective(kind, four, Bytes(moved)).ns();
}

TEST(CapturedMachine, is_the_machine_itself_where_the_capture_agrees_or_says_nothing) {
  const Machine h100 = *find_machine("h100x8");
  for (const std::string& path : shipped_captures()) EXPECT_EQ(as_captured(h100, *read_graph(path)), h100) << path;
  const Machine cpu = *find_machine("cpu");
  EXPECT_EQ(as_captured(cpu, captured({4'096}, [](double) { return 0.0; })), cpu);
}

TEST(CapturedMachine, judges_sizes_that_were_not_captured_by_the_latency_and_bandwidth_of_those_that_were) {
  const auto slow = [](double bytes) { return 26'250 + bytes / 300; };
  const Graph graph = captured({512, 4'096, 65'536, 262'144}, slow);
  for (const char* const name : {"h100x8", "cpu"}) {  // with a table of its own, and without
    const Machine before = *find_machine(name);
    const Machine after = as_captured(before, graph);
    for (const std::int64_t bytes : {16'384, 100'000, 8'000'000, 64'000'000}) {
      const double expected = slow(static_cast<double>(bytes));
      EXPECT_NEAR(on(after, CollectiveKind::all_reduce, bytes) / expected, 1, 0.001) << name << " " << bytes;
      EXPECT_EQ(on(after, CollectiveKind::broadcast, bytes), on(before, CollectiveKind::broadcast, bytes));
    }
  }
}

TEST(CapturedMachine, scales_the_machine_s_times_where_one_size_is_all_that_is_known) {
  const Machine before = *find_machine("h100x8");
  const double usual = on(before, CollectiveKind::all_reduce, 8 * 4'096);
  const Machine after = as_captured(before, captured({4'096, 4'096}, [&](double) { return 3 * usual; }));
  for (const std::int64_t bytes : {8 * 4'096, 1 << 20, 1 << 26}) {
    EXPECT_NEAR(on(after, CollectiveKind::all_reduce, bytes) / on(before, CollectiveKind::all_reduce, bytes), 3, 0.03);
  }
}

// Times that fall with the size have no latency and bandwidth.
TEST(CapturedMachine, makes_no_line_of_times_that_are_none) {
  const Machine before = *find_machine("h100x8");
  const Machine after = as_captured(before, captured({1'024, 1'048'576}, [](double bytes) { return 1e9 / bytes; }));
  EXPECT_GT(on(after, CollectiveKind::all_reduce, 1 << 26), on(after, CollectiveKind::all_reduce, 1 << 12));
}

}  // namespace
}  // namespace hocket
