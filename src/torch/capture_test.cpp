// The expectations are program text: what the graph of a step should be.
#include "hocket/torch/capture.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <string>
#include <thread>
#include <vector>

#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/collectives.h"
#include "torch/replay.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

const at::TensorOptions on_meta = at::TensorOptions(at::kMeta);

// The captured graph is sound, says the same when it is printed and read back, and is the one in `text`.
void expect_graph(const Result<Capture>& captured, const std::string& text) {
  ASSERT_TRUE(captured) << captured.error().to_string();
  const Graph& graph = captured->graph;
  for (const Problem& problem : verify(graph)) ADD_FAILURE() << problem.to_string();
  const Result<Graph> read_back = parse_graph(print(graph), "printed");
  ASSERT_TRUE(read_back) << read_back.error().to_string();
  EXPECT_EQ(Graph::first_difference(graph, *read_back), "");
  const Result<Graph> expected = parse_graph(text, "expected");
  ASSERT_TRUE(expected) << expected.error().to_string();
  EXPECT_EQ(Graph::first_difference(*expected, graph), "") << print(graph);
}

void expect_error(const Result<Capture>& captured, const std::string& part) {
  ASSERT_FALSE(captured) << print(captured->graph);
  EXPECT_THAT(captured.error().to_string(), HasSubstr(part));
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).kind == NodeKind::op) names.emplace_back(graph.op_name(NodeId(i)));
  }
  return names;
}

TEST(Capture, RecordsOperatorsWithTheirTypesAndNothingIsComputed) {
  const auto step = [](const Tensors& in) { return Tensors{at::relu(at::mm(in[0], in[1]))}; };
  expect_graph(capture(step, {at::empty({8, 4}, on_meta), at::empty({4, 2}, on_meta)}, {.input_names = {"x", "w"}}), R"(
    graph @step(%x: f32[8,4], %w: f32[4,2]) {
      %mm = aten.mm(%x, %w) : f32[8,2]
      %relu = aten.relu(%mm) : f32[8,2]
      return %relu
    })");
}

TEST(Capture, TensorsOfAnySizeFitOnMeta) {
  const auto step = [](const Tensors& in) { return Tensors{at::relu(at::mm(in[0], in[0]))}; };
  const auto captured = capture(step, {at::empty({1 << 20, 1 << 20}, on_meta)});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_EQ(captured->graph.size(), 4U);
}

TEST(Capture, LeavesOutDefaultsAndNamesKeywordOnlyArguments) {
  const auto step = [](const Tensors& in) {
    return Tensors{at::add(in[0], in[0], 2), at::sum(in[0], {1}), at::sum(in[0], {1}, true),
                   at::sum(in[0], {1}, false, at::kDouble)};
  };
  expect_graph(capture(step, {at::empty({2, 3}, on_meta)}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[2,3]) {
      %add = aten.add.Tensor(%x, %x, alpha=2) : f32[2,3]
      %sum = aten.sum.dim_IntList(%x, [1]) : f32[2]
      %sum_1 = aten.sum.dim_IntList(%x, [1], true) : f32[2,1]
      %sum_2 = aten.sum.dim_IntList(%x, [1], dtype=f64) : f64[2]
      return %add, %sum, %sum_1, %sum_2
    })");
}

TEST(Capture, NumbersThatLibtorchWrapsIntoTensorsAreNumbers) {
  const auto step = [](const Tensors& in) {
    return Tensors{at::where(in[1], in[0], 0.5), at::maximum(in[0], in[0] * 2)};
  };
  const auto captured = capture(step, {at::empty({3}, on_meta), at::empty({3}, on_meta.dtype(at::kBool))});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_TRUE(captured->attributes.empty()) << print(captured->graph);
}

TEST(Capture, AListOfTensorsIsAnArgument) {
  const auto step = [](const Tensors& in) { return Tensors{at::cat({in[0], in[1]}, 1)}; };
  expect_graph(capture(step, {at::empty({2, 3}, on_meta), at::empty({2, 1}, on_meta)}, {.input_names = {"x", "y"}}), R"(
    graph @step(%x: f32[2,3], %y: f32[2,1]) {
      %cat = aten.cat([%x, %y], 1) : f32[2,4]
      return %cat
    })");
}

