#include "hocket/torch/symmetric_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

at::Tensor filled(const at::Tensor& tensor, int rank) {
  const at::Tensor values = (at::arange(tensor.numel()) % 11 + rank).to(tensor.scalar_type());
  return tensor.copy_(values.view(tensor.sizes()));
}

at::Tensor sum_of(int ranks, at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor sum = at::zeros(sizes, dtype);
  for (int rank = 0; rank < ranks; ++rank) sum += filled(at::empty(sizes, dtype), rank);
  return sum;
}

// What this rank's last call of the group came to, as its flight record tells.
std::string last_algorithm() {
  const World world = World::current().value();
  const auto report = nlohmann::json::parse(world.communicator().value().flight_report().value());
  for (const auto& place : report["places"]) {
    if (place["rank"] == world.rank()) return place["calls"].back()["used"];
  }
  return "no record";
}

TEST(SymmetricTensors, are_tensors_on_the_groups_memory) {
  on_ranks(2, [](int rank) {
    const at::Tensor tensor = symmetric_empty({3, 5}, at::kFloat);
    EXPECT_TRUE(is_symmetric(tensor));
    EXPECT_TRUE(is_symmetric(tensor.view({15}).narrow(0, 2, 3)));
    EXPECT_FALSE(is_symmetric(at::empty({3})));
    EXPECT_EQ(tensor.sizes(), at::IntArrayRef({3, 5}));
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_TRUE(filled(tensor, rank).equal(filled(at::empty({3, 5}), rank)));
    EXPECT_EQ(symmetric_empty({0, 4}, at::kLong).numel(), 0);
    EXPECT_FALSE(is_symmetric(symmetric_empty({2}, at::TensorOptions(at::kFloat).device(at::kMeta))));
  });
}

TEST(SymmetricTensors, go_back_to_the_group_with_the_last_view) {
  on_ranks(2, [](int) {
    const void* place = nullptr;
    for (int round = 0; round < 3; ++round) {
      at::Tensor tensor = symmetric_empty({1000}, at::kFloat);
      if (round > 0) {
        EXPECT_EQ(tensor.data_ptr(), place);
      }
      place = tensor.data_ptr();
      const at::Tensor view = tensor.narrow(0, 1, 2);
      tensor.reset();
      EXPECT_NE(symmetric_empty({1000}, at::kFloat).data_ptr(), place) << "a view is left";
    }
  });
}

TEST(SymmetricTensors, are_kept_by_a_collective_whose_tensors_were_dropped) {
  on_ranks(2, [](int rank) {
    for (int round = 0; round < 20; ++round) {
      all_reduce_(filled(symmetric_empty({5000}, at::kFloat), rank), "sum");
      const at::Tensor other = symmetric_empty({100}, at::kFloat);
    }
  });
}

TEST(SymmetricTensors, are_recognised_by_collectives_which_then_copy_nothing_in) {
  on_ranks(2, [](int rank) {
    const at::Tensor tensor = filled(symmetric_empty({4, 1000}, at::kFloat), rank);
    all_reduce_(tensor, "sum").wait();
    EXPECT_EQ(last_algorithm(), "symmetric");
    EXPECT_TRUE(tensor.equal(sum_of(2, {4, 1000}, at::kFloat)));
    const at::Tensor gathered = symmetric_empty({8, 1000}, at::kFloat);
    const at::Tensor mine = filled(at::empty({4, 1000}), rank);
    all_gather_into_tensor_out(mine, gathered).wait();
    EXPECT_EQ(last_algorithm(), "symmetric");
    EXPECT_TRUE(gathered.equal(at::cat({filled(at::empty({4, 1000}), 0), filled(at::empty({4, 1000}), 1)})));
  });
}

TEST(SymmetricTensors, are_reduced_by_the_algorithm_that_is_called) {
  on_ranks(3, [](int rank) {
    const at::Tensor expected = sum_of(3, {2, 7}, at::kDouble);
    const at::Tensor tensor = symmetric_empty({2, 7}, at::kDouble);
    const at::Tensor plain = filled(at::empty({2, 7}, at::kDouble), rank);
    EXPECT_TRUE(one_shot_all_reduce(filled(tensor, rank), "sum").equal(expected));
    EXPECT_EQ(last_algorithm(), "one_shot");
    EXPECT_TRUE(two_shot_all_reduce_(filled(tensor, rank), "sum").equal(expected));
    EXPECT_TRUE(tensor.equal(expected));
    EXPECT_EQ(last_algorithm(), "symmetric");
    EXPECT_TRUE(two_shot_all_reduce_(plain.clone(), "sum").equal(expected)) << "also elsewhere, with a copy";
    EXPECT_EQ(last_algorithm(), "two_shot");

    const at::Tensor out = at::empty({2, 7}, at::kDouble);
    EXPECT_TRUE(one_shot_all_reduce_out(filled(tensor, rank), "sum", out).is_same(out));
    EXPECT_TRUE(out.equal(expected));
    EXPECT_TRUE(
        two_shot_all_reduce_out(filled(tensor, rank), "sum", symmetric_empty({2, 7}, at::kDouble)).equal(expected));
    const at::Tensor buffer = symmetric_empty({20}, at::kDouble);
    EXPECT_TRUE(one_shot_all_reduce_copy(buffer, plain, "sum").equal(expected));
    EXPECT_TRUE(buffer.narrow(0, 0, 14).equal(plain.view({14})));
    EXPECT_TRUE(one_shot_all_reduce_copy_out(buffer, plain, "sum", out).equal(expected));
    EXPECT_THAT(thrown_by([&] { one_shot_all_reduce_copy(at::empty({3}, at::kDouble), plain, "sum"); }),
                HasSubstr("have room for 14 elements of Double, got 3 of Double"));
    EXPECT_THAT(thrown_by([&] { one_shot_all_reduce(at::ones({2}).requires_grad_(), "sum"); }),
                HasSubstr("has no backward"));
  });
}

}  // namespace
}  // namespace hocket
