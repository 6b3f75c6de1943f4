#include "hocket/ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/verify.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Graph finished(GraphBuilder& builder) {
  auto graph = builder.finish();
  EXPECT_TRUE(graph) << graph.error().to_string();
  return std::move(*graph);
}

TEST(GraphBuilder, builds_the_example_of_its_header) {
  GraphBuilder b("step");
  const GroupId dp = b.group("dp", {0, 1, 2, 3});
  const NodeId g = b.input("g", Dtype::f32, {1024, 1024});
  const NodeId sum = b.op("_c10d_functional.all_reduce", {g, "sum", dp});
  b.output({b.op("_c10d_functional.wait_tensor", {sum})});
  const Graph graph = finished(b);
  EXPECT_TRUE(verify(graph).empty());
  EXPECT_EQ(graph.size(), 4U);
  EXPECT_EQ(graph.collective(sum)->bytes_in, Bytes(4 << 20));
}

TEST(GraphBuilder, names_nodes_after_their_operators) {
  GraphBuilder b("g");
  const NodeId x = b.input("x", Dtype::f32, {4});
  const NodeId first = b.op("aten.add.Tensor", {x, 1});
  const NodeId second = b.op("aten.add.Scalar", {x, 1});
  const NodeId named = b.op("aten.add.Tensor", {x, 1}, "mine");
  b.output({first, second, named});
  const Graph graph = finished(b);
  EXPECT_EQ(graph.name(first), "add");
  EXPECT_EQ(graph.name(second), "add_1");
  EXPECT_EQ(graph.name(named), "mine");
}

TEST(GraphBuilder, gives_generated_names_that_no_other_node_has) {
  GraphBuilder b("g");
  const NodeId relu = b.input("relu", Dtype::f32, {4});
  const NodeId x = b.input("relu_1", Dtype::f32, {4});
  b.output({b.op("aten.relu", {relu}), b.op("aten.relu", {x}), b.op("aten.relu", {x})});
  EXPECT_TRUE(verify(finished(b)).empty());
}

TEST(GraphBuilder, takes_every_kind_of_argument) {
  GraphBuilder b("g");
  const GroupId dp = b.group("dp", {0});
  const NodeId x = b.input("x", Dtype::f32, {4});
  OutputSpec output;
  output.shape = {4};
  const NodeId y =
      b.op("mylib.op", {std::nullopt, x, dp, true, 7, std::int64_t{8}, 1.5, Dtype::bf16, "text", {1, {2, x}}}, "y",
           {{"key", ArgInit(x)}}, {output});
  b.output({y});
  const Graph graph = finished(b);
  const auto args = graph.args(y);
  ASSERT_EQ(args.size(), 10U);
  const ArgKind kinds[] = {ArgKind::none,    ArgKind::value, ArgKind::group, ArgKind::boolean, ArgKind::integer,
                           ArgKind::integer, ArgKind::real,  ArgKind::dtype, ArgKind::string,  ArgKind::list};
  for (std::size_t i = 0; i < args.size(); ++i) EXPECT_EQ(args[i].kind(), kinds[i]) << i;
  EXPECT_EQ(graph.keywords(y).size(), 1U);
  EXPECT_EQ(graph.inputs(y).size(), 1U);
}

TEST(GraphBuilder, lists_an_input_once_however_often_it_is_used) {
  GraphBuilder b("g");
  std::vector<NodeId> many;
  std::vector<ArgInit> list;
  for (int i = 0; i < 50; ++i) {
    many.push_back(b.input("x" + std::to_string(i), Dtype::f32, {4}));
    list.emplace_back(many.back());
    list.emplace_back(many[static_cast<std::size_t>(i / 2)]);
  }
  const NodeId all = b.op("aten.cat", {ArgInit(list)}, "all", {});
  b.output({all});
  const Graph graph = finished(b);
  EXPECT_EQ(graph.inputs(all).size(), 50U);
  EXPECT_TRUE(std::equal(many.begin(), many.end(), graph.inputs(all).begin()));
}

TEST(GraphBuilder, keeps_the_first_mistake) {
  GraphBuilder b("g");
  const NodeId x = b.input("x", Dtype::f32, {4, 3});
  EXPECT_FALSE(b.op("aten.mm", {x, x}, "product").valid());
  EXPECT_FALSE(b.op("aten.does_not_exist", {x}).valid());
  b.output({x});
  const auto graph = b.finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().where, "node product");
  EXPECT_EQ(graph.error().kind, ErrorKind::input);
}

TEST(GraphBuilder, wants_types_where_the_table_has_none) {
  GraphBuilder unknown("g");
  unknown.op("mylib.op", {unknown.input("x", Dtype::f32, {4})});
  EXPECT_THAT(unknown.finish().error().message,
              HasSubstr("operator mylib.op.default is not in the operator table; give the types of its results"));
}

