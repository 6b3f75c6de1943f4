#include <gtest/gtest.h>

#include "hocket/ir/op_table.h"
#include "hocket/ir/text.h"

namespace hocket {
namespace {

// "FLOPs, bytes read, bytes written" of the definition of %y.
std::string work_in(std::string_view inputs, std::string_view body) {
  const std::string text =
      fmt::format("graph @t({}) {{\n  group @g = ranks[0,1,2,3]\n  {}\n  return none\n}}\n", inputs, body);
  const Result<Graph> graph = parse_graph(text, "t.hk");
  if (!graph) return graph.error().message;
  const NodeId id = *graph->find("y");
  const GraphValues values(*graph);
  SymbolTable symbols = graph->symbols();
  std::vector<TypeView> outputs;
  for (const Output& output : graph->outputs(id)) outputs.push_back(graph->type(output));
  const auto work =
      work_of(*graph->op_spec(id), Call(graph->pool(), graph->args(id), graph->keywords(id), values, symbols), outputs);
  if (!work) return work.error().message;
  return fmt::format("{:.0f}, {}, {}", work->flops, work->read.count, work->written.count);
}

TEST(WorkOf, AnOperatorReadsItsArgumentsOnceAndWritesItsResults) {
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.exp(%x)"), "0, 96, 96");
  EXPECT_EQ(work_in("%x: f32[4,6], %b: bf16[6]", "%y = aten.add.Tensor(%x, %b)"), "0, 108, 96");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.mul.Tensor(%x, %x)"), "0, 96, 96");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.cat([%x, %x])"), "0, 96, 192");
}

TEST(WorkOf, ViewsWaitsAndSizesMoveNothing) {
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.view(%x, [24])"), "0, 0, 0");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = _c10d_functional.wait_tensor(%x)"), "0, 0, 0");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%s = aten.split.Tensor(%x, 2)\n  %y = getitem(%s, 1)"), "0, 0, 0");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.sym_size.int(%x, 0)"), "0, 0, 0");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.empty_like(%x)"), "0, 0, 0");
}

TEST(WorkOf, AReshapeMovesDataOnlyWhereItCopies) {
  EXPECT_EQ(work_in("%x: f32[4,6]", "%y = aten.reshape(%x, [24])"), "0, 0, 0");
  EXPECT_EQ(work_in("%x: f32[4,6]", "%t = aten.t(%x)\n  %y = aten.reshape(%t, [24])"), "0, 96, 96");
}

TEST(WorkOf, WhatIsRepeatedIsReadOnce) {
  EXPECT_EQ(work_in("%x: f32[6]", "%e = aten.expand(%x, [100, 6])\n  %y = aten.exp(%e)"), "0, 24, 2400");
}

TEST(WorkOf, AnInPlaceOperatorWritesItsArgument) {
  EXPECT_EQ(work_in("%x: f32[4,6], %z: f32[4,6]", "%y = aten.copy_(%x, %z)"), "0, 192, 96");
  EXPECT_EQ(work_in("%x: f32[4], %z: f32[6]", "%y = aten._foreach_mul_.Scalar([%x, %z], 2.0)"), "0, 40, 40");
}

TEST(WorkOf, AnOutArgumentIsWrittenNotRead) {
  EXPECT_EQ(
      work_in("%x: f32[4,6], %o: f32[16,6]", "%y = _c10d_functional.all_gather_into_tensor_out(%x, 4, @g, out=%o)"),
      "0, 96, 384");
}

TEST(WorkOf, MatmulsCountTwoForEachMultiplicationAndAddition) {
  EXPECT_EQ(work_in("%x: f32[4,6], %w: f32[6,5]", "%y = aten.mm(%x, %w)"), "240, 216, 80");
  EXPECT_EQ(work_in("%b: f32[5], %x: f32[4,6], %w: f32[6,5]", "%y = aten.addmm(%b, %x, %w)"), "240, 236, 80");
  EXPECT_EQ(work_in("%x: f32[3,4,6], %w: f32[3,6,5]", "%y = aten.bmm(%x, %w)"), "720, 648, 240");
}

TEST(WorkOf, SymbolicSizesCountAsNothing) {
  EXPECT_EQ(work_in("%x: f32[s0,6], %w: f32[6,5]", "%y = aten.mm(%x, %w)"), "0, 120, 0");
}

// ---- bytes of types

TEST(TensorBytes, AreElementsTimesTheirSize) {
  const std::vector<Dim> shape{4, 6};
  EXPECT_EQ(tensor_bytes({Dtype::bf16, shape, {}, Dim(0)}), Bytes(48));
  EXPECT_EQ(tensor_bytes({Dtype::c128, {}, {}, Dim(0)}), Bytes(16));
}

TEST(TensorBytes, OfHugeShapesSaturate) {
  const std::vector<Dim> shape(3, Dim(Dim::max));
  EXPECT_EQ(tensor_bytes({Dtype::f32, shape, {}, Dim(0)}), Bytes(std::numeric_limits<std::int64_t>::max()));
}

class ExtentBytes : public testing::Test {
 protected:
  std::string extent(Dtype dtype, const std::vector<std::string>& shape, const std::vector<std::string>& strides,
                     std::int64_t offset = 0) {
    std::vector<Dim> sizes;
    std::vector<Dim> steps;
    for (const std::string& text : shape) sizes.push_back(*symbols_.parse(text));
    for (const std::string& text : strides) steps.push_back(*symbols_.parse(text));
    const auto bytes = extent_bytes({dtype, sizes, steps, Dim(offset)}, symbols_);
    return bytes ? symbols_.to_string(*bytes) : "unknown";
  }
  SymbolTable symbols_;
};

TEST_F(ExtentBytes, ReachToTheLastElement) {
  EXPECT_EQ(extent(Dtype::f32, {"4", "6"}, {"6", "1"}), "96");
  EXPECT_EQ(extent(Dtype::f32, {"4", "6"}, {"12", "2"}, 3), "200");
  EXPECT_EQ(extent(Dtype::f32, {"4", "6"}, {"0", "1"}), "24");
  EXPECT_EQ(extent(Dtype::f32, {}, {}, 2), "12");
}

TEST_F(ExtentBytes, OfNothingAreNone) { EXPECT_EQ(extent(Dtype::f32, {"4", "0"}, {"1", "1"}, 7), "0"); }

TEST_F(ExtentBytes, MayBeSymbolic) {
  EXPECT_EQ(extent(Dtype::f32, {"s0", "8"}, {"8", "1"}), "s0*32");
  EXPECT_EQ(extent(Dtype::f32, {"s0", "8"}, {"1", "s0"}), "s0*32");
  EXPECT_EQ(extent(Dtype::f32, {"s0"}, {"2"}), "s0*8 - 4");
}

TEST_F(ExtentBytes, OfHugeTensorsAreUnknown) {
  EXPECT_EQ(extent(Dtype::f32, {"281474976710656", "281474976710656"}, {"281474976710656", "1"}), "unknown");
}

}  // namespace
}  // namespace hocket
