// Operators with their true meaning, against numbers worked out by hand.
#include "support/interpreter_operators.h"

#include "hocket/ir/file.h"
#include "run_text.h"

namespace hocket::interpreter {

namespace {

// One call of %x and %y; %x has 1, 2, 3 … and %y 1001, 1002 …
Words called(std::string_view inputs, std::string_view call, std::size_t which = 0) {
  return computed(inputs, "%r = " + std::string(call) + "\nreturn %r", which);
}

constexpr std::string_view triples = "%x: f32[3], %y: f32[3]";

}  // namespace

TEST(Operators, arithmetic) {
  EXPECT_EQ(called(triples, "aten.add.Tensor(%x, %y)"), (Words{1002, 1004, 1006}));
  EXPECT_EQ(called(triples, "aten.add.Tensor(%x, %y, alpha=2)"), (Words{2003, 2006, 2009}));
  EXPECT_EQ(called(triples, "aten.sub.Tensor(%x, %y)"), (Words{minus(1000), minus(1000), minus(1000)}));
  EXPECT_EQ(called(triples, "aten.rsub.Scalar(%x, 10)"), (Words{9, 8, 7}));
  EXPECT_EQ(called(triples, "aten.mul.Tensor(%x, 3)"), (Words{3, 6, 9}));
  EXPECT_EQ(called(triples, "aten.mul.Tensor(%x, %y)"), (Words{1001, 2004, 3009}));
  EXPECT_EQ(called(triples, "aten.neg(%x)"), (Words{minus(1), minus(2), minus(3)}));
  EXPECT_EQ(called(triples, "aten.square(%x)"), (Words{1, 4, 9}));
  EXPECT_EQ(called(triples, "aten.maximum(%x, %y)"), (Words{1001, 1002, 1003}));
  EXPECT_EQ(called(triples, "aten.minimum(%x, %y)"), (Words{1, 2, 3}));
  EXPECT_EQ(called(triples, "aten.addcmul(%x, %y, %y, value=1)"), (Words{1002002, 1004006, 1006012}));
  EXPECT_EQ(called(triples, "aten.lerp.Scalar(%x, %y, 2)"), (Words{2001, 2002, 2003}));
  EXPECT_EQ(called(triples, "aten.where.self(%x, %y, %x)"), (Words{1001, 2, 1003}));
  EXPECT_EQ(called(triples, "aten.masked_fill.Scalar(%y, %x, 7)"), (Words{7, 1002, 7}));
}

TEST(Operators, division_undoes_multiplication) {
  EXPECT_EQ(computed("%x: f32[3]", "%m = aten.mul.Tensor(%x, 12)\n%r = aten.div.Tensor(%m, 4.0)\nreturn %r"),
            (Words{3, 6, 9}));
  EXPECT_EQ(computed("%x: f32[2], %y: f32[2]", "%d = aten.div.Tensor(%x, %y)\n%r = aten.mul.Tensor(%d, %y)\nreturn %r"),
            (Words{1, 2}));
}

// What the fusion of gradients relies on.
TEST(Operators, division_after_concatenation_is_division_before) {
  const std::string_view inputs = "%x: f32[2], %y: f32[2,2]";
  const Words before = computed(inputs, R"(
    %a = aten.div.Tensor(%x, 3.0)
    %b = aten.div.Tensor(%y, 3.0)
    %c = aten.view(%b, [4])
    %r = aten.cat([%a, %c])
    return %r)");
  const Words after = computed(inputs, R"(
    %c = aten.view(%y, [4])
    %a = aten.cat([%x, %c])
    %r = aten.div.Tensor(%a, 3.0)
    return %r)");
  EXPECT_EQ(before, after);
  EXPECT_EQ(before.size(), 6U);
}

TEST(Operators, operands_are_repeated_to_fit) {
  EXPECT_EQ(called("%x: f32[2,1], %y: f32[3]", "aten.add.Tensor(%x, %y)"), (Words{1002, 1003, 1004, 1003, 1004, 1005}));
  EXPECT_EQ(called("%x: f32[2,2], %y: f32[]", "aten.mul.Tensor(%x, %y)"), (Words{1001, 2002, 3003, 4004}));
}

TEST(Operators, sums) {
  EXPECT_EQ(called("%x: f32[2,3]", "aten.sum(%x)"), (Words{21}));
  EXPECT_EQ(called("%x: f32[2,3]", "aten.sum.dim_IntList(%x, [0])"), (Words{5, 7, 9}));
  EXPECT_EQ(called("%x: f32[2,3]", "aten.sum.dim_IntList(%x, [-1], true)"), (Words{6, 15}));
  EXPECT_EQ(called("%x: f32[2,2]", "aten.mean.dim(%x, [0])"), (Words{2, 3}));
  EXPECT_EQ(called("%x: f32[2,3]", "aten.sum.dim_IntList(%x, [])"), (Words{21}));
}

TEST(Operators, products_of_matrices) {
  EXPECT_EQ(called("%x: f32[2,2], %y: f32[2,1]", "aten.mm(%x, %y)"), (Words{3005, 7011}));
  EXPECT_EQ(called("%x: f32[2,1,2], %y: f32[2,2,1]", "aten.bmm(%x, %y)"), (Words{3005, 7025}));
  EXPECT_EQ(called("%x: f32[1,2], %y: f32[2,1], %z: f32[1]", "aten.addmm(%z, %x, %y, beta=2, alpha=3)"),
            (Words{2 * 2001 + 3 * 3005}));
  EXPECT_EQ(called("%x: f32[1,2], %y: f32[3,2]", "aten.linear(%x, %y)"), (Words{3005, 3011, 3017}));
  EXPECT_EQ(called("%x: f32[2,2], %y: f32[2]", "aten.mv(%x, %y)"), (Words{3005, 7011}));
  EXPECT_EQ(called("%x: f32[2], %y: f32[2]", "aten.dot(%x, %y)"), (Words{3005}));
}

TEST(Operators, concatenation_and_parts) {
  EXPECT_EQ(called("%x: f32[2,1], %y: f32[2,2]", "aten.cat([%x, %y], 1)"), (Words{1, 1001, 1002, 2, 1003, 1004}));
  EXPECT_EQ(called("%x: f32[2], %y: f32[2]", "aten.stack([%x, %y], 1)"), (Words{1, 1001, 2, 1002}));
  EXPECT_EQ(called("%x: f32[2,3]", "aten.slice_scatter(%x, %x, 0, 0, 2)"), (Words{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(called("%x: f32[2,2], %y: f32[2,1]", "aten.slice_scatter(%x, %y, 1, 1, 2)"), (Words{1, 1001, 3, 1002}));
  EXPECT_EQ(called("%x: f32[2,2], %y: f32[2]", "aten.select_scatter(%x, %y, 0, -1)"), (Words{1, 2, 1001, 1002}));
  EXPECT_EQ(called("%x: f32[2]", "aten.slice_backward(%x, [4], 0, 1, 4, 2)"), (Words{0, 1, 0, 2}));
  EXPECT_EQ(called("%x: f32[2]", "aten.select_backward(%x, [2,2], 1, 0)"), (Words{1, 0, 2, 0}));
  EXPECT_EQ(called("%x: f32[2]", "aten.constant_pad_nd(%x, [1, 2], 9)"), (Words{9, 1, 2, 9, 9}));
  EXPECT_EQ(called("%x: f32[1,3]", "aten.constant_pad_nd(%x, [-1, 0, 1, 0], 0)"), (Words{0, 0, 2, 3}));
}

TEST(Operators, fsdp_copies) {
  // padded to two rows, and a row of each after the other
  EXPECT_EQ(called("%x: f32[3], %y: f32[2]", "aten._chunk_cat([%x, %y], 0, 2)"), (Words{1, 2, 1001, 3, 0, 1002}));
  const std::string_view split = R"(
    %a = aten.empty.memory_format([2, 1]) : f32[2,1]
    %b = aten.empty.memory_format([2, 2]) : f32[2,2]
    %s = fsdp.split_with_sizes_copy(%x, [1, 2], 1, out=[%a, %b]) : ()
    return %a, %b)";
  EXPECT_EQ(computed("%x: f32[2,3]", split, 0), (Words{1, 4}));
  EXPECT_EQ(computed("%x: f32[2,3]", split, 1), (Words{2, 3, 5, 6}));
  EXPECT_EQ(computed("%x: f32[2], %y: f32[8]", R"(
    %c = fsdp.all_gather_copy_in([%x], %y, [2], 2, 3)
    %r = getitem(%c, 1)
    return %r)"),
            (Words{1001, 1002, 1003, 1004, 1005, 1006, 1, 2}));
}

// Index words are taken modulo the size: %y counts from 1001.
TEST(Operators, picking_by_index) {
  EXPECT_EQ(called("%x: f32[3,2], %y: i64[2]", "aten.embedding(%x, %y)"), (Words{5, 6, 1, 2}));
  EXPECT_EQ(called("%x: f32[2,3], %y: i64[1]", "aten.index_select(%x, 1, %y)"), (Words{3, 6}));
  EXPECT_EQ(called("%x: f32[2,3], %y: i64[2,1]", "aten.gather(%x, 1, %y)"), (Words{3, 4}));
}

TEST(Operators, tensors_of_numbers) {
  EXPECT_EQ(called("", "aten.full([2], -3)"), (Words{minus(3), minus(3)}));
  EXPECT_EQ(called("%x: f32[2]", "aten.ones_like(%x)"), (Words{1, 1}));
  EXPECT_EQ(called("%x: f32[2]", "aten.new_zeros(%x, [1])"), (Words{0}));
  EXPECT_EQ(called("", "aten.arange.start_step(5, 11, 2)"), (Words{5, 7, 9}));
}

TEST(Operators, casts_keep_words) {
  EXPECT_EQ(called("%x: f32[2]", "prims.convert_element_type(%x, bf16)"), (Words{1, 2}));
  EXPECT_EQ(called("%x: f32[2,2]", "aten.clone(%x)"), (Words{1, 2, 3, 4}));
}

TEST(Operators, lists_element_by_element) {
  const std::string_view body = R"(
    %l = aten._foreach_div.Scalar([%x, %y], 2.0)
    %a = getitem(%l, 0)
    %b = getitem(%l, 1)
    %c = aten.div.Tensor(%x, 2.0)
    %d = aten.div.Tensor(%y, 2.0)
    return %a, %b, %c, %d)";
  EXPECT_EQ(computed(triples, body, 0), computed(triples, body, 2));
  EXPECT_EQ(computed(triples, body, 1), computed(triples, body, 3));
  EXPECT_EQ(computed(triples, "%n = aten._foreach_add_.List([%x], [%y]) : ()\nreturn %x"), (Words{1002, 1004, 1006}));
}

TEST(Operators, forms_that_write_in_place_compute_the_same) {
  for (const auto& [in_place, functional] : {std::pair("relu_", "relu"), {"exp_", "exp"}}) {
    EXPECT_EQ(called(triples, "aten." + std::string(in_place) + "(%x)"),
              called(triples, "aten." + std::string(functional) + "(%x)"));
  }
  EXPECT_EQ(base_name("aten.add_.Tensor"), "add");
  EXPECT_EQ(base_name("_c10d_functional.all_reduce_.default"), "all_reduce");
  EXPECT_EQ(base_name("getitem"), "getitem");
}

// ---- operators without a meaning of their own

TEST(Operators, unknown_meaning_depends_on_everything) {
  const auto softmax = [](std::string_view call) { return called("%x: f32[2,3], %y: f32[2,3]", call); };
  const Words one = softmax("aten._softmax(%x, 1, false)");
  EXPECT_EQ(one, softmax("aten._softmax(%x, 1, false)"));
  EXPECT_NE(one, softmax("aten._softmax(%x, 0, false)"));
  EXPECT_NE(one, softmax("aten._softmax(%y, 1, false)"));
  EXPECT_NE(one, softmax("aten._log_softmax(%x, 1, false)"));
  const Words changed = computed("%x: f32[2,3]", R"(
    %o = aten.select.int(%x, 0, 0)
    %p = aten.select.int(%o, 0, 0)
    %q = aten.neg_(%p)
    %r = aten._softmax(%x, 1, false)
    return %r)");
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NE(one[i], changed[i]) << i;
}

TEST(Operators, pointwise_ones_depend_on_their_place_alone) {
  const Words one = called("%x: f32[3]", "aten.relu(%x)");
  const Words other = computed("%x: f32[3]", R"(
    %o = aten.select.int(%x, 0, 0)
    %q = aten.neg_(%o)
    %r = aten.relu(%x)
    return %r)");
  EXPECT_NE(one[0], other[0]);
  EXPECT_EQ(one[1], other[1]);
  EXPECT_EQ(one[2], other[2]);
  const Words sum = computed("%x: f32[3], %y: f32[2]", R"(
    %c = aten.cat([%x, %y])
    %r = aten.tanh(%c)
    return %r)");
  const Words first = called("%x: f32[3], %y: f32[2]", "aten.tanh(%x)");
  EXPECT_EQ(Words(sum.begin(), sum.begin() + 3), first);
}

TEST(Operators, random_numbers_follow_the_order_of_draws) {
  const std::string_view body = R"(
    %a = aten.rand([3])
    %b = aten.rand([3])
    return %a, %b)";
  EXPECT_NE(computed("", body, 0), computed("", body, 1));
  EXPECT_EQ(computed("", body, 0), computed("", body, 0));
}

// Calls of all operators that PyTorch captured, with its types for the results: each rule gives as many elements as it should.
TEST(Operators, captured_calls_of_all_operators_run) {
  const auto graph = read_graph(HOCKET_TEST_DATA "/op_facts.json.gz");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto result = run(*graph, {.strict = false});
  EXPECT_TRUE(result) << result.error().to_string();
}

}  // namespace hocket::interpreter