TEST(Capture, AnOptionalTensorThatIsAbsentIsNone) {
  const auto step = [](const Tensors& in) {
    return Tensors{in[0].index({at::indexing::TensorIndex(at::indexing::Slice()), in[1]})};
  };
  expect_graph(capture(step, {at::empty({2, 3}, on_meta), at::empty({5}, on_meta.dtype(at::kLong))},
                       {.input_names = {"x", "i"}}),
               R"(
    graph @step(%x: f32[2,3], %i: i64[5]) {
      %index = aten.index.Tensor(%x, [none, %i]) : f32[2,5]
      return %index
    })");
}

TEST(Capture, DeviceConstantsNameWhatMetaStandsFor) {
  const auto step = [](const Tensors& in) { return Tensors{at::ones({2}, in[0].options()), at::zeros({2})}; };
  expect_graph(capture(step, {at::empty({1}, on_meta)}, {.input_names = {"x"}, .device = "cuda:0"}), R"(
    graph @step(%x: f32[1]) {
      device "cuda:0"
      %ones = aten.ones([2], dtype=f32, layout=layout("strided"), device=device("cuda:0")) : f32[2]
      %zeros = aten.zeros([2], device=device("cuda:0")) : f32[2]
      return %ones, %zeros
    })");
}

// --- views and mutation ---------------------------------------------------------------------------------------------

TEST(Capture, UsesAfterAnInPlaceOperatorReferToItsResult) {
  const auto step = [](const Tensors& in) {
    in[0].add_(in[1]);
    return Tensors{at::exp(in[0])};
  };
  expect_graph(capture(step, {at::empty({4}, on_meta), at::empty({4}, on_meta)}, {.input_names = {"x", "y"}}), R"(
    graph @step(%x: f32[4], %y: f32[4]) {
      %add_ = aten.add_.Tensor(%x, %y) : f32[4]
      %exp = aten.exp(%add_) : f32[4]
      return %exp
    })");
}

TEST(Capture, AViewTakenAfterAMutationIsANewNode) {
  const auto step = [](const Tensors& in) {
    const at::Tensor before = in[0].t();
    in[0].mul_(2);
    return Tensors{at::exp(before), at::exp(in[0].t())};
  };
  expect_graph(capture(step, {at::empty({4, 3}, on_meta)}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[4,3]) {
      %t = aten.t(%x) : f32[3,4] strides[1,3]
      %mul_ = aten.mul_.Scalar(%x, 2) : f32[4,3]
      %exp = aten.exp(%t) : f32[3,4] strides[1,3]
      %t_1 = aten.t(%mul_) : f32[3,4] strides[1,3]
      %exp_1 = aten.exp(%t_1) : f32[3,4] strides[1,3]
      return %exp, %exp_1
    })");
}

TEST(Capture, WritingThroughAViewWritesTheSharedStorage) {
  const auto step = [](const Tensors& in) {
    in[0].select(0, 1).fill_(7);
    return Tensors{at::exp(in[0])};
  };
  expect_graph(capture(step, {at::empty({4, 3}, on_meta)}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[4,3]) {
      %select = aten.select.int(%x, 0, 1) : f32[3] offset 3
      %fill_ = aten.fill_.Scalar(%select, 7) : f32[3] offset 3
      %exp = aten.exp(%x) : f32[4,3]
      return %exp
    })");
}

TEST(Capture, AViewThatIsKnownAlreadyIsNotRecordedAgain) {
  const auto step = [](const Tensors& in) {
    const at::Tensor same = in[0].t().t().detach().view({4, 3});
    return Tensors{at::mm(in[0].t(), same)};
  };
  expect_graph(capture(step, {at::empty({4, 3}, on_meta)}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[4,3]) {
      %t = aten.t(%x) : f32[3,4] strides[1,3]
      %mm = aten.mm(%t, %x) : f32[3,3]
      return %mm
    })");
}

