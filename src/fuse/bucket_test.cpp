#include "hocket/fuse/bucket.h"

#include <gtest/gtest.h>

#include "fuse/reference.h"
#include "hocket/ir/file.h"
#include "hocket/ir/stats.h"
#include "hocket/ir/text.h"
#include "support/captures.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

using Pass = Result<RewriteResult> (*)(const Graph&, const BucketOptions&);
constexpr std::array<Pass, 2> passes = {bucket_all_gather, bucket_reduce_scatter};
constexpr std::array<FusedForm, 2> forms = {FusedForm::concat, FusedForm::coalesced};

const CostModel& h100() {
  static const CostModel cost(CostOptions{.machine = find_machine("h100x8").value()});
  return cost;
}

TEST(Bucket, random_programs_keep_their_payload_and_stay_sound) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph =
        seed % 3 == 0
            ? random_graph(seed)
            : random_graph(seed, {.shape = seed % 3 == 1 ? GraphShape::fsdp : GraphShape::tensor, .layers = 4});
    for (const Pass pass : passes) {
      for (const FusedForm form : forms) {
        const auto merged = pass(graph, {.form = form, .cost = seed % 3 != 0 && seed % 2 == 0 ? &h100() : nullptr});
        ASSERT_TRUE(merged) << "seed " << seed << ": " << merged.error().to_string();
        if (!merged->graph) continue;
        ++changed;
        EXPECT_EQ(problems_of(*merged->graph), "") << "seed " << seed << "\n" << print(*merged->graph);
        EXPECT_EQ(fuse::payload(*merged->graph), fuse::payload(graph)) << "seed " << seed;
        EXPECT_LT(fuse::collectives_in(*merged->graph), fuse::collectives_in(graph));
      }
    }
  }
  EXPECT_GT(changed, 200U);
}

// Some all_gathers, then their waits with a use or two.
Graph gathers(Random& random) {
  std::string inputs, starts, waits, results;
  for (std::int64_t i = 0, count = random.between(3, 4); i < count; ++i) {
    const std::string_view comma = i > 0 ? ", " : "";
    inputs += fmt::format("{}%a{}: f32[{}]", comma, i, 16 * random.between(1, 8));
    starts += fmt::format("  %g{0} = _c10d_functional.all_gather_into_tensor(%a{0}, 2, @dp)\n", i);
    waits += fmt::format("  %d{0} = _c10d_functional.wait_tensor(%g{0})\n  %u{0} = aten.relu(%d{0})\n", i);
    const bool twice = random.chance(50);
    if (twice) waits += fmt::format("  %v{0} = aten.neg(%u{0})\n", i);
    results += fmt::format("{}%{}{}", comma, twice ? "v" : "u", i);
  }
  return *parse_graph(
      fmt::format("graph @g({}) {{\n  group @dp = ranks[0,1]\n{}{}  return {}\n}}", inputs, starts, waits, results),
      "test");
}

// More than what is live, the inputs for longer and a copy of every input and result can't be needed.
TEST(Bucket, is_made_where_there_is_room_for_the_copies_of_all_members_once) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const Graph graph = gathers(random);
    Bytes room = stats_of(graph).peak;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const Collective* const collective = graph.collective(NodeId(i));
      if (collective != nullptr) room += collective->bytes_in + collective->bytes_in + collective->bytes_out;
    }
    const auto unlimited = bucket_all_gather(graph, {.form = FusedForm::concat});
    ASSERT_TRUE(unlimited && unlimited->graph);
    EXPECT_LE(stats_of(*unlimited->graph).peak, room);
    const auto merged = bucket_all_gather(graph, {.form = FusedForm::concat, .memory_limit = room});
    ASSERT_TRUE(merged && merged->graph) << print(graph);
    EXPECT_EQ(merged->graph->digest(), unlimited->graph->digest()) << print(graph);
  }
}

// A user's operator that gives back its argument and does something else besides keeps its place among the others, where a view would move
// along with the all_gather that it leads to.
TEST(Bucket, an_operator_with_effects_is_no_view_that_moves_along) {
  OpTable table = OpTable::builtin();
  OpSpec row;
  row.name = "mylib.hook.default";
  row.effects.alias = Alias::first;
  row.effects.side_effect = true;
  table.add(row);
  for (const bool hook : {false, true}) {
    const auto graph = parse_graph(fmt::format(R"(graph @g(%x: f32[4], %y: f32[4], %w: f32[4,4]) {{
  group @dp = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @dp)
  %mm = aten.mm(%w, %w)
  %seen = {} : f32[4] {{view_of=%y}}
  %other = _c10d_functional.all_gather_into_tensor(%seen, 2, @dp)
  %done = _c10d_functional.wait_tensor(%all)
  %other_done = _c10d_functional.wait_tensor(%other)
  return %done, %other_done, %mm
}})",
                                               hook ? "mylib.hook(%y)" : "aten.view(%y, [4])"),
                                   "test", table);
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const FusedForm form : forms) {
      const auto merged = bucket_all_gather(*graph, {.form = form});
      ASSERT_TRUE(merged) << merged.error().to_string();
      ASSERT_TRUE(merged->graph);
      EXPECT_TRUE(same_values(*graph, *merged->graph));
      const std::string text = print(*merged->graph);
      EXPECT_EQ(text.find("%mm =") < text.find("%seen ="), hook) << text;
    }
  }
}

