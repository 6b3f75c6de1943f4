// Communication operators, written as program text. @g has four ranks.
#include <gtest/gtest.h>

#include "hocket/ir/op_table.h"
#include "support/typed_call.h"

namespace hocket {
namespace {

std::string c10d(std::string_view inputs, std::string_view call) {
  return type_of(inputs, fmt::format("_c10d_functional.{}", call));
}

TEST(AllReduce, HasTheShapeOfItsInputContiguous) {
  EXPECT_EQ(c10d("%x: f32[8,6]", R"(all_reduce(%x, "sum", @g))"), "f32[8,6]");
  EXPECT_EQ(c10d("%x: f32[8,6] strides[1,8]", R"(all_reduce(%x, "sum", @g))"), "f32[8,6]");
  EXPECT_EQ(c10d("%x: f32[]", R"(all_reduce(%x, "max", @g))"), "f32[]");
}

TEST(AllReduce, InPlaceGivesItsArgument) {
  EXPECT_EQ(c10d("%x: f32[8,6] strides[1,8]", R"(all_reduce_(%x, "sum", @g))"), "f32[8,6] strides[1,8]");
  EXPECT_EQ(c10d("%x: f32[8], %z: i64[2]", R"(all_reduce_coalesced_([%x, %z], "sum", @g))"), "(f32[8], i64[2])");
}

TEST(AllReduce, CoalescedHasOneResultForEachInput) {
  EXPECT_EQ(c10d("%x: f32[8], %z: bf16[2,3]", R"(all_reduce_coalesced([%x, %z], "sum", @g))"), "(f32[8], bf16[2,3])");
  EXPECT_EQ(c10d("%x: f32[8]", R"(all_reduce_coalesced([%x], "sum", @g))"), "(f32[8])");
}

TEST(AllReduce, ReduceOperationsAreCaseInsensitive) {
  for (const char* name : {"sum", "AVG", "Product", "min", "MAX", "premul_sum"}) {
    EXPECT_EQ(c10d("%x: f32[8]", fmt::format(R"(all_reduce(%x, "{}", @g))", name)), "f32[8]") << name;
  }
}

TEST(AllReduce, UnknownReduceOperationsAreAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(
      c10d("%x: f32[8]", R"(all_reduce(%x, "mean", @g))"),
      "argument 1 (reduce_op) is 'mean', expected one of sum, avg, product, min, max, band, bor, bxor, premul_sum");
}

TEST(AllReduce, BitwiseOperationsWorkOnIntegersOnly) {
  EXPECT_EQ(c10d("%x: i32[8]", R"(all_reduce(%x, "BOR", @g))"), "i32[8]");
  EXPECT_EQ(c10d("%x: bool[8]", R"(all_reduce(%x, "band", @g))"), "bool[8]");
  EXPECT_EQ(c10d("%x: f32[8]", R"(all_reduce(%x, "bxor", @g))"),
            "the bitwise reduce operation 'bxor' works on integers only, got f32");
}

TEST(AllReduce, Float8CannotBeReduced) {
  const std::string message = "f8e4m3 cannot be reduced: convert to f16, bf16 or f32 first, or gather instead";
  EXPECT_EQ(c10d("%x: f8e4m3[8]", R"(all_reduce(%x, "sum", @g))"), message);
  EXPECT_EQ(c10d("%x: f8e4m3[8]", R"(reduce_scatter_tensor(%x, "sum", 4, @g))"), message);
  EXPECT_EQ(c10d("%x: f8e4m3[8]", R"(all_gather_into_tensor(%x, 4, @g))"), "f8e4m3[32]");
}

TEST(AllGather, MultipliesDim0) {
  EXPECT_EQ(c10d("%x: bf16[3,5]", "all_gather_into_tensor(%x, 4, @g)"), "bf16[12,5]");
  EXPECT_EQ(c10d("%x: bf16[3,5] strides[1,3]", "all_gather_into_tensor(%x, 4, @g)"), "bf16[12,5]");
  EXPECT_EQ(c10d("%x: f32[s0,5]", "all_gather_into_tensor(%x, 4, @g)"), "f32[s0*4,5]");
}

TEST(AllGather, OfANumberHasOneElementForEachRank) {
  EXPECT_EQ(c10d("%x: f32[]", "all_gather_into_tensor(%x, 4, @g)"), "f32[4]");
}

TEST(AllGather, TheGroupSizeMustBeTheGroups) {
  EXPECT_EQ(c10d("%x: f32[3]", "all_gather_into_tensor(%x, 8, @g)"),
            "argument 1 (group_size) is 8, but the group has 4 ranks");
}

TEST(AllGather, IntoATensorGivesThatTensor) {
  EXPECT_EQ(c10d("%x: f32[3], %o: f32[12]", "all_gather_into_tensor_out(%x, 4, @g, out=%o)"), "f32[12]");
  EXPECT_EQ(c10d("%x: f32[3], %o: f32[12] offset 5", "all_gather_into_tensor_out(%x, 4, @g, out=%o)"),
            "f32[12] offset 5");
  EXPECT_EQ(c10d("%x: f32[3], %o: f32[9]", "all_gather_into_tensor_out(%x, 4, @g, out=%o)"),
            "argument out is f32[9], but the result is f32[12]");
  EXPECT_EQ(c10d("%x: f32[3]", "all_gather_into_tensor_out(%x, 4, @g)"), "argument out is missing, expected a tensor");
}

TEST(AllGather, CoalescedHasOneResultForEachInput) {
  EXPECT_EQ(c10d("%x: f32[3], %z: i8[]", "all_gather_into_tensor_coalesced([%x, %z], 4, @g)"), "(f32[12], i8[4])");
}

TEST(ReduceScatter, DividesDim0) {
  EXPECT_EQ(c10d("%x: f32[8,3]", R"(reduce_scatter_tensor(%x, "avg", 4, @g))"), "f32[2,3]");
  EXPECT_EQ(c10d("%x: f32[s0*8,3]", R"(reduce_scatter_tensor(%x, "avg", 4, @g))"), "f32[s0*2,3]");
  EXPECT_EQ(c10d("%x: f32[8,3], %o: f32[2,3]", R"(reduce_scatter_tensor_out(%x, "sum", 4, @g, out=%o))"), "f32[2,3]");
  EXPECT_EQ(c10d("%x: f32[8], %z: f32[4]", R"(reduce_scatter_tensor_coalesced([%x, %z], "sum", 4, @g))"),
            "(f32[2], f32[1])");
}

TEST(Along, AnyDimGrowsOrShrinksByTheGroup) {
  EXPECT_EQ(type_of("%x: f32[2,3]", "hocket.all_gather_along(%x, 1, 4, @g)"), "f32[2,12]");
  EXPECT_EQ(type_of("%x: f32[2,3]", "hocket.all_gather_along(%x, -2, 4, @g)"), "f32[8,3]");
  EXPECT_EQ(type_of("%x: f32[2,8]", R"(hocket.reduce_scatter_along(%x, "sum", 1, 4, @g))"), "f32[2,2]");
  EXPECT_EQ(type_of("%x: f32[2,6]", R"(hocket.reduce_scatter_along(%x, "sum", 1, 4, @g))"),
            "dim 1 of size 6 does not divide by the group's size 4");
}

TEST(Along, AnExchangeTakesFromOneDimAndGivesToAnother) {
  EXPECT_EQ(type_of("%x: f32[8,2,3]", "hocket.all_to_all_along(%x, 2, 0, @g)"), "f32[2,2,12]");
  EXPECT_EQ(type_of("%x: f32[2,4,3]", "hocket.all_to_all_along(%x, 0, -2, @g)"), "f32[8,1,3]");
  EXPECT_EQ(type_of("%x: f32[2,6,3]", "hocket.all_to_all_along(%x, 0, 1, @g)"),
            "dim 1 of size 6 does not divide by the group's size 4");
}

TEST(Along, ATailGoesBehindTheRowsOfAnExchange) {
  EXPECT_EQ(type_of("%x: f32[8,3], %t: f32[2,3]", "hocket.all_to_all_single(%x, [], [], @g, %t)"), "f32[10,3]");
  EXPECT_EQ(type_of("%x: f32[8,3], %t: f32[1,3]", "hocket.all_to_all_single(%x, [1,2,3,4], [2,2,2,2], @g, %t)"),
            "f32[11,3]");
  EXPECT_EQ(type_of("%x: f32[s0*4,3], %t: f32[1,3]", "hocket.all_to_all_single(%x, [], [], @g, %t)"),
            "f32[s0*4 + 1,3]");
  EXPECT_EQ(type_of("%x: f32[2,4,5,3], %t: f32[1,3]", "hocket.all_to_all_along(%x, 0, 1, @g, %t)"), "f32[41,3]");
  EXPECT_EQ(type_of("%x: f32[2,4,5,3], %t: f32[1,7]", "hocket.all_to_all_along(%x, 0, 1, @g, %t)"),
            "120 elements can't be cut into rows of 7 as argument 4 (tail) has them");
  EXPECT_EQ(type_of("%x: f32[8,3], %t: f16[1,3]", "hocket.all_to_all_single(%x, [], [], @g, %t)"),
            "argument 4 (tail) is f16[1, 3], expected rows of f32");
}

TEST(ReduceScatter, ADim0ThatDoesNotDivideIsAnErrorWithItsSizeAndTheGroups) {
  EXPECT_EQ(c10d("%x: f32[6,3]", R"(reduce_scatter_tensor(%x, "sum", 4, @g))"),
            "dim 0 of size 6 does not divide by the group's size 4");
  EXPECT_EQ(c10d("%x: f32[]", R"(reduce_scatter_tensor(%x, "sum", 4, @g))"),
            "a tensor without dims cannot be scattered over 4 ranks");
}

TEST(ReduceScatter, ASymbolicDim0ThatMayNotDivideCannotBeInferred) {
  EXPECT_EQ(c10d("%x: f32[s0,3]", R"(reduce_scatter_tensor(%x, "sum", 4, @g))"),
            "the result's type is not known: s0 / 4 has no known value");
}

TEST(AllToAll, Dim0IsTheSumOfTheOutputSplits) {
  EXPECT_EQ(c10d("%x: f32[8,3]", "all_to_all_single(%x, [1, 2, 3, 4], [2, 2, 2, 2], @g)"), "f32[10,3]");
}

TEST(AllToAll, WithoutSplitsPartsAreEqual) {
  EXPECT_EQ(c10d("%x: f32[8,3]", "all_to_all_single(%x, [], [], @g)"), "f32[8,3]");
  EXPECT_EQ(c10d("%x: f32[8,3]", "all_to_all_single(%x, none, none, @g)"), "f32[8,3]");
  EXPECT_EQ(c10d("%x: f32[6,3]", "all_to_all_single(%x, [], [], @g)"),
            "dim 0 of size 6 does not divide by the group's size 4; give split sizes");
}

TEST(AllToAll, WrongSplitsAreErrors) {
  EXPECT_EQ(c10d("%x: f32[8]", "all_to_all_single(%x, [2, 2, 2, 2], [], @g)"),
            "only output_split_sizes is given: give both split lists or neither");
  EXPECT_EQ(c10d("%x: f32[8]", "all_to_all_single(%x, [2, 2, 2], [2, 2, 2, 2], @g)"),
            "argument 1 (output_split_sizes) has 3 sizes, expected one for each of the group's 4 ranks");
  EXPECT_EQ(c10d("%x: f32[8]", "all_to_all_single(%x, [2, 2, 2, 2], [2, 2, 2, 3], @g)"),
            "argument 2 (input_split_sizes) adds up to 9, but dim 0 has size 8");
  EXPECT_EQ(c10d("%x: f32[8]", "all_to_all_single(%x, [2, 2, 2, -2], [2, 2, 2, 2], @g)"),
            "element 3 of argument 1 (output_split_sizes) is -2, expected a size of 0 or more");
}

TEST(AllToAll, SplitsOfRunTimeNeedADeclaredType) {
  const std::string_view body = R"(%n = aten.sym_size.int(%x, 0)
  %y = _c10d_functional.all_to_all_single(%x, [%n, 2, 2, 2], [2, 2, 2, 2], @g))";
  EXPECT_EQ(type_in("%x: f32[8]", body),
            "the result's type is not known: element 0 of argument 1 (output_split_sizes) is computed at run time");
  EXPECT_EQ(type_in("%x: f32[8]", std::string(body) + " : f32[11]"), "f32[11]");
}

TEST(AllToAll, KnownIntegersOfNodesAreTaken) {
  EXPECT_EQ(type_in("%x: f32[8]", R"(%n = aten.sym_size.int(%x, 0) : int = 8
  %y = _c10d_functional.all_to_all_single(%x, [%n, 0, 0, 1], [2, 2, 2, 2], @g))"),
            "f32[9]");
}

TEST(ShardDimAllToAll, GathersOneDimAndShardsTheOther) {
  EXPECT_EQ(type_of("%x: f32[2,8,5]", "_dtensor.shard_dim_alltoall(%x, 0, 1, @g)"), "f32[8,2,5]");
  EXPECT_EQ(type_of("%x: f32[2,8,6]", "_dtensor.shard_dim_alltoall(%x, 0, -1, @g)"),
            "dim 2 of size 6 does not divide by the group's size 4");
}

TEST(Broadcast, HasTheShapeOfItsInput) {
  EXPECT_EQ(c10d("%x: f32[3,2]", "broadcast(%x, 0, @g)"), "f32[3,2]");
  EXPECT_EQ(c10d("%x: f32[3,2] strides[1,3]", "broadcast_(%x, 0, @g)"), "f32[3,2] strides[1,3]");
}

TEST(PointToPoint, ASendResultsInNothingButSomethingToWaitFor) {
  EXPECT_EQ(c10d("%x: f32[3,2]", "isend(%x, 1, 0, @g)"), "f32[0]");
  EXPECT_EQ(c10d("%x: f32[3,2]", "irecv(%x, 1, 0, @g)"), "f32[3,2]");
}

TEST(PointToPoint, ABatchResultsInOneForEachOperation) {
  EXPECT_EQ(c10d("%x: f32[3], %z: i64[4]", R"(batch_p2p_ops(["isend", "irecv"], [1, 2], [0, 0], [%x, %z], @g))"),
            "(f32[0], i64[4])");
  EXPECT_EQ(c10d("%x: f32[3]", R"(batch_p2p_ops(["isend", "irecv"], [1], [0], [%x], @g))"),
            "2 operations, 1 peers, 1 tags and 1 tensors: the lists must be equally long");
  EXPECT_EQ(c10d("%x: f32[3]", R"(batch_p2p_ops(["send"], [1], [0], [%x], @g))"),
            "element 0 of argument 0 (op_list) is 'send', expected isend or irecv");
}

TEST(WaitTensor, GivesWhatItWaitsFor) {
  EXPECT_EQ(c10d("%x: f32[3,2] strides[1,3] offset 4", "wait_tensor(%x)"), "f32[3,2] strides[1,3] offset 4");
}

TEST(SymmetricMemory, KernelsGiveTheShapeOfWhatIsReduced) {
  EXPECT_EQ(type_of("%x: f32[3]", R"(symm_mem.one_shot_all_reduce(%x, "sum", @g))"), "f32[3]");
  EXPECT_EQ(type_of("%x: f32[3], %o: f32[3]", R"(symm_mem.one_shot_all_reduce_out(%x, "sum", @g, %o))"), "f32[3]");
  EXPECT_EQ(type_of("%x: f32[3]", R"(symm_mem.two_shot_all_reduce_(%x, "sum", @g))"), "f32[3]");
  EXPECT_EQ(type_of("%b: f32[9], %x: f32[3]", R"(symm_mem.one_shot_all_reduce_copy(%b, %x, "sum", @g))"), "f32[3]");
}

TEST(SymmetricMemory, KernelsBlock) {
  for (const OpSpec& row : OpTable::builtin().rows()) {
    const bool at_once = row.name.starts_with("symm_mem.") && !row.name.starts_with("symm_mem._low_contention");
    const bool synchronous = row.name == "_dtensor.shard_dim_alltoall.default";
    if (row.effects.comm) {
      EXPECT_EQ(row.effects.comm->blocking, at_once || synchronous) << row.name;
    }
  }
}

TEST(AutogradForms, HaveTheTypesOfThePlainOnes) {
  EXPECT_EQ(type_of("%x: f32[8]", R"(_c10d_functional_autograd.reduce_scatter_tensor(%x, "sum", 4, @g))"), "f32[2]");
  EXPECT_EQ(type_of("%x: f32[8]", "_c10d_functional_autograd.all_gather_into_tensor(%x, 4, @g)"), "f32[32]");
}

}  // namespace
}  // namespace hocket
