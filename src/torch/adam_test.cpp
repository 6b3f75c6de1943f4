#include "hocket/torch/adam.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

// Two layers and an optimizer over them; ranks average their gradients.
struct Network {
  Network() {
    const at::Tensor numbers = at::arange(6 * 16 + 16 * 3, at::kFloat).sin() * 0.3;
    first = numbers.slice(0, 0, 6 * 16).view({6, 16}).clone().set_requires_grad(true);
    second = numbers.slice(0, 6 * 16).view({16, 3}).clone().set_requires_grad(true);
  }

  template <class Optimizer>
  Tensors train(const Tensors& batch, Optimizer& optimizer) const {
    optimizer.zero_grad();
    const at::Tensor loss = at::mse_loss(at::mm(at::gelu(at::mm(batch[0], first)), second), batch[1]);
    loss.backward();
    for (const at::Tensor& weight : {first, second}) weight.grad().copy_(all_reduce(weight.grad() / 2, "sum"));
    optimizer.step();
    return {loss.detach()};
  }

  std::vector<NamedTensor> named() const { return {{"first", first}, {"second", second}}; }
  at::Tensor first, second;
};

Tensors batch_of(int rank, int number) {
  const at::Tensor x = (at::arange(48, at::kFloat) + (rank * 100 + number * 7)).cos().view({8, 6});
  return {x, x.slice(1, 0, 3).square()};
}

void expect_same(const Network& a, const Network& b, int steps) {
  EXPECT_TRUE(at::equal(a.first, b.first))
      << "after " << steps << " steps they differ by " << (a.first - b.first).abs().max().item<float>();
  EXPECT_TRUE(at::equal(a.second, b.second)) << "after " << steps << " steps";
}

constexpr AdamOptions adam{.learning_rate = 0.01, .weight_decay = 0.1};
constexpr AdamOptions adamw{.learning_rate = 0.01, .weight_decay = 0.1, .decoupled = true};

// Of torch's optimizer, of this one, and of this one in a compiled step.
template <class Theirs>
void check_training(const AdamOptions& options, const std::function<Theirs(const Tensors&)>& make_theirs) {
  on_ranks(2, [&](int rank) {
    const Network known, eager, compiled;
    Theirs theirs = make_theirs({known.first, known.second});
    Adam ours({eager.first, eager.second}, options), captured({compiled.first, compiled.second}, options);
    auto step = compile([&](const Tensors& in) { return compiled.train(in, captured); }, batch_of(rank, 0),
                        {.parameters = compiled.named()});
    ASSERT_TRUE(step) << step.error().to_string();
    for (int number = 0; number < 12; ++number) {
      const Tensors batch = batch_of(rank, number);
      const at::Tensor loss = known.train(batch, theirs)[0];
      EXPECT_TRUE(at::equal(eager.train(batch, ours)[0], loss)) << number;
      EXPECT_TRUE(at::equal((*step)(batch)[0], loss)) << number;
      expect_same(eager, known, number + 1);
      expect_same(compiled, known, number + 1);
      if (number == 5) {
        ours.learning_rate().fill_(0.002);
        captured.learning_rate().fill_(0.002);
        theirs.param_groups()[0].options().set_lr(0.002);
      }
    }
    EXPECT_EQ(captured.state()[0].second.item<double>(), 12);
  });
}

TEST(Adam, trains_as_torch_does_compiled_or_not_also_at_another_rate) {
  check_training<torch::optim::Adam>(adam, [](const Tensors& weights) {
    return torch::optim::Adam(weights, torch::optim::AdamOptions(0.01).weight_decay(0.1));
  });
}

TEST(Adam, with_decoupled_decay_is_adamw) {
  check_training<torch::optim::AdamW>(adamw, [](const Tensors& weights) {
    return torch::optim::AdamW(weights, torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  });
}

TEST(Adam, goes_on_from_a_saved_state) {
  on_ranks(2, [](int rank) {
    const Network whole, resumed;
    Adam optimizer({whole.first, whole.second}, adam), other({resumed.first, resumed.second}, adam);
    for (int number = 0; number < 3; ++number) whole.train(batch_of(rank, number), optimizer);
    {
      const at::AutoGradMode no_grad(false);
      resumed.first.copy_(whole.first);
      resumed.second.copy_(whole.second);
      const auto from = optimizer.state();
      const auto into = other.state();
      for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_EQ(from[i].first, into[i].first);
        into[i].second.copy_(from[i].second);
      }
    }
    for (int number = 3; number < 6; ++number) {
      whole.train(batch_of(rank, number), optimizer);
      resumed.train(batch_of(rank, number), other);
    }
    expect_same(resumed, whole, 6);
  });
}

TEST(Adam, leaves_parameters_without_a_gradient_alone) {
  at::Tensor used = at::ones({2}).set_requires_grad(true), unused = at::ones({2}).set_requires_grad(true);
  Adam optimizer({used, unused});
  used.sum().backward();
  optimizer.step();
  EXPECT_TRUE(at::equal(unused, at::ones({2})));
  EXPECT_FALSE(at::equal(used, at::ones({2})));
  optimizer.zero_grad();
  EXPECT_FALSE(used.grad().defined());
}

// What the host counts, or makes in the first step alone, would be frozen.
TEST(CompiledStep, refuses_a_step_that_is_not_the_same_every_time) {
  on_ranks(2, [](int rank) {
    const Network network;
    torch::optim::Adam counting({network.first, network.second}, torch::optim::AdamOptions(0.01));
    const auto train = [&](auto& optimizer) {
      return compile([&](const Tensors& in) { return network.train(in, optimizer); }, batch_of(rank, 0),
                     {.parameters = network.named()});
    };
    network.train(batch_of(rank, 0), counting);
    const auto counted = train(counting);
    ASSERT_FALSE(counted);
    EXPECT_THAT(counted.error().to_string(), HasSubstr("the step is not the same every time"));
    EXPECT_THAT(counted.error().to_string(), HasSubstr("= aten."));
    EXPECT_THAT(counted.error().to_string(), HasSubstr("hocket::Adam"));

    torch::optim::SGD moving({network.first, network.second}, torch::optim::SGDOptions(0.01).momentum(0.9));
    const auto made = train(moving);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().to_string(), HasSubstr("run one step as it is"));
    torch::optim::SGD warm({network.first, network.second}, torch::optim::SGDOptions(0.01).momentum(0.9));
    network.train(batch_of(rank, 0), warm);
    const auto fine = train(warm);
    EXPECT_TRUE(fine) << fine.error().to_string();
  });
}

TEST(Adam, refuses_numbers_that_make_no_sense) {
  EXPECT_THAT(thrown_by([] { Adam({}, {.beta1 = 1.0}); }), HasSubstr("Adam: beta1 is 1, expected 0 or more, and less"));
  EXPECT_THAT(thrown_by([] { Adam({}, {.learning_rate = -1}); }), HasSubstr("learning_rate is -1, expected 0 or more"));
}

}  // namespace
}  // namespace hocket
