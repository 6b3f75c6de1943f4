#include "hocket/cost/roofline.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

Machine machine() {
  Machine machine;
  machine.flops = {{Dtype::f32, 1e12}, {Dtype::bf16, 8e12}};
  machine.memory_bandwidth = 100e9;
  machine.launch_overhead = Nanoseconds::from_picoseconds(2'000'000);
  return machine;
}

TEST(Roofline, is_the_longer_of_arithmetic_and_traffic_plus_the_launch) {
  EXPECT_EQ(roofline(machine(), 1e9, Bytes(1000), Dtype::f32), Nanoseconds::from_ns(1'000'000 + 2'000));
  EXPECT_EQ(roofline(machine(), 1e3, Bytes(1'000'000), Dtype::f32), Nanoseconds::from_ns(10'000 + 2'000));
  EXPECT_EQ(roofline(machine(), 0, Bytes(0), Dtype::f32), Nanoseconds::from_ns(2'000));
}

TEST(Roofline, arithmetic_goes_at_the_rate_of_its_dtype) {
  EXPECT_EQ(roofline(machine(), 8e9, Bytes(0), Dtype::bf16), Nanoseconds::from_ns(1'000'000 + 2'000));
  EXPECT_EQ(roofline(machine(), 8e9, Bytes(0), Dtype::f32), Nanoseconds::from_ns(8'000'000 + 2'000));
}

TEST(Roofline, both_sides_meet_at_the_ridge) {
  // at 10 FLOP a byte arithmetic and traffic take equally long
  const Bytes moved(1 << 20);
  const double flops = 10.0 * (1 << 20);
  EXPECT_EQ(roofline(machine(), flops, moved, Dtype::f32), roofline(machine(), 0, moved, Dtype::f32));
  EXPECT_EQ(roofline(machine(), flops, Bytes(0), Dtype::f32), roofline(machine(), 0, moved, Dtype::f32));
  EXPECT_GT(roofline(machine(), flops * 1.01, moved, Dtype::f32), roofline(machine(), flops, moved, Dtype::f32));
}

TEST(IsGemm, comes_from_the_operator_table_or_the_capture) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[8,8]) {
  %m = aten.mm(%x, %x)
  %r = aten.relu(%m)
  %u = mylib.product(%r) : f32[8,8] {gemm}
  return %u
})",
                                 "g.hk");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_TRUE(is_gemm(*graph, *graph->find("m")));
  EXPECT_FALSE(is_gemm(*graph, *graph->find("r")));
  EXPECT_TRUE(is_gemm(*graph, *graph->find("u")));
  EXPECT_FALSE(is_gemm(*graph, *graph->find("x")));
}

}  // namespace
}  // namespace hocket