TEST(Capture, ReshapeIsAViewOrACopyAsTheLayoutDemands) {
  const auto step = [](const Tensors& in) { return Tensors{in[0].reshape({12}), in[0].t().reshape({12})}; };
  const auto captured = capture(step, {at::empty({4, 3}, on_meta)}, {.input_names = {"x"}});
  expect_graph(captured, R"(
    graph @step(%x: f32[4,3]) {
      %view = aten.view(%x, [12]) : f32[12]
      %t = aten.t(%x) : f32[3,4] strides[1,3]
      %clone = aten.clone(%t, memory_format=memory_format("contiguous_format")) : f32[3,4]
      %_unsafe_view = aten._unsafe_view(%clone, [12]) : f32[12]
      return %view, %_unsafe_view
    })");
}

TEST(Capture, OutArgumentsAreWrittenAndReturned) {
  const auto step = [](const Tensors& in) {
    at::Tensor out = in[1];
    at::mm_out(out, in[0], in[0]);
    return Tensors{at::exp(in[1])};
  };
  expect_graph(capture(step, {at::empty({3, 3}, on_meta), at::empty({3, 3}, on_meta)}, {.input_names = {"x", "out"}}),
               R"(
    graph @step(%x: f32[3,3], %out: f32[3,3]) {
      %mm = aten.mm.out(%x, %x, out=%out) : f32[3,3] {view_of=%out, mutates=[%out]}
      %exp = aten.exp(%mm) : f32[3,3]
      return %exp
    })");
}

TEST(Capture, BatchNormWritesItsRunningStatisticsThoughItsSchemaDoesNotSaySo) {
  const auto step = [](const Tensors& in) {
    return Tensors{at::batch_norm(in[0], {}, {}, in[1], in[2], true, 0.1, 1e-5, false)};
  };
  const auto captured =
      capture(step, {at::empty({8, 4, 2, 2}, on_meta), at::empty({4}, on_meta), at::empty({4}, on_meta)},
              {.input_names = {"x", "mean", "var"}});
  ASSERT_TRUE(captured) << captured.error().to_string();
  const Graph& graph = captured->graph;
  for (const Problem& problem : verify(graph)) ADD_FAILURE() << problem.to_string();
  const auto node = graph.find("native_batch_norm");
  ASSERT_TRUE(node) << print(graph);
  EXPECT_EQ(graph.mutates(*node).size(), 2U) << print(graph);
}

// --- several results -------------------------------------------------------------------------------------------------

TEST(Capture, ElementsOfAListResultAreNodesOnlyWhereTheyAreUsed) {
  const auto step = [](const Tensors& in) {
    const auto [values, indices] = at::max(in[0], 1);
    const Tensors parts = in[0].split(2, 1);
    return Tensors{values, parts[1]};
  };
  expect_graph(capture(step, {at::empty({4, 6}, on_meta)}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[4,6]) {
      %max = aten.max.dim(%x, 1) : (f32[4], i64[4])
      %split = aten.split.Tensor(%x, 2, 1) : (f32[4,2] strides[6,1], f32[4,2] strides[6,1] offset 2, f32[4,2] strides[6,1] offset 4)
      %getitem = getitem(%max, 0) : f32[4]
      %getitem_1 = getitem(%split, 1) : f32[4,2] strides[6,1] offset 2
      return %getitem, %getitem_1
    })");
}

TEST(Capture, ResultsThatAnOperatorLeavesOutHaveNoOutput) {
  const auto step = [](const Tensors& in) {
    const auto [input, weight, bias] =
        at::native_layer_norm_backward(in[0], in[0], {4}, in[1], in[1], at::ones({4}), {}, {false, true, false});
    return Tensors{weight};
  };
  const auto captured =
      capture(step, {at::empty({2, 4}, on_meta), at::empty({2, 1}, on_meta)}, {.input_names = {"x", "m"}});
  ASSERT_TRUE(captured) << captured.error().to_string();
  for (const Problem& problem : verify(captured->graph)) ADD_FAILURE() << problem.to_string();
  const auto node = captured->graph.find("native_layer_norm_backward");
  ASSERT_TRUE(node);
  EXPECT_EQ(captured->graph.outputs(*node).size(), 1U) << print(captured->graph);
}

