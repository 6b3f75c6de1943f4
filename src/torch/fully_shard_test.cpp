#include "hocket/torch/fully_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "hocket/ir/text.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "hocket/torch/data_parallel.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

namespace nn = torch::nn;
using testing::HasSubstr;

constexpr std::int64_t width = 7;  // divides by no number of ranks

struct LayerImpl : nn::Module {
  nn::LayerNorm norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
  nn::Linear wide = register_module("wide", nn::Linear(width, 12));
  nn::Linear narrow = register_module("narrow", nn::Linear(12, width));
  at::Tensor scale = register_parameter("scale", at::ones({}));
  at::Tensor forward(const at::Tensor& x) { return x + narrow(at::gelu(wide(norm(x)))) * scale; }
};
TORCH_MODULE(Layer);

// An embedding that the head uses too, layers in a list, a buffer.
struct Net : nn::Module {
  nn::Embedding embedding = register_module("embedding", nn::Embedding(11, width));
  nn::ModuleList layers = register_module("layers", nn::ModuleList(Layer(), Layer(), Layer()));
  at::Tensor calls = register_buffer("calls", at::zeros({2}));

  // Weights that follow from a number: the generator belongs to all threads.
  explicit Net(double start) {
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters()) {
      parameter.copy_(((at::arange(parameter.numel(), at::kDouble) + start).sin() * 0.3).view(parameter.sizes()));
      start += 100;
    }
  }
  at::Tensor forward(const at::Tensor& tokens) {
    at::Tensor x = embedding(tokens);
    for (const auto& layer : *layers) x = layer->as<Layer>()->forward(x);
    return at::linear(x, embedding->weight);
  }
};

at::Tensor tokens_of(int rank, int number) { return (at::arange(10, at::kLong) * (3 + rank) + number).remainder(11); }
at::Tensor loss_of(const at::Tensor& y, const at::Tensor& tokens) {
  return nn::functional::cross_entropy(y.to(at::kFloat), tokens.roll(1));
}

// What data-parallel training means: the mean over the ranks of each gradient.
void average_gradients(const Net& net) {
  for (const at::Tensor& parameter : net.parameters()) {
    if (parameter.grad().defined()) parameter.grad().copy_(all_reduce(parameter.grad(), "avg"));
  }
}

void expect_same_state(const FullySharded<Net>& actual, const Net& expected) {
  const auto theirs = named_tensors(expected);
  const auto ours = actual.full_state();
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& [name, tensor] : ours) {
    const auto found =
        std::find_if(theirs.begin(), theirs.end(), [&](const auto& other) { return other.first == name; });
    ASSERT_NE(found, theirs.end()) << name;
    EXPECT_TRUE(at::equal(tensor, found->second)) << name;
  }
}

TEST(FullyShard, keeps_a_part_of_each_parameter) {
  on_ranks(3, [](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(rank));  // the first rank's numbers become those of all
    EXPECT_EQ(net.module().embedding->weight.sizes(), at::IntArrayRef({4, width}));
    EXPECT_EQ(net.sharded().units(), 4U);
    expect_same_state(net, Net(0));
    const auto mine = net.sharded_state();
    EXPECT_EQ(mine[0].first, "embedding.weight");
    const Net whole(0);
    EXPECT_TRUE(at::equal(mine[0].second, whole.embedding->weight.slice(0, 4 * rank, 4 * rank + 4)));
  });
}

template <class MakeOptimizer>
void check_training(int ranks, const ShardOptions& options, const MakeOptimizer& make_optimizer) {
  on_ranks(ranks, [&](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0), options);
    Net plain(0);
    auto optimizer = make_optimizer(net.parameters());
    auto plain_optimizer = make_optimizer(plain.parameters());
    for (int number = 0; number < 4; ++number) {
      const at::Tensor tokens = tokens_of(rank, number);
      optimizer.zero_grad();
      const at::Tensor loss = loss_of(net.forward(tokens), tokens);
      loss.backward();
      optimizer.step();
      plain_optimizer.zero_grad();
      const at::Tensor expected = loss_of(plain.forward(tokens), tokens);
      expected.backward();
      average_gradients(plain);
      plain_optimizer.step();
      EXPECT_TRUE(at::equal(loss, expected)) << "step " << number;
    }
    expect_same_state(net, plain);
  });
}