// The results of a bucket are views of one tensor: while a collective writes into one of them, nobody could use the others.
TEST(Bucket, leaves_alone_what_is_written_in_place_later) {
  for (const bool written : {false, true}) {
    const auto graph = parse_graph(fmt::format(R"(graph @written(%x: f32[4,4], %y: f32[4,4]) {{
  group @dp = ranks[0,1]
  %a = _c10d_functional.reduce_scatter_tensor(%x, "sum", 2, @dp)
  %b = _c10d_functional.reduce_scatter_tensor(%y, "sum", 2, @dp)
  %a_done = _c10d_functional.wait_tensor(%a)
  %sent = _c10d_functional.{}(%a_done, 0, @dp)
  %b_done = _c10d_functional.wait_tensor(%b)
  %mm = aten.mm(%b_done, %x)
  %sent_done = _c10d_functional.wait_tensor(%sent)
  return %sent_done, %mm
}})",
                                               written ? "broadcast_" : "broadcast"),
                                   "test");
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const FusedForm form : forms) {
      const auto merged = bucket_reduce_scatter(*graph, {.form = form});
      ASSERT_TRUE(merged) << merged.error().to_string();
      EXPECT_NE(merged->graph.has_value(), written);
      EXPECT_EQ(problems_of(merged->graph ? *merged->graph : *graph), "");
      const bool says_so = !merged->notes.empty() && merged->notes.front() == "a: its result is written to by sent";
      EXPECT_EQ(says_so, written);
    }
  }
}

// Every capture that has collectives to merge gets faster or stays as it is, judged by a plain two-lane model.
TEST(Bucket, captures_never_get_slower) {
  for (const std::string& path : shipped_captures()) {
    const Result<Graph> graph = read_graph(path);
    for (const Pass pass : passes) {
      for (const FusedForm form : forms) {
        const auto merged = pass(*graph, {.form = form, .cost = &h100()});
        ASSERT_TRUE(merged) << merged.error().to_string();
        if (!merged->graph) continue;
        EXPECT_EQ(problems_of(*merged->graph), "") << path;
        EXPECT_EQ(fuse::payload(*merged->graph), fuse::payload(*graph)) << path;
        EXPECT_LE(fuse::two_lane_step_time(*merged->graph), fuse::two_lane_step_time(*graph)) << path;
        EXPECT_EQ(stats_of(*merged->graph).without_estimate, stats_of(*graph).without_estimate) << path;
      }
    }
  }
}

TEST(Bucket, keeps_the_memory_limit) {
  std::size_t limited = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed, {.shape = GraphShape::fsdp, .layers = 6, .width = 64});
    const Bytes peak = stats_of(graph).peak;
    for (const Pass pass : passes) {
      for (const FusedForm form : forms) {
        const auto free = pass(graph, {.form = form});
        const auto kept = pass(graph, {.form = form, .memory_limit = peak});
        ASSERT_TRUE(free && kept);
        EXPECT_LE(stats_of(kept->graph ? *kept->graph : graph).peak, peak) << "seed " << seed;
        if (free->graph && stats_of(*free->graph).peak > peak) ++limited;
      }
    }
  }
  EXPECT_GT(limited, 0U);  // otherwise the limit was not tested
}

TEST(Bucket, the_size_closes_buckets) {
  const Graph graph = random_graph(7, {.shape = GraphShape::fsdp, .layers = 4});
  const auto all = bucket_reduce_scatter(graph, {});
  const auto none = bucket_reduce_scatter(graph, {.bucket_size_mb = 0});
  ASSERT_TRUE(all && none);
  EXPECT_TRUE(all->graph);
  EXPECT_FALSE(none->graph);
  ASSERT_FALSE(none->notes.empty());
  EXPECT_NE(none->notes.front().find("the bucket is full"), std::string::npos);
}

TEST(Bucket, the_same_program_gives_the_same_result) {
  const Result<Graph> graph = read_graph(shipped_captures().front());
  const auto once = bucket_all_gather(*graph, {.cost = &h100()});
  const auto again = bucket_all_gather(*graph, {.cost = &h100()});
  ASSERT_TRUE(once && once->graph && again && again->graph);
  EXPECT_EQ(once->graph->digest(), again->graph->digest());
}

TEST(Bucket, refuses_negative_numbers) {
  const Graph graph = random_graph(1, {.shape = GraphShape::fsdp});
  EXPECT_EQ(bucket_all_gather(graph, {.bucket_size_mb = -2}).error().message, "a bucket of -2 MiB; expected 0 or more");
  EXPECT_EQ(bucket_all_gather(graph, {.memory_limit = Bytes(-2)}).error().message,
            "a memory limit of -2 bytes; expected 0 or more");
}

}  // namespace
}  // namespace hocket
