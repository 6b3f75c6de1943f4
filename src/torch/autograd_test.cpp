// Gradients of collectives against differences, over ranks that are threads.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "hocket/torch/collectives.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using Function = std::function<Tensors(const at::Tensor&)>;

constexpr int ranks = 3;
constexpr double step = 1e-5;
constexpr double tolerance = 1e-6;  // of central differences of bounded functions in f64

at::Tensor random_tensor(int rank, at::IntArrayRef sizes, int salt) {
  at::Generator generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank * 1000 + salt));
  return at::randn(sizes, generator, at::kDouble);
}

// A number that depends on every element of the results, and on the rank.
at::Tensor loss_of(const Tensors& results, int rank) {
  at::Tensor loss = at::zeros({}, at::kDouble);
  int salt = 100;
  for (const at::Tensor& result : results) {
    loss = loss + (result * random_tensor(rank, result.sizes(), salt++) + result.cos()).sum();
  }
  return loss;
}

// The gradient of the losses of all ranks together, with respect to what each rank gives.
void check_gradient(int rank, const Function& function, at::IntArrayRef sizes, const std::string& what) {
  const at::Tensor x = random_tensor(rank, sizes, 1).requires_grad_();
  const at::Tensor gradient = torch::autograd::grad({loss_of(function(x), rank)}, {x})[0];
  ASSERT_EQ(gradient.sizes(), x.sizes()) << what;
  const at::Tensor flat = gradient.reshape({-1});
  for (int changed = 0; changed < ranks; ++changed) {
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const auto total = [&](double change) {
        at::Tensor moved = x.detach().clone();
        if (rank == changed) moved.view({-1})[i] += change;
        // What is differentiated may itself use autograd.
        const at::Tensor loss = loss_of(function(moved.requires_grad_()), rank).detach();
        return all_reduce(loss, "sum").item<double>();
      };
      const double difference = (total(step) - total(-step)) / (2 * step);
      if (rank == changed) {
        EXPECT_NEAR(flat[i].item<double>(), difference, tolerance * std::max(1.0, std::abs(difference)))
            << what << ", element " << i << " of rank " << rank;
      }
    }
  }
}

// The gradient as a function of its own.
Function gradient_of(const Function& function) {
  return [function](const at::Tensor& x) -> Tensors {
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (const at::Tensor& result : function(x)) loss = loss + result.sin().sum();
    return torch::autograd::grad({loss}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true);
  };
}

void check(at::IntArrayRef sizes, const std::function<Tensors(const at::Tensor&, int)>& function) {
  on_ranks(ranks, [&](int rank) {
    const Function mine = [&](const at::Tensor& x) { return function(x, rank); };
    check_gradient(rank, mine, sizes, "first");
    check_gradient(rank, gradient_of(mine), sizes, "second");
  });
}

TEST(Gradients, of_all_reduce) {
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors { return {all_reduce(x, "sum")}; });
}

TEST(Gradients, of_all_reduce_of_a_part_of_the_ranks) {
  check({2}, [](const at::Tensor& x, int rank) -> Tensors {
    return {rank == 1 ? x * 2 : all_reduce(x * x, "sum", {0, 2}).wait()};
  });
}

TEST(Gradients, of_all_reduce_coalesced_of_which_one_result_is_not_used) {
  check({2, 3}, [](const at::Tensor& x, int) -> Tensors {
    return wait_tensors({all_reduce_coalesced({x, x.t() * 2, x.detach()}, "sum")[1]});
  });
}

TEST(Gradients, of_all_gather) {
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors { return {all_gather_into_tensor(x)}; });
  check({}, [](const at::Tensor& x, int) -> Tensors { return {all_gather_into_tensor(x)}; });
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors { return {all_gather_tensor(x, 1)}; });
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors {
    return wait_tensors(all_gather_into_tensor_coalesced({x, x[0] * 3}));
  });
}