auto sgd(const Tensors& parameters) {
  return torch::optim::SGD(parameters, torch::optim::SGDOptions(0.1).momentum(0.9));
}
auto adam(const Tensors& parameters) { return torch::optim::AdamW(parameters, torch::optim::AdamWOptions(0.01)); }

TEST(FullyShard, trains_as_if_nothing_were_sharded) {
  for (const int ranks : {1, 2, 3, 4}) check_training(ranks, {}, sgd);
}
TEST(FullyShard, trains_with_the_optimizers_state_in_parts) { check_training(3, {}, adam); }
TEST(FullyShard, may_keep_parameters_whole_until_the_backward) {
  check_training(2, {.reshard_after_forward = false}, sgd);
}
TEST(FullyShard, averages_over_replicas_too) {
  on_ranks(4, [](int rank) {
    const Ranks shards = rank < 2 ? Ranks{0, 1} : Ranks{2, 3};
    const Ranks replicas = rank % 2 == 0 ? Ranks{0, 2} : Ranks{1, 3};
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(rank), {.group = shards, .replicas = replicas});
    Net plain(0);
    const at::Tensor tokens = tokens_of(rank, 0);
    loss_of(net.forward(tokens), tokens).backward();
    loss_of(plain.forward(tokens), tokens).backward();
    for (const at::Tensor& parameter : plain.parameters()) {
      parameter.grad().copy_(all_reduce(all_reduce(parameter.grad(), "avg", shards).wait(), "avg", replicas));
    }
    EXPECT_TRUE(at::equal(net.module().embedding->weight.grad().slice(0, 0, 5 + (rank % 2 == 0)),
                          plain.embedding->weight.grad().slice(0, rank % 2 * 6, rank % 2 == 0 ? 6 : 11)));
  });
}

TEST(FullyShard, gradients_of_several_backwards_add_up) {
  on_ranks(2, [](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0));
    Net plain(0);
    std::vector<at::Tensor> sums;
    for (int number = 0; number < 2; ++number) {
      const at::Tensor tokens = tokens_of(rank, number);
      loss_of(net.forward(tokens), tokens).backward();
      plain.zero_grad();
      loss_of(plain.forward(tokens), tokens).backward();
      average_gradients(plain);
      const at::Tensor& gradient = plain.embedding->weight.grad();
      if (number == 0) sums.push_back(gradient.clone());
      else sums[0] += gradient;
    }
    const at::Tensor mine = net.module().embedding->weight.grad();
    EXPECT_TRUE(at::equal(mine.slice(0, 0, 5), sums[0].slice(0, 6 * rank, 6 * rank + 5)));
  });
}

TEST(FullyShard, a_model_may_be_used_twice_before_the_backward_and_without_one) {
  on_ranks(2, [](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0));
    Net plain(0);
    const at::Tensor a = tokens_of(rank, 0), b = tokens_of(rank, 5);
    const at::Tensor loss = loss_of(net.forward(a), a) + loss_of(net.forward(b), b);
    const at::Tensor expected = loss_of(plain.forward(a), a) + loss_of(plain.forward(b), b);
    {
      const torch::NoGradGuard no_grad;
      EXPECT_TRUE(at::equal(net.forward(a), plain.forward(a)));
    }
    loss.backward();
    expected.backward();
    average_gradients(plain);
    const at::Tensor mine = net.module().layers[1]->as<Layer>()->wide->weight.grad();
    const at::Tensor theirs = plain.layers[1]->as<Layer>()->wide->weight.grad();
    EXPECT_TRUE(at::allclose(mine, theirs.slice(0, 6 * rank, 6 * rank + 6), 1e-6, 1e-7));
  });
}

