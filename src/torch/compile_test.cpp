#include "hocket/torch/compile.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <csignal>
#include <mutex>
#include <optional>

#include "hocket/torch/collectives.h"
#include "hocket/torch/point_to_point.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

// Two layers, trained by stochastic gradient descent; ranks average their gradients.
struct TwoLayers {
  explicit TwoLayers(std::int64_t seed) {
    const at::Tensor numbers = at::arange(seed, seed + 6 * 16 + 16 * 3, at::kFloat).sin() * 0.3;
    first = numbers.slice(0, 0, 6 * 16).view({6, 16}).clone().set_requires_grad(true);
    second = numbers.slice(0, 6 * 16).view({16, 3}).clone().set_requires_grad(true);
  }
  std::vector<NamedTensor> named() const { return {{"first", first}, {"second", second}}; }

  Tensors train(const Tensors& batch) const {
    const at::Tensor hidden = at::gelu(at::mm(batch[0], first));
    const at::Tensor loss = at::mse_loss(at::mm(hidden, second), batch[1]);
    const Tensors gradients = torch::autograd::grad({loss}, {first, second});
    const at::AutoGradMode no_grad(false);
    const at::Tensor sum_first = all_reduce(gradients[0] / 2, "sum");
    const at::Tensor sum_second = all_reduce(gradients[1] / 2, "sum");
    first.sub_(sum_first, 0.1);
    second.sub_(sum_second, 0.1);
    return {loss};
  }

  at::Tensor first, second;
};

Tensors batch_of(int rank, int number, std::int64_t rows) {
  const at::Tensor x = (at::arange(rows * 6, at::kFloat) + (rank * 100 + number * 7)).cos().view({rows, 6});
  return {x, x.slice(1, 0, 3).square()};
}

TEST(CompiledStep, trains_like_the_function_bit_for_bit) {
  on_ranks(2, [](int rank) {
    const TwoLayers eager(1), compiled(1);
    auto step = compile([&](const Tensors& batch) { return compiled.train(batch); }, batch_of(rank, 0, 8),
                        {.parameters = compiled.named()});
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_TRUE(at::equal(compiled.first, eager.first)) << "compiling has trained";
    for (int number = 0; number < 5; ++number) {
      const at::Tensor expected = eager.train(batch_of(rank, number, 8))[0];
      const Tensors results = (*step)(batch_of(rank, number, 8));
      ASSERT_EQ(results.size(), 1U);
      EXPECT_TRUE(at::equal(results[0], expected)) << "loss of step " << number;
    }
    EXPECT_TRUE(at::equal(compiled.first, eager.first));
    EXPECT_TRUE(at::equal(compiled.second, eager.second));
    EXPECT_EQ(step->compilations(), 1U);
    EXPECT_GT(step->executor().planned().count, 0);
  });
}

TEST(CompiledStep, decides_by_what_it_took_and_leaves_no_trace_of_it) {
  on_ranks(2, [](int rank) {
    const TwoLayers eager(1), compiled(1);
    const Tensors batch = batch_of(rank, 0, 8);
    auto step = compile([&](const Tensors& in) { return compiled.train(in); }, batch,
                        {.parameters = compiled.named(), .measured_runs = 2});
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_TRUE(at::equal(compiled.first, eager.first)) << "measuring has trained";
    EXPECT_TRUE(at::equal(compiled.second, eager.second)) << "measuring has trained";
    EXPECT_TRUE(at::equal(batch[0], batch_of(rank, 0, 8)[0]));
    EXPECT_TRUE(at::equal((*step)(batch)[0], eager.train(batch)[0]));
    EXPECT_TRUE(at::equal(compiled.first, eager.first));
    EXPECT_EQ(step->compilations(), 1U);
  });
}

TEST(CompiledStep, takes_inputs_that_are_on_their_way) {
  on_ranks(2, [](int rank) {
    const auto program = [](const Tensors& in) { return Tensors{in[0] * 2 + 1, (in[1] - in[0]).relu()}; };
    const at::Tensor x = at::full({1000}, rank + 1.0), y = at::full({1000}, 7.0 + rank);
    auto step = compile(program, {x, y});
    ASSERT_TRUE(step) << step.error().to_string();
    for (const bool allowed : {false, true}) {
      std::optional<AllowInflightInputs> scope;
      if (allowed) scope.emplace();
      for (int i = 0; i < 50; ++i) {
        const auto results = step->run_in_flight({all_reduce(x, "sum"), all_reduce(y, "max")});
        ASSERT_TRUE(results) << results.error().to_string();
        EXPECT_TRUE(at::equal(results->at(0), at::full({1000}, 7.0)));
        EXPECT_TRUE(at::equal(results->at(1), at::full({1000}, 5.0)));
      }
      // One that is not used is waited for all the same, and shapes may be new.
      const auto other = step->run_in_flight({all_reduce(x.slice(0, 0, 10), "sum"), AsyncTensor(y.slice(0, 0, 10))});
      ASSERT_TRUE(other) << other.error().to_string();
      EXPECT_EQ(other->at(0).size(0), 10);
    }
    EXPECT_EQ(step->compilations(), 2U);
  });
}

