#include "hocket/ir/graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "hocket/ir/file.h"
#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/graph_draft.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::string_view example = R"(
graph @step(%x: f32[4,8], %w: f32[8,8], %n: int = 3) {
  world 4 rank 1
  meta "description" = "an example"
  group @dp = ranks[0,1]
  group @tp = ranks[1,3]
  %h = aten.mm(%x, %w) {est=0.5ms, flops=512, read=10, written=20, gemm}
  %c = _c10d_functional.all_reduce(%h, "sum", @dp)
  %r = _c10d_functional.wait_tensor(%c)
  %p = aten.split.Tensor(%r, 2)
  %q = getitem(%p, 1)
  %a = aten.add_.Tensor(%q, 1.5) {json={"stack":"a.py"}}
  %k = mylib.op(%a, key={"d": [1, %h]}) : f32[8]
  return %k, %q
})";

Graph example_graph() {
  auto graph = parse_graph(example, "example");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

TEST(Graph, answers_what_was_said) {
  const Graph graph = example_graph();
  EXPECT_EQ(graph.name(), "step");
  EXPECT_EQ(graph.size(), 11U);
  EXPECT_EQ(graph.world_size(), 4);
  EXPECT_EQ(graph.rank(), 1);
  EXPECT_EQ(graph.groups().size(), 2U);
  const NodeId h = *graph.find("h");
  EXPECT_EQ(graph.op_name(h), "aten.mm.default");
  ASSERT_NE(graph.op_spec(h), nullptr);
  EXPECT_TRUE(graph.op_spec(h)->effects.gemm);
  EXPECT_TRUE(graph.node(h).gemm);
  EXPECT_EQ(graph.estimate(h), Nanoseconds::from_ms(0.5));
  EXPECT_FALSE(graph.estimate(*graph.find("c")));
  EXPECT_EQ(graph.integer(*graph.find("n")), 3);
  EXPECT_FALSE(graph.integer(h));
  EXPECT_EQ(graph.extra(*graph.find("a")), R"("stack":"a.py")");
  EXPECT_EQ(graph.extra(h), "");
  EXPECT_EQ(graph.op_spec(*graph.find("k")), nullptr);
  EXPECT_EQ(graph.op_spec(*graph.find("x")), nullptr);
  EXPECT_FALSE(graph.find("nobody"));
  EXPECT_FALSE(graph.find("sum"));  // a string of the graph, but no node
}

TEST(Graph, knows_who_depends_on_whom) {
  const Graph graph = example_graph();
  const auto names = [&](std::span<const NodeId> nodes) {
    std::vector<std::string> list;
    for (const NodeId node : nodes) list.emplace_back(graph.name(node));
    return list;
  };
  EXPECT_EQ(names(graph.inputs(*graph.find("h"))), (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(names(graph.inputs(*graph.find("k"))), (std::vector<std::string>{"a", "h"}));
  EXPECT_EQ(names(graph.mutates(*graph.find("a"))), (std::vector<std::string>{"q"}));
  EXPECT_EQ(graph.node(*graph.find("r")).wait_of, *graph.find("c"));
  EXPECT_EQ(graph.node(*graph.find("q")).view_of, *graph.find("p"));
  const Collective* collective = graph.collective(*graph.find("c"));
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(graph.group(collective->group).name, "dp");
  EXPECT_EQ(collective->bytes_in, Bytes(128));
  EXPECT_EQ(graph.collective(*graph.find("h")), nullptr);
}

TEST(Graph, views_share_their_storage) {
  const Graph graph = example_graph();
  const auto storage = [&](const char* name) { return graph.outputs(*graph.find(name))[0].storage; };
  EXPECT_EQ(storage("c"), storage("r"));
  EXPECT_EQ(storage("c"), storage("a"));
  EXPECT_NE(storage("c"), storage("h"));
  EXPECT_EQ(graph.storage(storage("a")).allocated_by, *graph.find("c"));
  EXPECT_EQ(graph.storage(storage("a")).bytes, Dim(128));
}

TEST(Graph, interns_types) {
  const Graph graph = example_graph();
  EXPECT_EQ(graph.outputs(*graph.find("h"))[0].type, graph.outputs(*graph.find("c"))[0].type);
  EXPECT_NE(graph.outputs(*graph.find("h"))[0].type, graph.outputs(*graph.find("w"))[0].type);
}

TEST(Graph, memory_grows_with_the_graph) {
  const std::size_t small = random_graph(1, {.shape = GraphShape::ddp, .layers = 1}).memory();
  const std::size_t large = random_graph(1, {.shape = GraphShape::ddp, .layers = 100}).memory();
  EXPECT_GT(small, sizeof(Graph));
  EXPECT_GT(large, 10 * small);
}

// ---------------------------------------------------------------- equality and digest

// Golden: ranks of different builds compare digests.
TEST(GraphDigest, is_the_same_on_every_machine) {
  EXPECT_EQ(example_graph().digest().to_string(), "b82d2fd68b0c9dacc34a518b9f759fba");
}

TEST(GraphDigest, does_not_depend_on_how_the_graph_was_made) {
  const Graph graph = example_graph();
  const auto from_json = read_graph_json(write_graph_json(graph), "json");
  const auto from_draft = GraphDraft::of(graph).build();
  ASSERT_TRUE(from_json && from_draft);
  EXPECT_EQ(from_json->digest(), graph.digest());
  EXPECT_EQ(from_draft->digest(), graph.digest());
}

// One change of each thing that a graph says.
struct Change {
  const char* what;
  std::function<void(GraphDraft&)> apply;
};

std::vector<Change> changes() {
  const auto node = [](GraphDraft& draft, std::string_view name) -> DraftNode& {
    for (DraftNode& one : draft.nodes) {
      if (one.name == name) return one;
    }
    return draft.nodes[0];
  };
  return {
      {"name of the graph", [](GraphDraft& d) { d.name = "other"; }},
      {"world size", [](GraphDraft& d) { d.world_size = 8; }},
      {"rank", [](GraphDraft& d) { d.rank = 0; }},
      {"a fact of the whole", [](GraphDraft& d) { d.meta[0].second = "\"other\""; }},
      {"a key of a fact of the whole", [](GraphDraft& d) { d.meta[0].first = "other"; }},
      {"one more fact of the whole", [](GraphDraft& d) { d.meta.emplace_back("more", "1"); }},
      {"name of a group", [](GraphDraft& d) { d.groups[0].name = "pp"; }},
      {"ranks of a group", [](GraphDraft& d) { d.groups[0].ranks.pop_back(); }},
      {"order of ranks", [](GraphDraft& d) { std::swap(d.groups[0].ranks[0], d.groups[0].ranks[1]); }},
      {"one more group",
       [](GraphDraft& d) {
         d.groups.push_back({"pp", {Rank{0}}});
       }},
      {"name of a node", [&](GraphDraft& d) { node(d, "h").name = "other"; }},
      {"kind of a node", [&](GraphDraft& d) { node(d, "w").kind = NodeKind::attribute; }},
      {"operator", [&](GraphDraft& d) { node(d, "k").op = "mylib.op.other"; }},
      {"multi", [&](GraphDraft& d) { node(d, "k").multi = true; }},
      {"gemm", [&](GraphDraft& d) { node(d, "h").gemm = false; }},
      {"integer", [&](GraphDraft& d) { node(d, "n").integer = 4; }},
      {"no integer", [&](GraphDraft& d) { node(d, "n").integer.reset(); }},
      {"an argument", [&](GraphDraft& d) { node(d, "a").args[1] = Arg::real(2.5); }},
      {"kind of an argument", [&](GraphDraft& d) { node(d, "a").args[1] = Arg::integer(1); }},
      {"one argument less", [&](GraphDraft& d) { node(d, "c").args.pop_back(); }},
      {"a reference", [&](GraphDraft& d) { node(d, "h").args[1] = Arg::value(NodeId(0)); }},
      {"name of a keyword", [&](GraphDraft& d) { node(d, "k").keywords[0].key = d.pool.strings.add("other"); }},
      {"no keyword", [&](GraphDraft& d) { node(d, "k").keywords.clear(); }},
      {"dtype", [&](GraphDraft& d) { node(d, "k").outputs[0].dtype = Dtype::f64; }},
      {"shape", [&](GraphDraft& d) { node(d, "k").outputs[0].shape[0] = 9; }},
      {"stride", [&](GraphDraft& d) { node(d, "k").outputs[0].strides[0] = 2; }},
      {"offset", [&](GraphDraft& d) { node(d, "k").outputs[0].offset = 1; }},
      {"device", [&](GraphDraft& d) { node(d, "k").outputs[0].device = "cuda:0"; }},
      {"storage", [&](GraphDraft& d) { node(d, "k").outputs[0].storage = 0; }},
      {"size of a storage", [&](GraphDraft& d) { d.storage_bytes[0] = 999; }},
      {"one output less", [&](GraphDraft& d) { node(d, "k").outputs.clear(); }},
      {"view_of", [&](GraphDraft& d) { node(d, "q").view_of = NodeId::none(); }},
      {"wait_of", [&](GraphDraft& d) { node(d, "r").wait_of = NodeId::none(); }},
      {"mutates", [&](GraphDraft& d) { node(d, "a").mutates.clear(); }},
      {"no collective", [&](GraphDraft& d) { node(d, "c").collective.reset(); }},
      {"kind of a collective", [&](GraphDraft& d) { node(d, "c").collective->kind = CollectiveKind::p2p; }},
      {"group of a collective", [&](GraphDraft& d) { node(d, "c").collective->group = GroupId(1); }},
      {"bytes in", [&](GraphDraft& d) { node(d, "c").collective->bytes_in = Bytes(1); }},
      {"bytes out", [&](GraphDraft& d) { node(d, "c").collective->bytes_out = Bytes(1); }},
      {"estimate", [&](GraphDraft& d) { ++node(d, "h").measured.picoseconds; }},
      {"no estimate", [&](GraphDraft& d) { node(d, "h").measured.picoseconds = -1; }},
      {"flops", [&](GraphDraft& d) { ++node(d, "h").measured.flops; }},
      {"bytes read", [&](GraphDraft& d) { ++node(d, "h").measured.read; }},
      {"bytes written", [&](GraphDraft& d) { ++node(d, "h").measured.written; }},
      {"members that are not known", [&](GraphDraft& d) { node(d, "a").extra = "\"stack\":\"b.py\""; }},
      {"no members that are not known", [&](GraphDraft& d) { node(d, "a").extra.clear(); }},
      {"one node less", [&](GraphDraft& d) { d.nodes.pop_back(); }},
      {"order of nodes", [&](GraphDraft& d) { std::swap(d.nodes[0], d.nodes[1]); }},
  };
}

TEST(GraphEquality, sees_a_change_of_anything_that_a_graph_says) {
  const Graph graph = example_graph();
  std::set<Digest> digests = {graph.digest()};
  for (const Change& change : changes()) {
    GraphDraft draft = GraphDraft::of(graph);
    change.apply(draft);
    const auto changed = draft.build();
    ASSERT_TRUE(changed) << change.what << ": " << changed.error().to_string();
    EXPECT_FALSE(*changed == graph) << change.what;
    EXPECT_NE(Graph::first_difference(graph, *changed), "") << change.what;
    EXPECT_TRUE(digests.insert(changed->digest()).second) << change.what << ": the digest is that of another graph";
  }
}

TEST(GraphEquality, names_the_first_node_that_differs) {
  const Graph graph = example_graph();
  GraphDraft draft = GraphDraft::of(graph);
  draft.nodes[5].gemm = !draft.nodes[5].gemm;
  EXPECT_THAT(Graph::first_difference(graph, *draft.build()), HasSubstr("node 5 (r)"));
  draft.nodes.pop_back();
  EXPECT_EQ(Graph::first_difference(graph, *draft.build()), "11 nodes against 10");
  EXPECT_EQ(Graph::first_difference(graph, graph), "");
}

TEST(GraphDigest, of_different_random_graphs_differ) {
  std::set<Digest> digests;
  for (std::uint64_t seed = 0; seed < 300; ++seed) digests.insert(random_graph(seed).digest());
  EXPECT_EQ(digests.size(), 300U);
}

TEST(RandomGraph, is_the_same_for_the_same_seed) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(random_graph(seed).digest(), random_graph(seed).digest());
}

TEST(RandomGraph, has_all_shapes_and_kinds_of_operators) {
  std::set<std::string, std::less<>> ops;
  std::set<GraphShape> shapes;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    shapes.insert(random_graph_options(seed).shape);
    const Graph graph = random_graph(seed);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (graph.node(NodeId(i)).kind == NodeKind::op) ops.emplace(graph.op_name(NodeId(i)));
    }
  }
  EXPECT_EQ(shapes.size(), 5U);
  for (const char* op :
       {"all_reduce", "all_reduce_", "all_reduce_coalesced", "all_reduce_coalesced_", "all_gather_into_tensor",
        "all_gather_into_tensor_out", "all_gather_into_tensor_coalesced", "reduce_scatter_tensor",
        "reduce_scatter_tensor_coalesced", "all_to_all_single", "broadcast", "broadcast_", "wait_tensor"}) {
    EXPECT_TRUE(ops.contains(fmt::format("_c10d_functional.{}.default", op))) << op;
  }
  for (const char* op : {"aten.mm.default", "aten.view.default", "aten.permute.default", "aten.slice.Tensor",
                         "aten.split.Tensor", "getitem", "aten.unsqueeze.default", "aten.expand.default",
                         "aten.copy_.default", "aten.add_.Tensor", "aten.sort.default", "aten.sym_size.int",
                         "mylib.fused_thing.default", "aten.randn.default", "fsdp.all_gather_copy_in.default"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
}

// ---------------------------------------------------------------- all captures, once through everything

void put_captures_through_everything(bool large) {
  constexpr std::uintmax_t many_bytes = 400'000;  // compressed: some 15,000 nodes
  if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
  for (const std::string& path : shared_captures()) {
    if ((std::filesystem::file_size(path) > many_bytes) != large) continue;
    SCOPED_TRACE(path);
    const auto graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const auto problems = verify(*graph);
    ASSERT_TRUE(problems.empty()) << to_error(problems, path).message;
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < graph->size(); ++i) order.emplace_back(i);
    ASSERT_TRUE(verify_order(*graph, order).empty());
    const Digest digest = graph->digest();
    const auto from_text = parse_graph(print(*graph), "text");
    ASSERT_TRUE(from_text) << from_text.error().to_string();
    ASSERT_EQ(Graph::first_difference(*graph, *from_text), "");
    ASSERT_EQ(from_text->digest(), digest);
    const auto from_json = read_graph_json(write_graph_json(*graph), "json");
    ASSERT_TRUE(from_json) << from_json.error().to_string();
    ASSERT_EQ(Graph::first_difference(*graph, *from_json), "");
    ASSERT_EQ(from_json->digest(), digest);
  }
}

TEST(Captures, are_sound_and_survive_text_and_json) { put_captures_through_everything(false); }
TEST(LongCaptures, are_sound_and_survive_text_and_json) { put_captures_through_everything(true); }

}  // namespace
}  // namespace hocket