// --- tensors from outside --------------------------------------------------------------------------------------------

TEST(Capture, TensorsThatTheStepWasNotToldOfAreAttributesWithTheirValues) {
  const at::Tensor scale = at::full({3}, 2.0);
  const auto step = [&](const Tensors& in) { return Tensors{in[0] * scale}; };
  const auto captured = capture(step, {at::ones({3})}, {.input_names = {"x"}});
  expect_graph(captured, R"(
    graph @step(%x: f32[3]) {
      %attribute = attribute : f32[3]
      %mul = aten.mul.Tensor(%x, %attribute) : f32[3]
      return %mul
    })");
  ASSERT_EQ(captured->attributes.size(), 1U);
  EXPECT_TRUE(captured->attributes[0].second.equal(scale));
}

TEST(Capture, DataThatIsWrittenWithoutAnOperatorIsAConstant) {
  const auto step = [](const Tensors& in) { return Tensors{in[0] + at::tensor({1.0F, 2.0F, 3.0F})}; };
  const auto captured = capture(step, {at::zeros({3})}, {.input_names = {"x"}});
  expect_graph(captured, R"(
    graph @step(%x: f32[3]) {
      %attribute = attribute : f32[3]
      %add = aten.add.Tensor(%x, %attribute) : f32[3]
      return %add
    })");
  EXPECT_EQ(captured->attributes.at(0).second[1].item<float>(), 2.0F);
}

TEST(Capture, AViewFromBeforeTheStepIsDerivedFromTheTensorThatIsKnown) {
  const at::Tensor x = at::zeros({4, 3});
  const at::Tensor column = x.select(1, 1);
  const auto step = [&](const Tensors&) { return Tensors{at::exp(column)}; };
  expect_graph(capture(step, {x}, {.input_names = {"x"}}), R"(
    graph @step(%x: f32[4,3]) {
      %as_strided = aten.as_strided(%x, [4], [3], 1) : f32[4] strides[3] offset 1
      %exp = aten.exp(%as_strided) : f32[4]
      return %exp
    })");
}

TEST(Capture, ATensorThatIsGivenTwiceIsTwoInputsOnOneStorage) {
  const at::Tensor tied = at::ones({3});
  const auto step = [](const Tensors& in) { return Tensors{in[0] + in[1]}; };
  const auto captured = capture(step, {tied, tied});
  ASSERT_TRUE(captured) << captured.error().to_string();
  for (const Problem& problem : verify(captured->graph)) ADD_FAILURE() << problem.to_string();
  EXPECT_EQ(captured->graph.storages().size(), 2U) << print(captured->graph);
}

TEST(Capture, FreshMemoryThatNobodyUsesLeavesNoNode) {
  const auto step = [](const Tensors& in) {
    const at::Tensor unused = at::empty({100}, in[0].options());
    const at::Tensor used = at::empty({3}, in[0].options());
    used.copy_(in[0]);
    return Tensors{used};
  };
  const auto captured = capture(step, {at::ones({3})});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_THAT(operators(captured->graph), testing::ElementsAre("aten.empty.memory_format", "aten.copy_.default"));
}

TEST(Capture, PutsBackWhatTheStepWrote) {
  at::Tensor weight = at::ones({3}).requires_grad_();
  weight.mutable_grad() = at::full({3}, 5.0);
  const at::Tensor x = at::full({3}, 2.0);
  const auto step = [&](const Tensors& in) {
    const at::Tensor loss = (in[0] * weight).sum();
    loss.backward();
    weight.data().sub_(weight.grad());
    in[0].zero_();
    return Tensors{loss};
  };
  const at::Tensor gradient = weight.grad();
  ASSERT_TRUE(capture(step, {x}, {.parameters = {{"weight", weight}}}));
  EXPECT_TRUE(weight.equal(at::ones({3})));
  EXPECT_TRUE(x.equal(at::full({3}, 2.0)));
  EXPECT_TRUE(weight.grad().is_same(gradient));
  EXPECT_TRUE(gradient.equal(at::full({3}, 5.0)));
}