TEST(FullyShard, parameters_that_do_not_learn_stay) {
  on_ranks(2, [](int rank) {
    auto model = std::make_shared<Net>(0);
    model->layers[0]->as<Layer>()->wide->weight.set_requires_grad(false);
    FullySharded<Net> net = fully_shard(model);
    const at::Tensor tokens = tokens_of(rank, 0);
    loss_of(net.forward(tokens), tokens).backward();
    EXPECT_FALSE(model->layers[0]->as<Layer>()->wide->weight.grad().defined());
    EXPECT_TRUE(model->layers[0]->as<Layer>()->wide->bias.grad().defined());
  });
}

// Its layers say which memory they have seen.
struct Watched : nn::Module {
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> seen;
  std::vector<std::size_t> alive;  // of those seen before, when the next layer begins
  nn::ModuleList layers = register_module("layers", nn::ModuleList());
  ShardedParameters* sharded = nullptr;

  Watched() {
    for (int i = 0; i < 6; ++i) layers->push_back(nn::Linear(width, width));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& layer : *layers) {
      x = layer->as<nn::Linear>()->forward(x);
      seen.emplace_back(sharded->whole(layer->as<nn::Linear>()->weight).storage().getWeakStorageImpl());
      alive.push_back(static_cast<std::size_t>(
          std::count_if(seen.begin(), seen.end(), [](const auto& memory) { return !memory.expired(); })));
    }
    return x;
  }
};

TEST(FullyShard, lets_go_of_a_layer_when_the_next_is_used) {
  on_ranks(2, [](int) {
    FullySharded<Watched> net = fully_shard(std::make_shared<Watched>());
    net.module().sharded = &net.sharded();
    const at::Tensor loss = net.forward(at::ones({2, width})).sum();
    EXPECT_THAT(net.module().alive, testing::Each(1U));
    loss.backward();
    for (const auto& memory : net.module().seen) EXPECT_TRUE(memory.expired());
  });
}

TEST(FullyShard, computes_in_half_precision_and_learns_in_full) {
  on_ranks(2, [](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0), {.compute_dtype = at::kBFloat16});
    Net half(0);
    half.to(at::kBFloat16);
    Net plain(0);
    auto optimizer = sgd(net.parameters());
    auto plain_optimizer = sgd(plain.parameters());
    for (int number = 0; number < 3; ++number) {
      const at::Tensor tokens = tokens_of(rank, number);
      optimizer.zero_grad();
      const at::Tensor y = net.forward(tokens);
      EXPECT_EQ(y.scalar_type(), at::kBFloat16);
      loss_of(y, tokens).backward();
      optimizer.step();
      // The same by hand: a copy in half precision computes, its averaged gradients go to the full one.
      {
        const torch::NoGradGuard no_grad;
        for (std::size_t i = 0; i < plain.parameters().size(); ++i) half.parameters()[i].copy_(plain.parameters()[i]);
      }
      half.zero_grad();
      loss_of(half.forward(tokens), tokens).backward();
      average_gradients(half);
      for (std::size_t i = 0; i < plain.parameters().size(); ++i) {
        plain.parameters()[i].mutable_grad() = half.parameters()[i].grad().to(at::kFloat);
      }
      plain_optimizer.step();
    }
    expect_same_state(net, plain);
  });
}

TEST(FullyShard, clips_by_the_norm_of_all_parts) {
  on_ranks(3, [](int rank) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0));
    Net plain(0);
    const at::Tensor tokens = tokens_of(rank, 0);
    loss_of(net.forward(tokens), tokens).backward();
    loss_of(plain.forward(tokens), tokens).backward();
    average_gradients(plain);
    const double norm = net.clip_grad_norm_(0.05).item<double>();
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(plain.parameters(), 0.05), 1e-6);
    EXPECT_GT(norm, 0.05);
    const at::Tensor mine = net.module().layers[2]->as<Layer>()->narrow->weight.grad();
    const at::Tensor theirs = plain.layers[2]->as<Layer>()->narrow->weight.grad();
    const std::int64_t rows = rank == 2 ? 1 : 3;
    EXPECT_TRUE(at::allclose(mine.slice(0, 0, rows), theirs.slice(0, 3 * rank, 3 * rank + rows), 1e-5, 1e-8));
  });
}