TEST(CompiledStep, sends_and_receives_messages) {
  on_ranks(2, [](int rank) {
    using Direction = PeerTransfer::Direction;
    const auto swap_twice = [&](const Tensors& in) {
      const at::Tensor mine = in[0] * 2;
      const AsyncTensor sent = isend(mine, 1 - rank, "world", 5);
      const at::Tensor theirs = irecv(at::empty_like(mine), 1 - rank, "world", 5);
      sent.wait();
      const AsyncTensors batch = batch_p2p_ops(
          {{Direction::send, theirs, 1 - rank, 1}, {Direction::receive, at::empty_like(theirs), 1 - rank, 1}});
      return Tensors{theirs + 1, batch[1].wait() * 3};
    };
    auto step = compile(swap_twice, {at::ones({1000})});
    ASSERT_TRUE(step) << step.error().to_string();
    for (int i = 0; i < 20; ++i) {
      const auto results = step->run({at::full({1000}, 10.0 * i + rank)});
      ASSERT_TRUE(results) << results.error().to_string();
      EXPECT_TRUE(at::equal(results->at(0), at::full({1000}, 2 * (10.0 * i + 1 - rank) + 1))) << i;
      EXPECT_TRUE(at::equal(results->at(1), at::full({1000}, 6 * (10.0 * i + rank)))) << i;
    }
  });
}

TEST(CompiledStep, shards_along_another_dim) {
  on_ranks(2, [](int rank) {
    const auto function = [](const Tensors& in) { return Tensors{shard_dim_alltoall(in[0] * 2, 0, 1) + 1}; };
    const at::Tensor x = (at::arange(24, at::kFloat) + 100 * rank).view({2, 4, 3});
    auto step = compile(function, {x});
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_TRUE(at::equal((*step)({x})[0], function({x})[0]));
    EXPECT_EQ((*step)({x})[0].sizes(), at::IntArrayRef({4, 2, 3}));
  });
}

TEST(CompiledStep, names_the_rank_that_died_in_it_and_the_process_goes_on) {
  const auto outcomes = on_processes(3, [](World& world) -> std::string {
    int runs = 0;
    const at::Tensor x = at::ones({100'000});
    auto step = compile([&](const Tensors& in) { return Tensors{all_reduce(in[0] * 2, "sum") + 1.0}; }, {x});
    if (!step) return step.error().to_string();
    for (; runs < 1000; ++runs) {
      if (world.rank() == 1 && runs == 20) raise(SIGKILL);
      const auto result = step->run({x});
      if (result) continue;
      return result.error().to_string();
    }
    return "no error";
  });
  for (const std::size_t survivor : {0U, 2U}) {
    EXPECT_THAT(outcomes[survivor].said, HasSubstr("rank 1"));
    EXPECT_THAT(outcomes[survivor].said, HasSubstr("signal 9"));
  }
}

TEST(CompiledStep, is_compiled_again_for_other_shapes_and_says_why) {
  on_ranks(2, [](int rank) {
    const TwoLayers eager(1), compiled(1);
    auto step = compile([&](const Tensors& batch) { return compiled.train(batch); }, batch_of(rank, 0, 8),
                        {.parameters = compiled.named()});
    ASSERT_TRUE(step) << step.error().to_string();
    for (const std::int64_t rows : {8, 5, 8, 5}) {
      const at::Tensor expected = eager.train(batch_of(rank, 3, rows))[0];
      EXPECT_TRUE(at::equal((*step)(batch_of(rank, 3, rows))[0], expected)) << rows << " rows";
    }
    EXPECT_EQ(step->compilations(), 2U);
    EXPECT_EQ(step->why_compiled(), "input 0 is f32[5,6], compiled were f32[8,6]");
  });
}

}  // namespace
}  // namespace hocket