// --- backward --------------------------------------------------------------------------------------------------------

TEST(Capture, TheGradientIsTakenOverAndNotCloned) {
  at::Tensor weight = at::empty({4, 2}, on_meta).requires_grad_();
  const auto step = [&](const Tensors& in) {
    at::mm(in[0], weight).sum().backward();
    weight.data().add_(weight.grad(), -0.1);
    return Tensors{};
  };
  expect_graph(capture(step, {at::empty({8, 4}, on_meta)}, {.input_names = {"x"}, .parameters = {{"weight", weight}}}),
               R"(
    graph @step(%x: f32[8,4], %weight: f32[4,2]) {
      %mm = aten.mm(%x, %weight) : f32[8,2]
      %sum = aten.sum(%mm) : f32[]
      %ones_like = aten.ones_like(%sum, memory_format=memory_format("contiguous_format")) : f32[]
      %expand = aten.expand(%ones_like, [8, 2]) : f32[8,2] strides[0,0]
      %t = aten.t(%x) : f32[4,8] strides[1,4]
      %mm_1 = aten.mm(%t, %expand) : f32[4,2]
      %add_ = aten.add_.Tensor(%weight, %mm_1, alpha=-0.1) : f32[4,2]
      return ()
    })");
}

TEST(Capture, AGradientFromBeforeIsAddedTo) {
  at::Tensor weight = at::ones({2}).requires_grad_();
  weight.mutable_grad() = at::ones({2});
  const auto step = [&](const Tensors& in) {
    (in[0] * weight).sum().backward();
    return Tensors{weight.grad()};
  };
  const auto captured = capture(step, {at::ones({2})}, {.parameters = {{"weight", weight}}});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_EQ(operators(captured->graph).back(), "aten.add_.Tensor");
  EXPECT_EQ(captured->attributes.size(), 1U);
}

// --- collectives -----------------------------------------------------------------------------------------------------

const GroupSpec pair{"dp", {0, 1}};

// Calls an operator of _c10d_functional and gives its results.
template <class... Args>
c10::IValue functional(const char* name, Args... args) {
  torch::jit::Stack stack{args...};
  c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string("_c10d_functional::") + name).c_str(), "")
      .callBoxed(stack);
  return stack.at(0);
}

at::Tensor waited(const c10::IValue& result) { return functional("wait_tensor", result).toTensor(); }

TEST(Capture, CollectivesAreRecordedWithAWaitAndNotCarriedOut) {
  const auto step = [](const Tensors& in) {
    return Tensors{all_reduce(in[0], "SUM", "dp"), all_gather_into_tensor(in[0], {0, 1}),
                   reduce_scatter_tensor(in[0], "avg", Rows{{0, 1}})};
  };
  for (const at::Device device : {at::kMeta, at::kCPU}) {
    expect_graph(
        capture(step, {at::ones({4, 3}, device)}, {.input_names = {"x"}, .groups = {pair}, .world_size = 2, .rank = 0}),
        R"(
      graph @step(%x: f32[4,3]) {
        world 2 rank 0
        group @dp = ranks[0,1]
        %all_reduce = _c10d_functional.all_reduce(%x, "sum", @dp) : f32[4,3]
        %wait_tensor = _c10d_functional.wait_tensor(%all_reduce) : f32[4,3]
        %all_gather_into_tensor = _c10d_functional.all_gather_into_tensor(%x, 2, @dp) : f32[8,3]
        %wait_tensor_1 = _c10d_functional.wait_tensor(%all_gather_into_tensor) : f32[8,3]
        %reduce_scatter_tensor = _c10d_functional.reduce_scatter_tensor(%x, "avg", 2, @dp) : f32[2,3]
        %wait_tensor_2 = _c10d_functional.wait_tensor(%reduce_scatter_tensor) : f32[2,3]
        return %wait_tensor, %wait_tensor_1, %wait_tensor_2
      })");
  }
}

