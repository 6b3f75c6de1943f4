// Models and random programs, compiled and run by two ranks: the same bits as without a compiler, step after step.
#include <gtest/gtest.h>

#include "hocket/torch/compile.h"
#include "support/random_torch_program.h"
#include "support/torch_models.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

constexpr int ranks = 2;

// Not a number is the same as not a number.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bytes = [](const at::Tensor& tensor) { return tensor.contiguous().view({-1}).view(at::kByte); };
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && at::equal(bytes(a), bytes(b));
}

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

// Whether something was on its way when the last run returned.
bool carries(const CompiledStep& step) { return step.executor().carries(); }

// So slow a network that whatever can be carried into the next step is.
StepOptions across_steps() {
  StepOptions options;
  options.across_steps = true;
  options.cost.communication_multiplier = 10'000;
  return options;
}

// An optimizer makes its state in its first step: that one runs as it is on both.
template <class Model>
void check_compiled(Optimizer kind, int first_steps = 0, const StepOptions& how = {}) {
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
    StepOptions options = how;
    options.parameters = named_tensors(*compiled.model);
    auto step = compile([&](const Tensors& in) { return compiled.step(in, ranks); }, batches[0], options);
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_EQ(options.across_steps, carries(*step));
    for (const Tensors& batch : batches) {
      const Tensors expected = eager.step(batch, ranks);
      const auto results = step->run(batch);
      ASSERT_TRUE(results) << results.error().to_string();
      EXPECT_TRUE(at::equal(results->at(0), expected[0]));
    }
    const Status finished = step->finish();
    ASSERT_TRUE(finished) << finished.error().to_string();
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

TEST(CompiledAcrossSteps, an_mlp) { check_compiled<Mlp>(Optimizer::sgd, 0, across_steps()); }
TEST(CompiledAcrossSteps, an_mlp_with_momentum) { check_compiled<Mlp>(Optimizer::momentum, 1, across_steps()); }
TEST(CompiledAcrossSteps, a_convolution_net) { check_compiled<ConvNet>(Optimizer::sgd, 0, across_steps()); }
TEST(CompiledAcrossSteps, a_transformer) { check_compiled<Transformer>(Optimizer::sgd, 0, across_steps()); }

TEST(CompiledAcrossSteps, measuring_leaves_nothing_that_would_be_written_later) {
  StepOptions options = across_steps();
  options.measured_runs = 3;
  check_compiled<Mlp>(Optimizer::momentum, 1, options);
}

TEST(CompiledAcrossSteps, parameters_change_by_the_end_of_the_step_or_of_its_owner) {
  on_ranks(ranks, [&](int rank) {
    std::unique_lock lock(one_at_a_time);
    Trained<Mlp> eager = make_trained<Mlp>(Optimizer::sgd);
    Trained<Mlp> compiled = make_trained<Mlp>(Optimizer::sgd);
    const Tensors batch = batch_of<Mlp>(rank, 0);
    lock.unlock();
    const at::Tensor last = compiled.model->last->weight;
    const at::Tensor before = last.detach().clone();
    eager.step(batch, ranks);
    {
      StepOptions options = across_steps();
      options.parameters = named_tensors(*compiled.model);
      auto step = compile([&](const Tensors& in) { return compiled.step(in, ranks); }, batch, options);
      ASSERT_TRUE(step) << step.error().to_string();
      ASSERT_TRUE(step->run(batch));
      EXPECT_TRUE(at::equal(last, before)) << "nobody has needed it yet";
    }
    EXPECT_TRUE(at::equal(last, eager.model->last->weight));
  });
}

TEST(CompiledAcrossSteps, other_shapes_find_the_parameters_of_the_step_before) {
  on_ranks(ranks, [&](int rank) {
    std::unique_lock lock(one_at_a_time);
    Trained<Mlp> eager = make_trained<Mlp>(Optimizer::sgd);
    Trained<Mlp> compiled = make_trained<Mlp>(Optimizer::sgd);
    const Tensors whole = batch_of<Mlp>(rank, 0);
    lock.unlock();
    const Tensors part = {whole[0].slice(0, 0, 8).clone(), whole[1].slice(0, 0, 8).clone()};
    StepOptions options = across_steps();
    options.parameters = named_tensors(*compiled.model);
    auto step = compile([&](const Tensors& in) { return compiled.step(in, ranks); }, whole, options);
    ASSERT_TRUE(step) << step.error().to_string();
    for (const Tensors& batch : {whole, part, part, whole, whole, part}) {
      const Tensors expected = eager.step(batch, ranks);
      const auto results = step->run(batch);
      ASSERT_TRUE(results) << results.error().to_string();
      EXPECT_TRUE(at::equal(results->at(0), expected[0]));
    }
    ASSERT_TRUE(step->finish());
    EXPECT_TRUE(at::equal(compiled.model->last->weight, eager.model->last->weight));
  });
}

// What a step does to its arguments is done when it returns: the caller may let go of them.
TEST(CompiledAcrossSteps, arguments_are_left_alone_after_the_run) {
  on_ranks(ranks, [&](int rank) {
    const auto add_sum = [](const Tensors& in) {
      in[0].add_(all_reduce(in[1] * 2, "sum", Ranks{0, 1}));
      return Tensors{in[1] + 1};
    };
    const auto x = [] { return at::zeros({100}); };
    const at::Tensor y = at::full({100}, rank + 1.0);
    auto step = compile(add_sum, {x(), y}, across_steps());
    ASSERT_TRUE(step) << step.error().to_string();
    EXPECT_FALSE(carries(*step));
    for (int i = 0; i < 3; ++i) {
      const at::Tensor target = x();
      ASSERT_TRUE(step->run({target, y}));
      EXPECT_TRUE(at::equal(target, at::full({100}, 6.0)));
    }
  });
}

// Programs that change parameters again and again, with whatever of it can be done in the next run. How many carried anything.
int check_carried(std::uint64_t first_seed, std::uint64_t count) {
  constexpr int calls = 40;
  const Ranks everybody = {0, 1};
  std::atomic<int> carried = 0;
  on_ranks(ranks, [&](int rank) {
    for (std::uint64_t seed = first_seed; seed < first_seed + count && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      const auto fresh = [&] {
        const std::lock_guard lock(one_at_a_time);
        return random_inputs(seed + static_cast<std::uint64_t>(rank) * 1'000'000);
      };
      const Tensors eager = fresh(), compiled = fresh();
      const auto run = [&](const Tensors& on) {
        Tensors views;  // or unsqueeze_ would change the parameters' own sizes
        for (const at::Tensor& tensor : on) views.push_back(tensor.detach());
        const Tensors all = RandomProgram(seed, views, everybody).run(calls);
        const at::Tensor result = all[0] + 1;
        std::vector<AsyncTensor> sums;
        for (const at::Tensor& tensor : on) sums.push_back(all_reduce(at::tanh(tensor), "sum", everybody));
        for (std::size_t i = 0; i < on.size(); ++i) on[i].detach().add_(sums[i], -0.25);
        return Tensors{result};
      };
      StepOptions options = across_steps();
      options.cost.communication_multiplier = seed % 2 == 0 ? 1 : 10;
      options.passes = default_step_passes();
      std::ranges::find(options.passes, "lower", &PassCall::name)->arguments = {
          {"symmetric", "off"}};  // nothing blocks
      for (std::size_t i = 0; i < compiled.size(); ++i)
        options.parameters.push_back({"p" + std::to_string(i), compiled[i]});
      auto step = compile([&](const Tensors&) { return run(compiled); }, {}, options);
      ASSERT_TRUE(step) << step.error().to_string();
      for (int i = 0; i < 3; ++i) {
        const Tensors expected = run(eager);
        const auto results = step->run({});
        ASSERT_TRUE(results) << results.error().to_string();
        EXPECT_TRUE(same_bits(expected[0], results->at(0)));
      }
      ASSERT_TRUE(step->finish());
      for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_bits(eager[i], compiled[i])) << "parameter " << i;
      if (rank == 0 && carries(*step)) ++carried;
    }
  });
  return carried;
}

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
TEST(CompiledPrograms, random_ones_leave_the_same_bits_across_steps) { EXPECT_GT(check_carried(5000, 60), 10); }
TEST(CompiledPrograms, LongRandomOnesLeaveTheSameBitsAcrossSteps) { EXPECT_GT(check_carried(6000, 1000), 100); }
TEST(CompiledPrograms, LongRandomOnesLeaveTheSameBits) { check_programs(2000, 2000); }

}  // namespace
}  // namespace hocket
