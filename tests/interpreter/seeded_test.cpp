// Mistakes that a pass could make, one at a time: fused buckets with something wrong, and calls that say something else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "noticed.h"
#include "support/graph_draft.h"
#include "support/interpreter_machine.h"
#include "support/random.h"
#include "support/random_graph.h"
#include "support/same_values.h"

namespace hocket {

namespace {

// ---- a bucket of gradients, as data parallel programs have it

struct Bucket {
  std::vector<std::int64_t> rows;    // each gradient is rows × 2
  std::vector<std::size_t> members;  // in the order in which they are concatenated
  std::vector<std::int64_t> begin;   // of each gradient in the bucket
  double divisor = 4;
  std::string reduce = "sum";
  std::string group = "dp";
  bool waits = true;
};

std::string header(const Bucket& bucket, std::string_view name) {
  std::string inputs;
  for (std::size_t i = 0; i < bucket.rows.size(); ++i)
    inputs += fmt::format("{}%g{}: f32[{},2]", i == 0 ? "" : ", ", i, bucket.rows[i]);
  return fmt::format("graph @{}({}) {{\n  world 4 rank 0\n  group @dp = ranks[0,1,2,3]\n  group @near = ranks[0,1]\n",
                     name, inputs);
}

std::string results(const Bucket& bucket) {
  std::string names;
  for (std::size_t i = 0; i < bucket.rows.size(); ++i) names += fmt::format("{}%r{}", i == 0 ? "" : ", ", i);
  return "  return " + names + "\n}\n";
}

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text, "bucket.hk");
  EXPECT_TRUE(graph) << graph.error().to_string() << text;
  return std::move(*graph);
}

Graph one_by_one(const Bucket& bucket) {
  std::string text = header(bucket, "separate");
  for (std::size_t i = 0; i < bucket.rows.size(); ++i) {
    text += fmt::format(
        "  %d{0} = aten.div.Tensor(%g{0}, {1:.1f})\n  %c{0} = _c10d_functional.all_reduce(%d{0}, \"{2}\", @{3})\n"
        "  %r{0} = _c10d_functional.wait_tensor(%c{0})\n",
        i, bucket.divisor, bucket.reduce, bucket.group);
  }
  return parsed(text + results(bucket));
}

Graph fused(const Bucket& bucket) {
  std::string text = header(bucket, "fused");
  std::string list;
  for (std::size_t i = 0; i < bucket.rows.size(); ++i)
    text += fmt::format("  %f{0} = aten.reshape(%g{0}, [{1}])\n", i, 2 * bucket.rows[i]);
  for (const std::size_t i : bucket.members) list += fmt::format("{}%f{}", list.empty() ? "" : ", ", i);
  text += fmt::format("  %cat = aten.cat([{}])\n  %avg = aten.div.Tensor(%cat, {:.1f})\n", list, bucket.divisor);
  text += fmt::format("  %sum = _c10d_functional.all_reduce(%avg, \"{}\", @{})\n", bucket.reduce, bucket.group);
  if (bucket.waits) text += "  %done = _c10d_functional.wait_tensor(%sum)\n";
  for (std::size_t i = 0; i < bucket.rows.size(); ++i) {
    text += fmt::format("  %s{0} = aten.slice.Tensor(%{1}, 0, {2}, {3})\n  %r{0} = aten.view(%s{0}, [{4}, 2])\n", i,
                        bucket.waits ? "done" : "sum", bucket.begin[i], bucket.begin[i] + 2 * bucket.rows[i],
                        bucket.rows[i]);
  }
  return parsed(text + results(bucket));
}

Bucket random_bucket(std::uint64_t seed) {
  Random random(seed);
  Bucket bucket;
  const std::int64_t gradients = random.between(2, 6);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < gradients; ++i) {
    bucket.rows.push_back(random.between(1, 3));
    bucket.members.push_back(bucket.members.size());
    bucket.begin.push_back(begin);
    begin += 2 * bucket.rows.back();
  }
  return bucket;
}

constexpr std::uint64_t bucket_count = 100;

// Every bucket with this mistake is noticed; the mistake answers false where it has no place.
template <class Mistake>
void expect_noticed(Mistake mistake) {
  int places = 0;
  for (std::uint64_t seed = 0; seed < bucket_count; ++seed) {
    const Bucket right = random_bucket(seed);
    Bucket wrong = right;
    if (!mistake(wrong)) continue;
    ++places;
    EXPECT_FALSE(same_values(one_by_one(right), fused(wrong), seed)) << "seed " << seed;
  }
  EXPECT_GE(places, 20);
}

}  // namespace

