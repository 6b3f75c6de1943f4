#include "hocket/torch/tensor_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t in = 6, hidden = 12, out = 4;

at::Tensor numbers(at::IntArrayRef sizes, double start) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return ((at::arange(count, at::kDouble) + start).sin() * 0.3).view(sizes).to(at::kFloat);
}

// Two layers cut over the ranks, beside the same two layers whole on every rank.
struct Both {
  ColumnParallelLinear widen{nullptr};
  RowParallelLinear narrow{nullptr};
  at::Tensor first, first_bias, second, second_bias;

  Both()
      : widen(in, hidden),
        narrow(hidden, out),
        first(all_gather_tensor(widen->weight.detach(), 0).wait().set_requires_grad(true)),
        first_bias(all_gather_tensor(widen->bias.detach(), 0).wait().set_requires_grad(true)),
        second(all_gather_tensor(narrow->weight.detach(), 1).wait().set_requires_grad(true)),
        second_bias(narrow->bias.detach().clone().set_requires_grad(true)) {}

  at::Tensor cut(const at::Tensor& x) { return narrow(at::gelu(widen(x))); }
  at::Tensor whole(const at::Tensor& x) const {
    return at::linear(at::gelu(at::linear(x, first, first_bias)), second, second_bias);
  }
};

void expect_close(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  EXPECT_TRUE(at::allclose(actual, expected, 1e-5, 1e-6)) << what;
}

TEST(TensorParallel, two_linear_layers_compute_and_learn_as_whole_ones) {
  for (const int ranks : {1, 2, 3}) {
    on_ranks(ranks, [&](int rank) {
      Both both;
      const at::Tensor x = numbers({5, in}, 1).set_requires_grad(true);
      const at::Tensor other_x = x.detach().clone().set_requires_grad(true);
      const at::Tensor y = both.cut(x);
      const at::Tensor expected = both.whole(other_x);
      expect_close(y, expected, "result");
      y.square().sum().backward();
      expected.square().sum().backward();
      expect_close(x.grad(), other_x.grad(), "gradient of the input");
      expect_close(both.widen->weight.grad(), both.first.grad().chunk(ranks, 0)[static_cast<std::size_t>(rank)],
                   "first");
      expect_close(both.widen->bias.grad(), both.first_bias.grad().chunk(ranks, 0)[static_cast<std::size_t>(rank)],
                   "bias");
      expect_close(both.narrow->weight.grad(), both.second.grad().chunk(ranks, 1)[static_cast<std::size_t>(rank)],
                   "second");
      expect_close(both.narrow->bias.grad(), both.second_bias.grad(), "second bias");
    });
  }
}

TEST(TensorParallel, parts_are_gathered_and_each_rank_gets_its_part_of_the_gradient) {
  on_ranks(2, [](int rank) {
    const at::Tensor part = numbers({3, 2}, rank * 10).set_requires_grad(true);
    const at::Tensor whole = gather_tensor_parallel(part, "world");
    expect_close(whole.detach(), at::cat({numbers({3, 2}, 0), numbers({3, 2}, 10)}, 1), "gathered");
    const at::Tensor weights = numbers({3, 4}, 5);
    (whole * weights).sum().backward();
    expect_close(part.grad(), weights.narrow(1, rank * 2, 2), "gradient");
  });
}

TEST(TensorParallel, sizes_that_do_not_divide_are_named) {
  on_ranks(2, [](int) {
    try {
      const ColumnParallelLinear layer(4, 5);
      ADD_FAILURE() << "no error";
    } catch (const c10::Error& error) {
      EXPECT_THAT(error.what_without_backtrace(), HasSubstr("5 outputs can't be cut into 2 equal parts"));
    }
  });
}

TEST(TensorParallel, a_compiled_step_learns_the_same) {
  on_ranks(2, [](int) {
    Both eager, compiled;
    const auto copy = [](const auto& from, const auto& to) {
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < from->parameters().size(); ++i) to->parameters()[i].copy_(from->parameters()[i]);
    };
    copy(eager.widen, compiled.widen);
    copy(eager.narrow, compiled.narrow);
    const auto train = [](Both& both, const at::Tensor& x) {
      std::vector<at::Tensor> parameters = both.widen->parameters();
      for (const at::Tensor& parameter : both.narrow->parameters()) parameters.push_back(parameter);
      const at::Tensor loss = both.cut(x).square().mean();
      const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters);
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].sub_(gradients[i], 0.1);
      return loss.detach();
    };
    auto step = compile(
        [&](const std::vector<at::Tensor>& batch) { return std::vector<at::Tensor>{train(compiled, batch[0])}; },
        {numbers({5, in}, 0)});
    ASSERT_TRUE(step) << step.error().to_string();
    for (int number = 0; number < 3; ++number) {
      const at::Tensor x = numbers({5, in}, number);
      EXPECT_TRUE(at::equal((*step)({x})[0], train(eager, x))) << number;
    }
    EXPECT_TRUE(at::equal(compiled.widen->weight, eager.widen->weight));
    EXPECT_TRUE(at::equal(compiled.narrow->weight, eager.narrow->weight));
  });
}

}  // namespace
}  // namespace hocket
