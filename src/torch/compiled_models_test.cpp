// Models and random programs, compiled and run by two ranks: the same bits as without a compiler, step after step.
#include <gtest/gtest.h>

#include "hocket/torch/compile.h"
#include "support/random_torch_program.h"
#include "support/torch_models.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

constexpr int ranks = 2;

template <class Model>
Trained<Model> make_trained(Optimizer kind) {
  torch::manual_seed(7);  // the generator is that of all threads
  return Trained<Model>(std::make_shared<Model>(), kind);
}

template <class Model>
Tensors batch_of(int rank, int number) {
  torch::manual_seed(static_cast<std::uint64_t>(100 + rank * 10 + number));
  return Model::example();
}

std::mutex one_at_a_time;  // where the generator is used

// An optimizer makes its state in its first step: that one runs as it is on both.
template <class Model>
void check_compiled(Optimizer kind, int first_steps = 0) {
  on_ranks(ranks, [&](int rank) {
    std::unique_lock lock(one_at_a_time);
    Trained<Model> eager = make_trained<Model>(kind);
    Trained<Model> compiled = make_trained<Model>(kind);
    std::vector<Tensors> batches;
    for (int number = 0; number < 4; ++number) batches.push_back(batch_of<Model>(rank, number));
    lock.unlock();
    for (int i = 0; i < first_steps; ++i) {
      eager.step(batches[0], ranks);
      compiled.step(batches[0], ranks);
    }
    auto step = compile([&](const Tensors& in) { return compiled.step(in, ranks); }, batches[0],
                        {.parameters = named_tensors(*compiled.model)});
    ASSERT_TRUE(step) << step.error().to_string();
    for (const Tensors& batch : batches) {
      const Tensors expected = eager.step(batch, ranks);
      const auto results = step->run(batch);
      ASSERT_TRUE(results) << results.error().to_string();
      EXPECT_TRUE(at::equal(results->at(0), expected[0]));
    }
    const Tensors expected = eager.tensors();
    const Tensors actual = compiled.tensors();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << "tensor " << i;
    EXPECT_EQ(step->compilations(), 1U);
  });
}

TEST(CompiledModels, an_mlp) { check_compiled<Mlp>(Optimizer::sgd); }
TEST(CompiledModels, an_mlp_with_momentum_that_the_optimizer_keeps) { check_compiled<Mlp>(Optimizer::momentum, 1); }
TEST(CompiledModels, a_convolution_net_with_running_means) { check_compiled<ConvNet>(Optimizer::sgd); }
TEST(CompiledModels, a_transformer) { check_compiled<Transformer>(Optimizer::sgd); }

void check_programs(std::uint64_t first_seed, std::uint64_t count) {
  constexpr int calls = 40;
  const Ranks everybody = {0, 1};
  on_ranks(ranks, [&](int rank) {
    for (std::uint64_t seed = first_seed; seed < first_seed + count && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      const auto fresh = [&] {
        const std::lock_guard lock(one_at_a_time);
        return random_inputs(seed + static_cast<std::uint64_t>(rank) * 1'000'000);
      };
      const auto program = [&](const Tensors& in) { return RandomProgram(seed, in, everybody).run(calls); };
      auto step = compile(program, fresh());
      ASSERT_TRUE(step) << step.error().to_string();
      for (int run = 0; run < 2; ++run) {
        const Tensors expected_inputs = fresh();
        const Tensors expected = program(expected_inputs);
        const Tensors inputs = fresh();
        const auto results = step->run(inputs);
        ASSERT_TRUE(results) << results.error().to_string();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(at::equal(expected[i], results->at(i))) << "result " << i;
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          EXPECT_TRUE(at::equal(expected_inputs[i].flatten(), inputs[i].flatten())) << "input " << i;
        }
      }
    }
  });
}

TEST(CompiledPrograms, random_ones_leave_the_same_bits) { check_programs(1000, 100); }
TEST(CompiledPrograms, LongRandomOnesLeaveTheSameBits) { check_programs(2000, 2000); }

}  // namespace
}  // namespace hocket