TEST(SeededDefects, right_buckets_compute_the_same) {
  for (std::uint64_t seed = 0; seed < bucket_count; ++seed) {
    Bucket bucket = random_bucket(seed);
    expect_same_values(one_by_one(bucket), fused(bucket), seed);
    bucket.group = "near";
    bucket.reduce = "avg";
    expect_same_values(one_by_one(bucket), fused(bucket), seed);
  }
}

TEST(SeededDefects, a_wrong_offset_in_a_bucket) {
  expect_noticed([](Bucket& bucket) {
    bucket.begin.back() -= 2;
    return true;
  });
  expect_noticed([](Bucket& bucket) {
    bucket.begin[0] += 1;
    return true;
  });
}

TEST(SeededDefects, members_that_changed_places) {
  expect_noticed([](Bucket& bucket) {
    std::swap(bucket.members[0], bucket.members[1]);
    return true;
  });
  expect_noticed([](Bucket& bucket) {
    std::swap(bucket.begin[0], bucket.begin[1]);
    return bucket.rows[0] == bucket.rows[1];
  });
  expect_noticed([](Bucket& bucket) {
    bucket.members[1] = bucket.members[0];
    return bucket.rows[0] == bucket.rows[1];
  });
}

TEST(SeededDefects, another_divisor_operation_or_group) {
  expect_noticed([](Bucket& bucket) { return bucket.divisor = 16, true; });
  expect_noticed([](Bucket& bucket) { return bucket.reduce = "max", true; });
  expect_noticed([](Bucket& bucket) { return bucket.reduce = "avg", true; });
  expect_noticed([](Bucket& bucket) { return bucket.group = "near", true; });
}

TEST(SeededDefects, a_bucket_that_nobody_waits_for) {
  expect_noticed([](Bucket& bucket) { return bucket.waits = false, true; });
}

// ---- one argument of one call changed in a random graph

namespace {

RandomGraphOptions options_for(GraphShape shape, std::uint64_t seed) {
  RandomGraphOptions options;
  options.shape = shape;
  options.world = 4;
  options.width = 4;
  options.layers = 2;
  options.operators = 40;
  options.collectives = 30;
  options.in_place = seed % 2 == 0;
  return options;
}

struct Count {
  int changed = 0;
  int noticed = 0;
};

// Changes one node of each random graph: `change` answers whether the node is fit for it.
template <class Change>
Count change_nodes(GraphShape shape, Change change) {
  Count count;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_graph(seed, options_for(shape, seed));
    for (std::size_t i = 0; i < graph.size(); ++i) {
      GraphDraft draft = GraphDraft::of(graph);
      if (!change(draft, draft.nodes[i])) continue;
      const auto wrong = draft.build();
      if (!wrong) continue;
      ++count.changed;
      if (!noticed(graph, *wrong, seed).empty()) ++count.noticed;
      break;
    }
  }
  return count;
}

}  // namespace

TEST(SeededDefects, another_group_of_the_same_size) {
  const Count count = change_nodes(GraphShape::tensor, [](GraphDraft& draft, DraftNode& node) {
    for (Arg& arg : node.args) {
      if (!arg.is(ArgKind::group)) continue;
      arg = Arg::group(GroupId(1 - arg.as_group().index()));  // tp and dp have two ranks each
      node.collective->group = arg.as_group();
      return !draft.groups.empty();
    }
    return false;
  });
  EXPECT_EQ(count.changed, 60);
  EXPECT_EQ(count.noticed, 60);
}

TEST(SeededDefects, another_reduce_operation) {
  const Count count = change_nodes(GraphShape::ddp, [](GraphDraft& draft, DraftNode& node) {
    for (Arg& arg : node.args) {
      if (!arg.is(ArgKind::string) || draft.pool.text(arg) != "sum") continue;
      arg = Arg::text(ArgKind::string, draft.pool.strings.add("max"));
      return true;
    }
    return false;
  });
  EXPECT_EQ(count.changed, 60);
  EXPECT_EQ(count.noticed, 60);
}

TEST(SeededDefects, swapped_splits_of_an_all_to_all) {
  const Count count = change_nodes(GraphShape::experts, [](GraphDraft& draft, DraftNode& node) {
    if (node.op != "_c10d_functional.all_to_all_single.default") return false;
    const auto out = draft.pool.elements(node.args[1]);
    const auto in = draft.pool.elements(node.args[2]);
    const bool same = std::equal(out.begin(), out.end(), in.begin(), in.end(),
                                 [](const Arg& a, const Arg& b) { return a.as_integer() == b.as_integer(); });
    std::swap(node.args[1], node.args[2]);
    return !same;
  });
  EXPECT_GT(count.changed, 30);
  EXPECT_EQ(count.noticed, count.changed);
}