TEST(Capture, LibtorchsOwnFunctionalOperatorsAreRecordedToo) {
  const auto step = [](const Tensors& in) { return Tensors{waited(functional("all_reduce", in[0], "sum", "dp"))}; };
  const auto captured = capture(step, {at::ones({4}, on_meta)}, {.groups = {pair}});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_THAT(operators(captured->graph),
              testing::ElementsAre("_c10d_functional.all_reduce.default", "_c10d_functional.wait_tensor.default"));
  expect_error(capture(step, {at::ones({4}, on_meta)}), "unknown group dp");
}

TEST(Capture, AllFormsOfCollectivesAreRecorded) {
  const auto step = [](const Tensors& in) {
    Tensors results;
    results.push_back(waited(functional("all_reduce_", at::exp(in[0]), "sum", "dp")));
    results.push_back(waited(functional("broadcast", in[0], 0, "dp")));
    results.push_back(waited(functional("all_to_all_single", in[0], std::vector<std::int64_t>{2, 2},
                                        std::vector<std::int64_t>{1, 3}, "dp")));
    const at::Tensor out = at::empty({8, 3}, in[0].options());
    torch::jit::Stack stack{in[0], 2, "dp", out};
    c10::Dispatcher::singleton().findSchemaOrThrow("_c10d_functional::all_gather_into_tensor_out", "").callBoxed(stack);
    results.push_back(waited(stack.at(0)));
    const Tensors both{in[0], in[1]};
    for (const c10::IValue& lists : {functional("all_reduce_coalesced", both, "sum", "dp"),
                                     functional("all_gather_into_tensor_coalesced", both, 2, "dp"),
                                     functional("reduce_scatter_tensor_coalesced", both, "sum", 2, "dp")}) {
      for (const at::Tensor& result : lists.toTensorVector()) results.push_back(waited(result));
    }
    return results;
  };
  const auto captured = [&](at::Device device) {
    return capture(step, {at::ones({4, 3}, device), at::ones({2}, device)},
                   {.input_names = {"x", "y"}, .groups = {pair}});
  };
  const auto graph = captured(at::kMeta);
  ASSERT_TRUE(graph) << graph.error().to_string();
  expect_graph(captured(at::kCPU), print(graph->graph));
  EXPECT_EQ(operators(graph->graph).size(), 7U + 10U + 6U + 2U) << print(graph->graph);
}

TEST(Capture, CollectivesSayWhatIsWrongWithACall) {
  const at::Tensor x = at::empty({3}, on_meta);
  EXPECT_THROW(all_reduce(x, "sum", {0, 1}), c10::Error);  // outside of a capture, and in no world
  const auto captured = [&](auto call, std::vector<GroupSpec> groups = {pair}) {
    return capture([&](const Tensors& in) { return Tensors{call(in[0])}; }, {x}, {.groups = std::move(groups)});
  };
  const auto sum = [](const at::Tensor& in) { return all_reduce(in, "sum", "dp"); };
  expect_error(captured([](const at::Tensor& in) { return all_reduce(in, "summ", "dp"); }),
               "unknown reduce operation summ; known: sum");
  expect_error(captured([](const at::Tensor& in) { return reduce_scatter_tensor(in, "sum", "dp"); }),
               "reduce_scatter_tensor: dim 0 of size 3 does not divide by the group's size 2");
  expect_error(captured(sum, {{"", {0}}}), "a group needs a name");
  expect_error(captured(sum, {pair, {"dp", {0}}}), "group dp has 1 ranks here");
  expect_error(captured([](const at::Tensor& in) { return all_reduce(in, "sum", "dpp"); }), "no group is named dpp");
  expect_error(captured([](const at::Tensor& in) { return all_reduce(in, "sum", {1, 2, 1}); }), "rank 1 stands twice");
  expect_error(captured([](const at::Tensor& in) {
                 return all_reduce(in, "sum", Rows{{0, 1}, {2, 3}});
               }),
               "rows of ranks mean another group on every rank");
}

// --- what cannot be captured -----------------------------------------------------------------------------------------

