#include "comm/call.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace hocket {
namespace {

GroupCall a_call() {
  GroupCall call;
  call.op = Operator::all_reduce;
  call.dtype = Dtype::f32;
  call.count = 1024;
  call.number = 7;
  call.first = {nullptr, nullptr, 1024};
  return call;
}

TEST(GroupCall, says_what_it_is) {
  GroupCall call = a_call();
  EXPECT_EQ(call.to_string(), "all_reduce(f32[1024], sum) as call 7");
  call.algorithm = CollectiveAlgorithm::two_shot;
  call.reduce = ReduceOp::premul_sum;
  call.factor = 0.5;
  EXPECT_EQ(call.to_string(), "all_reduce(f32[1024], premul_sum by 0.5, two_shot) as call 7");
  call = a_call();
  call.many = {call.first, call.first, call.first};
  EXPECT_EQ(call.to_string(), "all_reduce(f32[1024] in 3 parts, sum) as call 7");
  call = a_call();
  call.op = Operator::broadcast;
  call.root = 3;
  EXPECT_EQ(call.to_string(), "broadcast(f32[1024], from 3) as call 7");
  call.op = Operator::send;
  call.tag = 5;
  EXPECT_EQ(call.to_string(), "send(f32[1024], to 3, tag 5) as call 7");
  call.op = Operator::receive;
  EXPECT_EQ(call.to_string(), "receive(f32[1024], from 3, tag 5) as call 7");
  call.op = Operator::allocate;
  EXPECT_EQ(call.to_string(), "allocate(1024 bytes) as call 7");
  call.op = Operator::barrier;
  EXPECT_EQ(call.to_string(), "barrier() as call 7");
}

TEST(GroupCall, says_who_made_it_where_it_is_known) {
  GroupCall call = a_call();
  call.site = CallSite::current();
  EXPECT_EQ(call.to_string(), fmt::format("all_reduce(f32[1024], sum) as call 7 at call_test.cpp:{}", call.site.line));
}

TEST(GroupCall, has_another_fingerprint_when_anything_differs_that_ranks_must_have_in_common) {
  const std::vector<std::function<void(GroupCall&)>> changes = {
      [](GroupCall&) {},
      [](GroupCall& call) { call.op = Operator::all_gather; },
      [](GroupCall& call) { call.op = Operator::reduce_scatter; },
      [](GroupCall& call) { call.op = Operator::barrier; },
      [](GroupCall& call) { call.dtype = Dtype::f64; },
      [](GroupCall& call) { call.dtype = Dtype::i32; },
      [](GroupCall& call) { call.reduce = ReduceOp::max; },
      [](GroupCall& call) { call.reduce = ReduceOp::premul_sum; },
      [](GroupCall& call) { call.reduce = ReduceOp::premul_sum, call.factor = 2; },
      [](GroupCall& call) { call.algorithm = CollectiveAlgorithm::one_shot; },
      [](GroupCall& call) { call.block = 4096; },
      [](GroupCall& call) { call.count = 1025; },
      [](GroupCall& call) { call.count = 0; },
      [](GroupCall& call) { call.number = 8; },
      [](GroupCall& call) { call.number = std::uint64_t{7} << 32; },
      [](GroupCall& call) { call.root = 1; },
      [](GroupCall& call) {
        call.many = {{nullptr, nullptr, 1000}, {nullptr, nullptr, 24}};
      },
      [](GroupCall& call) {
        call.many = {{nullptr, nullptr, 24}, {nullptr, nullptr, 1000}};
      },
  };
  std::set<std::uint64_t> fingerprints;
  for (const auto& change : changes) {
    GroupCall call = a_call();
    change(call);
    fingerprints.insert(call.fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), changes.size());
}

TEST(GroupCall, has_the_same_fingerprint_whatever_is_a_rank_s_own_matter) {
  GroupCall call = a_call();
  const std::uint64_t fingerprint = call.fingerprint();
  char data = 0;
  call.first = {&data, &data, 1024};
  call.timeout = std::chrono::milliseconds(5);
  call.site = CallSite::current();
  call.factor = 3;  // not of premul_sum
  EXPECT_EQ(call.fingerprint(), fingerprint);
  call.op = Operator::all_gather;
  const std::uint64_t gathered = call.fingerprint();
  call.reduce = ReduceOp::max;  // means nothing
  EXPECT_EQ(call.fingerprint(), gathered);
}

TEST(GroupCall, its_time_begins_when_it_is_first_asked_for) {
  GroupCall call = a_call();
  call.timeout = std::chrono::milliseconds(10'000);
  const Deadline before = std::chrono::steady_clock::now();
  const Deadline deadline = call.deadline();
  EXPECT_GE(deadline, before + call.timeout);
  EXPECT_LE(deadline, std::chrono::steady_clock::now() + call.timeout);
  EXPECT_EQ(call.deadline(), deadline);
}

}  // namespace
}  // namespace hocket