// Where all ranks have the same (a constant, a sum that was reduced before) any source will do.
TEST(SeededDefects, another_source_of_a_broadcast) {
  const Count count = change_nodes(GraphShape::dag, [](GraphDraft&, DraftNode& node) {
    if (!node.op.starts_with("_c10d_functional.broadcast")) return false;
    node.args[1] = Arg::integer(1);
    return true;
  });
  EXPECT_GT(count.changed, 30);
  EXPECT_GE(count.noticed * 100, 80 * count.changed);
}

// ---- one node moved past another

namespace {

// The order with a node right behind another one.
std::vector<NodeId> moved_behind(const Graph& graph, NodeId node, NodeId target) {
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (NodeId(i) != node) order.emplace_back(i);
    if (NodeId(i) == target) order.push_back(node);
  }
  return order;
}

Graph reordered(const Graph& graph, const std::vector<NodeId>& order) {
  GraphDraft draft = GraphDraft::of(graph);
  draft.reorder(order);
  return *draft.build();
}

// Does a node look at elements of a tensor?
bool reads(const Graph& graph, NodeId id, const Output& tensor) {
  const auto place = [&](const Output& output) {
    return interpreter::Place{output.storage.index(), interpreter::layout_of(graph.type(output))};
  };
  const OpSpec* spec = graph.op_spec(id);
  if (spec == nullptr || spec->metadata_only || spec->effects.waits || graph.node(id).view_of.valid()) return false;
  const std::string_view base = interpreter::base_name(spec->name);
  if (interpreter::looks_at_no_data(base) || base == "copy") return false;
  for (const NodeId input : graph.inputs(id)) {
    for (const Output& output : graph.outputs(input)) {
      if (interpreter::meet(place(output), place(tensor))) return true;
    }
  }
  return false;
}

}  // namespace

// The use names the collective, not the wait, so that nothing but the wait's place tells when the data is there.
TEST(SeededDefects, a_wait_that_moves_behind_a_use) {
  int places = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, options_for(GraphShape::dag, seed));
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const NodeId wait(i);
      if (!graph.node(wait).wait_of.valid()) continue;
      const auto use = [&] {
        for (std::size_t k = i + 1; k + 1 < graph.size(); ++k) {
          if (reads(graph, NodeId(k), graph.outputs(wait)[0])) return NodeId(k);
        }
        return NodeId::none();
      }();
      if (!use.valid()) continue;
      GraphDraft draft = GraphDraft::of(graph);
      const NodeId result = graph.inputs(wait)[0];
      for (DraftNode& node : draft.nodes) {
        if (node.wait_of.valid() && node.name == graph.name(wait)) continue;
        draft.redirect(node, [&](NodeId old) { return old == wait ? result : old; });
      }
      const Graph by_result = *draft.build();
      ASSERT_EQ(noticed(graph, by_result, seed), "") << "seed " << seed;
      const std::string said = noticed(by_result, reordered(by_result, moved_behind(by_result, wait, use)), seed);
      const std::string_view collective = graph.name(graph.node(wait).wait_of);
      EXPECT_NE(said.find(collective), std::string::npos) << "seed " << seed << ": " << said;
      ++places;
      break;
    }
  }
  EXPECT_GT(places, 100);
}

TEST(SeededDefects, a_write_that_moves_past_a_read) {
  int places = 0;
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraphOptions options = options_for(GraphShape::dag, seed);
    options.mutations = 25;
    const Graph graph = random_graph(seed, options);
    for (std::size_t i = 0; i + 1 < graph.size(); ++i) {
      // a read, and a later write in place of the same tensor that nothing orders but the memory
      const NodeId reader(i);
      if (graph.op_spec(reader) == nullptr || graph.inputs(reader).empty()) continue;
      const NodeId tensor = graph.inputs(reader)[0];
      if (!reads(graph, reader, graph.outputs(tensor)[0]) || !graph.mutates(reader).empty()) continue;
      NodeId writer;
      for (std::size_t k = i + 1; k + 1 < graph.size() && !writer.valid(); ++k) {
        const auto mutated = graph.mutates(NodeId(k));
        const auto inputs = graph.inputs(NodeId(k));
        if (std::find(mutated.begin(), mutated.end(), tensor) != mutated.end() &&
            graph.collective(NodeId(k)) == nullptr && std::find(inputs.begin(), inputs.end(), reader) == inputs.end())
          writer = NodeId(k);
      }
      if (!writer.valid()) continue;
      const std::vector<NodeId> order = moved_behind(graph, reader, writer);
      if (verify_order(graph, order).empty()) continue;
      const Graph wrong = reordered(graph, order);
      ++places;
      if (noticed(graph, wrong, seed).empty()) ++missed;
      break;
    }
  }
  EXPECT_GT(places, 50);
  EXPECT_LE(missed * 20, places) << "a write of what is there already changes nothing; few do that";
}

}  // namespace hocket