TEST(Gradients, of_reduce_scatter) {
  check({3, 2}, [](const at::Tensor& x, int) -> Tensors { return {reduce_scatter_tensor(x, "sum")}; });
  check({2, 3}, [](const at::Tensor& x, int) -> Tensors { return {reduce_scatter_tensor(x, "sum", 1, "world")}; });
  check({3, 2}, [](const at::Tensor& x, int) -> Tensors {
    return wait_tensors(reduce_scatter_tensor_coalesced({x, x.view({6})}, "sum"));
  });
}

TEST(Gradients, of_all_to_all) {
  check({3, 2}, [](const at::Tensor& x, int) -> Tensors { return {all_to_all_single(x)}; });
  check({4}, [](const at::Tensor& x, int rank) -> Tensors {
    const std::vector<Splits> splits = {{1, 0, 3}, {2, 2, 0}, {0, 3, 1}};
    Splits output;
    for (const Splits& theirs : splits) output.push_back(theirs[static_cast<std::size_t>(rank)]);
    return {all_to_all_single(x, output, splits[static_cast<std::size_t>(rank)])};
  });
}

TEST(Gradients, of_what_moves_tensors_and_shards) {
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors { return {permute_tensor(x, {2, 0, 1})}; });
  check({2, 3}, [](const at::Tensor& x, int) -> Tensors { return {shard_dim_alltoall(x, 0, 1)}; });
}

TEST(Gradients, of_views_of_a_result_that_is_on_its_way) {
  check({2, 2}, [](const at::Tensor& x, int) -> Tensors {
    const AsyncTensor sum = all_reduce(x, "sum");
    return {sum.t().wait() * 2, sum.view({4}).narrow(0, 1, 2)};
  });
}

TEST(Gradients, stop_at_detach_and_where_autograd_is_off) {
  on_ranks(2, [](int) {
    const at::Tensor x = at::ones({2}, at::kDouble).requires_grad_();
    EXPECT_TRUE(all_reduce(x, "sum").requires_grad());
    EXPECT_FALSE(all_reduce(x, "sum").detach().requires_grad());
    EXPECT_FALSE(all_reduce(x.detach(), "sum").requires_grad());
    const at::NoGradGuard off;
    EXPECT_FALSE(all_reduce(x, "sum").requires_grad());
    at::Tensor y = x;
    all_reduce_(y, "sum").wait();
    EXPECT_EQ(y[0].item<double>(), 2);
  });
}

TEST(Gradients, that_do_not_exist_are_an_error_that_says_so) {
  on_ranks(2, [](int) {
    const at::Tensor x = at::ones({2, 2}, at::kDouble).requires_grad_();
    const auto backward_of = [&](const at::Tensor& result) { return thrown_by([&] { result.sum().backward(); }); };
    EXPECT_THAT(backward_of(all_reduce(x, "max")), HasSubstr("all_reduce: max has no backward, only sum has"));
    EXPECT_THAT(backward_of(reduce_scatter_tensor(x, "avg")), HasSubstr("avg has no backward, only sum has"));
    EXPECT_THAT(backward_of(all_reduce(x, premul_sum(2))), HasSubstr("premul_sum has no backward"));
    EXPECT_THAT(backward_of(broadcast(x, 0)), HasSubstr("broadcast: has no backward"));
    EXPECT_THAT(thrown_by([&] { all_reduce_(x, "sum"); }), HasSubstr("all_reduce_: has no backward"));
    EXPECT_THAT(thrown_by([&] {
                  all_gather_into_tensor_out(x, at::empty({4, 2}, at::kDouble));
                }),
                HasSubstr("has no backward"));
  });
}

TEST(Gradients, may_be_asked_for_twice_only_if_the_graph_was_kept) {
  on_ranks(2, [](int) {
    const at::Tensor x = at::ones({2}, at::kDouble).requires_grad_();
    const at::Tensor kept = all_reduce(x, "sum").wait().sum();
    kept.backward({}, /*retain_graph=*/true);
    kept.backward();
    EXPECT_EQ(x.grad()[0].item<double>(), 4);
    EXPECT_THAT(thrown_by([&] { kept.backward(); }), HasSubstr("backward"));
  });
}

}  // namespace
}  // namespace hocket
