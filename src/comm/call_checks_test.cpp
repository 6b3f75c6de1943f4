#include "comm/call_checks.h"

#include <gtest/gtest.h>

#include <limits>

namespace hocket {
namespace {

constexpr std::int32_t ranks = 4;
constexpr std::int32_t place = 2;

class CallChecks : public testing::Test {
 protected:
  GroupHandle group_ = GroupTable(ranks, place).resolve("world").value();
  std::vector<float> data_ = std::vector<float>(100);

  GroupCall call_of(Operator op, std::int64_t input, std::int64_t output, std::int64_t count) {
    GroupCall call;
    call.op = op;
    call.dtype = Dtype::f32;
    call.first = {data_.data() + input, data_.data() + output, count};
    return call;
  }
  // The message of the error of kind `usage`, or "fine".
  std::string check(GroupCall call) {
    const Status status = check_and_count(call, *group_);
    if (status) return "fine";
    EXPECT_EQ(status.error().kind, ErrorKind::usage);
    return status.error().message;
  }
};

TEST_F(CallChecks, count_the_elements_of_all_parts) {
  GroupCall call = call_of(Operator::all_reduce, 0, 0, 7);
  ASSERT_TRUE(check_and_count(call, *group_));
  EXPECT_EQ(call.count, 7);
  call.many = {{data_.data(), data_.data(), 5}, {nullptr, nullptr, 0}, {data_.data() + 5, data_.data() + 5, 4}};
  ASSERT_TRUE(check_and_count(call, *group_));
  EXPECT_EQ(call.count, 9);
}

TEST_F(CallChecks, refuse_what_can_not_be_reduced) {
  GroupCall call = call_of(Operator::all_reduce, 0, 0, 7);
  call.dtype = Dtype::boolean;
  call.reduce = ReduceOp::avg;
  EXPECT_EQ(check(call),
            "can't reduce bool by avg: use sum, max or bor (a logical or), product, min or band (a logical and) or "
            "bxor, or convert to an integer first");
  call.op = Operator::all_gather;  // reduces nothing
  call.first = {data_.data(), data_.data() + 50, 7};
  EXPECT_EQ(check(call), "fine");
}

TEST_F(CallChecks, refuse_places_that_the_group_does_not_have) {
  for (const std::int32_t root : {-1, 4}) {
    GroupCall call = call_of(Operator::broadcast, 0, 0, 1);
    call.root = root;
    EXPECT_EQ(check(call), fmt::format("broadcast from place {}, expected 0 to 3 in world", root));
    call.op = Operator::send;
    EXPECT_EQ(check(call), fmt::format("send to place {}, expected 0 to 3 in world", root));
    call.op = Operator::receive;
    EXPECT_EQ(check(call), fmt::format("receive from place {}, expected 0 to 3 in world", root));
  }
}

TEST_F(CallChecks, refuse_sizes_that_can_not_be) {
  EXPECT_EQ(check(call_of(Operator::all_reduce, 0, 0, -1)), "all_reduce of -1 elements, expected 0 or more");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(check(call_of(Operator::all_gather, 0, 0, most)),
            "all_gather of 9223372036854775807 elements, expected 0 or more");
  GroupCall call = call_of(Operator::reduce_scatter, 0, 0, 1);
  call.many = {{nullptr, nullptr, 0}, {data_.data(), data_.data() + 50, -3}};
  EXPECT_EQ(check(call), "reduce_scatter of -3 elements, expected 0 or more");
}

TEST_F(CallChecks, refuse_null_where_there_are_elements) {
  GroupCall call = call_of(Operator::all_gather, 0, 50, 3);
  call.first.input = nullptr;
  EXPECT_EQ(check(call), "the input of all_gather(f32[3]) as call 0 is null, expected 3 elements");
  call = call_of(Operator::all_gather, 0, 50, 3);
  call.first.output = nullptr;
  EXPECT_EQ(check(call), "the output of all_gather(f32[3]) as call 0 is null, expected 12 elements");
  call = call_of(Operator::send, 0, 0, 3);
  call.first.output = nullptr;
  EXPECT_EQ(check(call), "fine");
  call.op = Operator::receive;
  EXPECT_EQ(check(call), "the output of receive(f32[3], from 0, tag 0) as call 0 is null, expected 3 elements");
  call = call_of(Operator::barrier, 0, 0, 0);
  call.first = {};
  EXPECT_EQ(check(call), "fine");
}

TEST_F(CallChecks, want_the_input_of_a_broadcast_only_from_its_source) {
  GroupCall call = call_of(Operator::broadcast, 0, 0, 3);
  call.first.input = nullptr;
  call.root = 1;
  EXPECT_EQ(check(call), "fine");
  call.root = place;
  EXPECT_EQ(check(call), "the input of broadcast(f32[3], from 2) as call 0 is null, expected 3 elements");
}

TEST_F(CallChecks, refuse_an_output_that_overlaps_its_input) {
  EXPECT_EQ(check(call_of(Operator::all_reduce, 0, 0, 10)), "fine");
  EXPECT_EQ(check(call_of(Operator::all_reduce, 0, 10, 10)), "fine");
  const std::string overlaps = " as call 0 overlaps its input: let it be the same place or another";
  EXPECT_EQ(check(call_of(Operator::all_reduce, 0, 9, 10)), "the output of all_reduce(f32[10], sum)" + overlaps);
  EXPECT_EQ(check(call_of(Operator::all_reduce, 9, 0, 10)), "the output of all_reduce(f32[10], sum)" + overlaps);
  EXPECT_EQ(check(call_of(Operator::all_reduce, 9, 0, 0)), "fine");
}

TEST_F(CallChecks, know_a_rank_s_own_part_of_a_larger_buffer) {
  // Place 2 of 4, 5 elements each: its own part begins at 10.
  EXPECT_EQ(check(call_of(Operator::all_gather, 10, 0, 5)), "fine");
  EXPECT_EQ(check(call_of(Operator::all_gather, 20, 0, 5)), "fine");
  EXPECT_EQ(check(call_of(Operator::all_gather, 5, 0, 5)),
            "the output of all_gather(f32[5]) as call 0 overlaps its input: let it be the same place or another");
  EXPECT_EQ(check(call_of(Operator::reduce_scatter, 0, 10, 5)), "fine");
  EXPECT_EQ(check(call_of(Operator::reduce_scatter, 0, 0, 5)),
            "the output of reduce_scatter(f32[5], sum) as call 0 overlaps its input: let it be the same place or "
            "another");
  EXPECT_EQ(check(call_of(Operator::all_to_all, 0, 0, 5)), "fine");
  EXPECT_EQ(check(call_of(Operator::all_to_all, 0, 5, 5)),
            "the output of all_to_all(f32[5]) as call 0 overlaps its input: let it be the same place or another");
}

TEST_F(CallChecks, want_a_split_for_each_rank) {
  GroupCall call = call_of(Operator::all_to_all, 0, 50, 0);
  call.has_splits = true;
  EXPECT_EQ(check(call), "all_to_all got 0 input splits, expected one for each of the 4 ranks of world");
  call.input_splits = {1, 2, 3};
  call.output_splits = {1, 2, 3, 4};
  EXPECT_EQ(check(call), "all_to_all got 3 input splits, expected one for each of the 4 ranks of world");
  call.input_splits = {1, 2, 3, 4};
  call.output_splits = {};
  EXPECT_EQ(check(call), "all_to_all got 0 output splits, expected one for each of the 4 ranks of world");
  call.output_splits = {1, 2, 3, -4};
  EXPECT_EQ(check(call), "all_to_all got -4 as output split");
  call.output_splits = {1, 2, 4, 4};
  EXPECT_EQ(check(call), "all_to_all: this rank sends 3 elements to itself but expects 4");
  call.output_splits = {5, 0, 3, 4};
  EXPECT_EQ(check(call), "fine");
  call.first.output = data_.data() + 9;
  EXPECT_EQ(check(call),
            "the output of all_to_all(f32[0]) as call 0 overlaps its input: let it be the same place or "
            "another");
  call.first.output = data_.data();  // the same place, but the parts lie elsewhere
  EXPECT_NE(check(call), "fine");
  call.output_splits = call.input_splits;
  EXPECT_EQ(check(call), "fine");
}

}  // namespace
}  // namespace hocket