TEST(FullyShard, saves_and_loads_whole_and_in_parts) {
  on_ranks(3, [](int) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0));
    FullySharded<Net> other = fully_shard(std::make_shared<Net>(50));
    other.load_full_state(net.full_state());
    expect_same_state(other, Net(0));
    FullySharded<Net> third = fully_shard(std::make_shared<Net>(80));
    third.load_sharded_state(net.sharded_state());
    expect_same_state(third, Net(0));
  });
}

TEST(FullyShard, refuses_a_state_of_another_model_before_it_writes) {
  on_ranks(2, [](int) {
    FullySharded<Net> net = fully_shard(std::make_shared<Net>(0));
    auto state = net.full_state();
    state[1].second = at::zeros({3});
    EXPECT_THAT(thrown_by([&] { net.load_full_state(state); }), HasSubstr("layers.0.scale has [3], expected []"));
    state = net.full_state();
    state.pop_back();
    EXPECT_THAT(thrown_by([&] { net.load_full_state(state); }), HasSubstr("calls is missing"));
    state = net.sharded_state();
    state.emplace_back("more", at::zeros({3}));
    EXPECT_THAT(thrown_by([&] { net.load_sharded_state(state); }), HasSubstr("the module has no more"));
    expect_same_state(net, Net(0));
  });
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(FullyShard, a_compiled_step_learns_the_same) {
  for (const bool reshard : {true, false}) {
    on_ranks(2, [&](int rank) {
      FullySharded<Net> net = fully_shard(std::make_shared<Net>(0), {.reshard_after_forward = reshard});
      FullySharded<Net> eager = fully_shard(std::make_shared<Net>(0), {.reshard_after_forward = reshard});
      auto optimizer = torch::optim::SGD(net.parameters(), 0.1);
      auto eager_optimizer = torch::optim::SGD(eager.parameters(), 0.1);
      const auto train = [](FullySharded<Net>& model, torch::optim::Optimizer& its, const at::Tensor& tokens) {
        its.zero_grad();
        const at::Tensor loss = loss_of(model.forward(tokens), tokens);
        loss.backward();
        its.step();
        return loss.detach();
      };
      auto step = compile([&](const Tensors& in) { return Tensors{train(net, optimizer, in[0])}; },
                          {tokens_of(rank, 0)}, {.parameters = named_tensors(net.module())});
      ASSERT_TRUE(step) << step.error().to_string();
      const std::size_t gathers = count(print(step->graph()), "all_gather_into_tensor(");
      // The backward needs the weights again, but no bias of a linear layer.
      EXPECT_EQ(gathers, reshard ? 22U + 16U : 22U);
      for (int number = 0; number < 4; ++number) {
        const at::Tensor tokens = tokens_of(rank, number);
        const at::Tensor expected = train(eager, eager_optimizer, tokens);
        EXPECT_TRUE(at::equal((*step)({tokens})[0], expected)) << number;
      }
      const auto theirs = eager.full_state();
      const auto ours = net.full_state();
      for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(at::equal(ours[i].second, theirs[i].second));
    });
  }
}

TEST(FullyShard, names_what_it_cannot_take) {
  on_ranks(1, [](int) {
    nn::Linear on_meta{nullptr};
    {
      const OnMeta scope;
      on_meta = nn::Linear(2, 2);
    }
    EXPECT_THAT(thrown_by([&] { fully_shard(on_meta); }), HasSubstr("weight is on meta, expected cpu"));
    const auto stranger = std::make_shared<Net>(0);
    EXPECT_THAT(thrown_by([&] { fully_shard(nn::Linear(2, 2), {.units = {stranger}}); }),
                HasSubstr("not part of the module"));
    FullySharded<nn::LinearImpl> layer = fully_shard(nn::Linear(2, 2));
    EXPECT_THAT(thrown_by([&] { layer.sharded().whole(layer.module().weight); }), HasSubstr("inside forward()"));
  });
}

}  // namespace
}  // namespace hocket