TEST(Capture, AProgramThatDependsOnDataIsAnErrorThatNamesTheOperator) {
  const auto item = [](const Tensors& in) { return Tensors{in[0] * in[0].sum().item()}; };
  expect_error(capture(item, {at::ones({3}, on_meta)}),
               "aten._local_scalar_dense.default: the program depends on the values");
  expect_error(capture(item, {at::ones({3})}), "aten._local_scalar_dense.default");
  const auto nonzero = [](const Tensors& in) { return Tensors{in[0].nonzero()}; };
  expect_error(capture(nonzero, {at::ones({3})}), "aten.nonzero.default");
  const auto mask = [](const Tensors& in) { return Tensors{in[0].index({in[0] > 0})}; };
  expect_error(capture(mask, {at::ones({3}, on_meta)}), "aten.index.Tensor");
}

TEST(Capture, AnErrorOfAnOperatorNamesIt) {
  const auto step = [](const Tensors& in) { return Tensors{at::mm(in[0], in[0])}; };
  expect_error(capture(step, {at::ones({2, 3}, on_meta)}), "aten.mm.default: ");
}

TEST(Capture, AnOperatorWithAnArgumentThatGraphsDontHoldIsAnError) {
  const auto generator = [](const Tensors& in) {
    return Tensors{in[0].uniform_(0, 1, at::detail::createCPUGenerator())};
  };
  expect_error(capture(generator, {at::ones({2})}),
               "aten.uniform_.default: argument generator is a value of type Generator");
  const auto sparse = [](const Tensors& in) { return Tensors{in[0].to_sparse()}; };
  expect_error(capture(sparse, {at::ones({2})}),
               "aten._to_sparse.default: its result is a tensor without plain memory (Sparse)");
}

TEST(Capture, WhatTheStepThrowsIsAnErrorAndTheCaptureIsOver) {
  const auto step = [](const Tensors&) -> Tensors { throw std::runtime_error("no such file"); };
  expect_error(capture(step, {at::ones({2})}), "the step threw: no such file");
  const auto odd = [](const Tensors&) -> Tensors { throw 7; };
  expect_error(capture(odd, {at::ones({2})}), "no std::exception");
  EXPECT_TRUE((at::ones({2}) + 1).equal(at::full({2}, 2.0)));
}

TEST(Capture, AnErrorThatTheStepCatchesByItselfIsNone) {
  const auto step = [](const Tensors& in) {
    try {
      at::mm(in[0], in[0]);
    } catch (const c10::Error&) {
    }
    return Tensors{at::exp(in[0])};
  };
  EXPECT_TRUE(capture(step, {at::ones({2, 3})}));
}

TEST(Capture, WrongArgumentsAreErrors) {
  const auto same = [](const Tensors& in) { return in; };
  expect_error(capture(same, {at::Tensor()}), "input input_0 is an undefined tensor");
  expect_error(capture(same, {at::ones({2}).to_sparse()}), "input input_0 is a tensor without plain memory (Sparse)");
  expect_error(capture(same, {}, {.input_names = {"x"}}), "1 input names for 0 example inputs");
  const auto undefined = [](const Tensors&) { return Tensors{at::Tensor()}; };
  expect_error(capture(undefined, {}), "result 0 of the step is an undefined tensor");
  const auto nested = [&](const Tensors& in) -> Tensors {
    const auto inner = capture(same, in);
    throw std::runtime_error(inner.error().to_string());
  };
  expect_error(capture(nested, {at::ones({2})}), "capture inside of a capture");
}

TEST(Capture, OtherThreadsAreNotCaptured) {
  const auto step = [](const Tensors& in) {
    at::Tensor other;
    std::thread([&] { other = at::exp(at::ones({2})); }).join();
    return Tensors{in[0] + other};
  };
  const auto captured = capture(step, {at::ones({2})});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_THAT(operators(captured->graph), testing::ElementsAre("aten.add.Tensor"));
}

TEST(Capture, EqualStepsGiveEqualGraphs) {
  const auto step = [](const Tensors& in) { return Tensors{at::softmax(at::mm(in[0], in[0].t()), -1)}; };
  const auto once = capture(step, {at::ones({4, 3})});
  const auto again = capture(step, {at::ones({4, 3}, on_meta)});
  ASSERT_TRUE(once && again);
  EXPECT_EQ(Graph::first_difference(once->graph, again->graph), "");
}