TEST(GraphBuilder, refuses_references_to_nodes_that_are_not_there) {
  GraphBuilder b("g");
  OutputSpec output;
  output.shape = {4};
  b.op("mylib.op", {NodeId(9)}, "y", {}, {output});
  EXPECT_THAT(b.finish().error().to_string(), HasSubstr("node y: refers to a node that does not exist; there are 1"));
}

TEST(GraphBuilder, refuses_a_group_twice) {
  GraphBuilder b("g");
  b.group("dp", {0});
  EXPECT_FALSE(b.group("dp", {0, 1}).valid());
  EXPECT_THAT(b.finish().error().message, HasSubstr("group @dp is declared twice"));
}

TEST(GraphBuilder, refuses_strides_that_are_not_as_many_as_the_sizes) {
  GraphBuilder b("g");
  OutputSpec output;
  output.shape = {4, 4};
  output.strides = {{1}};
  b.op("mylib.op", {}, "y", {}, {output});
  EXPECT_THAT(b.finish().error().to_string(), HasSubstr("node y: 2 sizes but 1 strides"));
}

TEST(GraphBuilder, marks_results_that_are_lists) {
  GraphBuilder b("g");
  const NodeId x = b.input("x", Dtype::f32, {4});
  const NodeId two = b.op("aten.split.Tensor", {x, 2});
  const NodeId one = b.op("aten.split.Tensor", {x, 4});
  const NodeId none = b.op("aten.relu", {x});
  b.output({b.getitem(two, 1), b.getitem(one, 0), none});
  const Graph graph = finished(b);
  EXPECT_TRUE(graph.node(two).multi);
  EXPECT_TRUE(graph.node(one).multi);
  EXPECT_FALSE(graph.node(none).multi);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(GraphBuilder, shares_storages_by_key_by_node_or_by_view) {
  GraphBuilder b("g");
  const auto input = [&](std::string_view name, OutputSpec output) {
    NodeSpec spec;
    spec.name = name;
    spec.kind = NodeKind::input;
    spec.outputs = std::span(&output, 1);
    return b.add(spec);
  };
  OutputSpec keyed;
  keyed.shape = {4};
  keyed.storage_key = 7;
  const NodeId a = input("a", keyed);
  const NodeId c = input("c", keyed);
  OutputSpec sharing;
  sharing.shape = {2};
  sharing.shares = {a, 0};
  const NodeId d = input("d", sharing);
  OutputSpec sized;
  sized.shape = {4};
  sized.storage_bytes = 100;
  const NodeId e = input("e", sized);
  const NodeId f = b.op("aten.alias", {e});
  b.output({f});
  const Graph graph = finished(b);
  const auto storage = [&](NodeId node) { return graph.outputs(node)[0].storage; };
  EXPECT_EQ(storage(a), storage(c));
  EXPECT_EQ(storage(a), storage(d));
  EXPECT_EQ(storage(e), storage(f));
  EXPECT_NE(storage(a), storage(e));
  EXPECT_EQ(graph.storage(storage(a)).bytes, Dim(16));
  EXPECT_EQ(graph.storage(storage(e)).bytes, Dim(100));
}

TEST(GraphBuilder, ends_on_outputs_that_share_in_a_circle) {
  GraphBuilder b("g");
  for (const std::size_t i : {0U, 1U}) {
    OutputSpec output;
    output.shape = {4};
    output.shares = {NodeId(1 - i), 0};
    NodeSpec spec;
    spec.name = i == 0 ? "a" : "b";
    spec.kind = NodeKind::input;
    spec.outputs = std::span(&output, 1);
    b.add(spec);
  }
  EXPECT_EQ(finished(b).storages().size(), 1U);
}

TEST(OpNames, leave_the_default_overload_out) {
  EXPECT_EQ(full_op_name("aten.mm"), "aten.mm.default");
  EXPECT_EQ(full_op_name("aten.add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(full_op_name("getitem"), "getitem");
  EXPECT_EQ(full_op_name("hop.flex_attention"), "hop.flex_attention");
  EXPECT_EQ(short_op_name("aten.mm.default"), "aten.mm");
  EXPECT_EQ(short_op_name("aten.add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(short_op_name("getitem"), "getitem");
  EXPECT_FALSE(short_op_name("aten.mm"));  // it would be read back as aten.mm.default
  for (const char* name : {"aten.mm.default", "aten.add.Tensor", "getitem", "_operator.mul", "hop.x", "a.b.c.default",
                           ".x", "x.", "default", "x.default"}) {
    const auto shorter = short_op_name(name);
    if (shorter) {
      EXPECT_EQ(full_op_name(*shorter), name);
    }
  }
}

}  // namespace
}  // namespace hocket