TEST(Capture, CompositeOperatorsAreTakenApartInInferenceModeToo) {
  const auto step = [](const Tensors& in) { return Tensors{at::linear(in[0], in[1], in[2])}; };
  const c10::InferenceMode inference;
  const auto captured = capture(step, {at::ones({2, 3}), at::ones({4, 3}), at::ones({4})});
  ASSERT_TRUE(captured) << captured.error().to_string();
  EXPECT_THAT(operators(captured->graph), testing::ElementsAre("aten.t.default", "aten.addmm.default"));
}

TEST(Capture, AnOperatorWithoutMetaKernelAndRowIsTriedOnScratchMemory) {
  const auto step = [](const Tensors& in) { return Tensors{at::cdist(in[0], in[1], 1.0)}; };
  const auto captured = capture(step, {at::empty({4, 3}, on_meta), at::empty({5, 3}, on_meta)});
  ASSERT_TRUE(captured) << captured.error().to_string();
  ASSERT_EQ(operators(captured->graph), std::vector<std::string>{"aten._cdist_forward.default"});
  const TypeView type = captured->graph.type(captured->graph.outputs(NodeId(2))[0]);
  EXPECT_EQ(std::vector<Dim>(type.shape.begin(), type.shape.end()), (std::vector<Dim>{4, 5}));
  expect_error(capture(step, {at::empty({1 << 28, 3}, on_meta), at::empty({5, 3}, on_meta)}),
               "too large to try it on memory");
}

TEST(Capture, AttentionOnMetaIsAttentionAsOnTheCpu) {
  const auto graph_text = [](at::Device device, const std::optional<at::Tensor>& mask, double dropout,
                             bool enable_gqa) {
    const at::TensorOptions options(device);
    const at::Tensor query = at::zeros({2, 4, 6, 8}, options).requires_grad_();
    const at::Tensor key = at::zeros({2, enable_gqa ? 2 : 4, 6, 8}, options);
    const auto step = [&](const Tensors& in) {
      const auto given = in.size() > 2 ? std::optional(in[2]) : std::nullopt;
      at::scaled_dot_product_attention(in[0], in[1], in[1], given, dropout, false, std::nullopt, enable_gqa)
          .sum()
          .backward();
      return Tensors{in[0].grad()};
    };
    Tensors inputs{query, key};
    if (mask) inputs.push_back(at::empty_like(*mask, device));
    const auto captured = capture(step, inputs);
    return captured ? print(captured->graph) : captured.error().to_string();
  };
  constexpr double no_dropout = 0.0, dropout = 0.1;
  const auto same = [&](const std::optional<at::Tensor>& mask, double probability, bool enable_gqa) {
    std::string text = graph_text(at::kCPU, mask, probability, enable_gqa);
    EXPECT_EQ(graph_text(at::kMeta, mask, probability, enable_gqa), text);
    return text;
  };
  EXPECT_THAT(same(std::nullopt, no_dropout, false), HasSubstr("flash_attention_for_cpu_backward"));
  EXPECT_THAT(same(at::zeros({6, 6}), no_dropout, false), HasSubstr("attn_mask=%input_2"));
  EXPECT_THAT(same(at::zeros({6, 6}, at::kBool), no_dropout, false), HasSubstr("attn_mask=%where"));
  EXPECT_THAT(same(std::nullopt, no_dropout, true), HasSubstr("flash_attention_for_cpu"));
  EXPECT_THAT(same(std::nullopt, dropout, false), HasSubstr("aten.bmm"));
}

TEST(OnMeta, TensorsWithoutADeviceAreMadeOnMeta) {
  {
    const OnMeta scope;
    EXPECT_TRUE(at::randn({1 << 20, 1 << 20}).is_meta());
    EXPECT_TRUE(at::ones({2}, at::kCPU).is_cpu());
  }
  EXPECT_TRUE(at::ones({2}).is_cpu());
}

}  // namespace
}  // namespace hocket
