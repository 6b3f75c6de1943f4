#include "hocket/torch/data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "hocket/torch/capture.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

namespace nn = torch::nn;
using testing::HasSubstr;

struct Net : nn::Module {
  nn::Linear first = register_module("first", nn::Linear(6, 16));
  nn::Linear second = register_module("second", nn::Linear(16, 16));
  nn::Linear last = register_module("last", nn::Linear(16, 1));
  at::Tensor count = register_buffer("count", at::zeros({}));
  bool skips_second = false;

  // Weights that follow from a number: the generator belongs to all threads.
  explicit Net(double start) {
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters()) {
      parameter.copy_(((at::arange(parameter.numel(), at::kDouble) + start).sin() * 0.2).view(parameter.sizes()));
      start += 100;
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = at::tanh(first(x));
    return last(skips_second ? h : at::tanh(second(h)));
  }
};

at::Tensor batch_of(int rank, int number) {
  return (at::arange(8 * 6, at::kFloat) + (rank * 50 + number * 3)).cos().view({8, 6});
}
at::Tensor loss_of(const at::Tensor& y, const at::Tensor& x) { return at::mse_loss(y, x.sum(1, true)); }

// What data-parallel training means: the mean over the ranks of each gradient.
void average_gradients(const Net& net, int ranks) {
  for (const at::Tensor& parameter : net.parameters()) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter);
    parameter.grad().copy_(all_reduce(parameter.grad(), "sum") / static_cast<double>(ranks));
  }
}

void expect_same_weights(const Net& actual, const Net& expected) {
  const auto theirs = expected.named_parameters();
  for (const auto& parameter : actual.named_parameters()) {
    EXPECT_TRUE(at::allclose(parameter.value(), theirs[parameter.key()], 1e-6, 1e-7)) << parameter.key();
  }
}

void expect_same_gradients(const Net& actual, const Net& expected) {
  const auto theirs = expected.named_parameters();
  for (const auto& parameter : actual.named_parameters()) {
    EXPECT_TRUE(at::allclose(parameter.value().grad(), theirs[parameter.key()].grad(), 1e-6, 1e-7)) << parameter.key();
  }
}

template <class Module>
at::Tensor train(DistributedDataParallel<Module>& model, torch::optim::SGD& optimizer, const at::Tensor& x) {
  optimizer.zero_grad();
  const at::Tensor loss = loss_of(model.forward(x), x);
  loss.backward();
  optimizer.step();
  return loss.detach();
}

template <class Module>
Result<CompiledStep> compiled_training(DistributedDataParallel<Module>& model, torch::optim::SGD& optimizer,
                                       const at::Tensor& x) {
  return compile(
      [&](const std::vector<at::Tensor>& in) { return std::vector<at::Tensor>{train(model, optimizer, in[0])}; }, {x},
      {.parameters = named_tensors(model.module())});
}

// Trains both on the same batches.
template <class Module>
void expect_same_losses(CompiledStep& step, DistributedDataParallel<Module>& eager, torch::optim::SGD& its_optimizer,
                        int rank) {
  for (int number = 0; number < 3; ++number) {
    const at::Tensor expected = train(eager, its_optimizer, batch_of(rank, number));
    EXPECT_TRUE(at::allclose(step({batch_of(rank, number)})[0], expected, 1e-6, 1e-7));
  }
}

class DataParallel : public testing::TestWithParam<std::int64_t> {};  // bytes of a bucket

TEST_P(DataParallel, trains_as_if_each_gradient_were_averaged) {
  for (const int ranks : {1, 2, 3}) {
    on_ranks(ranks, [&](int rank) {
      DistributedDataParallel<Net> net(std::make_shared<Net>(rank * 7.0),
                                       {.first_bucket = Bytes(GetParam()), .bucket = Bytes(GetParam())});
      Net expected(0);  // the weights of rank 0
      expect_same_weights(net.module(), expected);
      torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
      torch::optim::SGD its_optimizer(expected.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
      for (int number = 0; number < 4; ++number) {
        const at::Tensor x = batch_of(rank, number);
        // Both ways to begin: without gradients, and with those of before set to zero.
        optimizer.zero_grad(number % 2 == 0);
        loss_of(net.forward(x), x).backward();
        optimizer.step();
        its_optimizer.zero_grad();
        loss_of(expected.forward(x), x).backward();
        average_gradients(expected, ranks);
        its_optimizer.step();
      }
      expect_same_weights(net.module(), expected);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Buckets, DataParallel, testing::Values(1, 600, 1 << 20));

TEST(DataParallelBuckets, are_filled_from_the_last_parameter_to_their_size) {
  on_ranks(2, [](int) {
    const DistributedDataParallel<Net> one(std::make_shared<Net>(0));
    EXPECT_EQ(one.buckets(), 1U);
    const DistributedDataParallel<Net> each(std::make_shared<Net>(0), {.first_bucket = Bytes(1), .bucket = Bytes(1)});
    EXPECT_EQ(each.buckets(), 6U);
  });
}

TEST(DataParallelNoSync, gradients_add_up_and_are_averaged_with_the_next_ones) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> net(std::make_shared<Net>(0));
    Net expected(0);
    for (int number = 0; number < 3; ++number) {
      const at::Tensor x = batch_of(rank, number);
      loss_of(expected.forward(x), x).backward();
      if (number == 2) {
        loss_of(net.forward(x), x).backward();
        continue;
      }
      const auto alone = net.no_sync();
      loss_of(net.forward(x), x).backward();
    }
    average_gradients(expected, 2);
    expect_same_gradients(net.module(), expected);
  });
}

TEST(DataParallelUnused, parameters_count_as_zero_where_that_is_allowed) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> net(std::make_shared<Net>(0), {.unused_parameters = true});
    Net expected(0);
    net.module().skips_second = expected.skips_second = rank == 1;  // rank 0 uses it
    const at::Tensor x = batch_of(rank, 0);
    loss_of(net.forward(x), x).backward();
    loss_of(expected.forward(x), x).backward();
    average_gradients(expected, 2);
    EXPECT_TRUE(at::allclose(net.module().second->weight.grad(), expected.second->weight.grad(), 1e-6, 1e-7));
    EXPECT_GT(net.module().second->weight.grad().abs().sum().item<double>(), 0);
  });
}

TEST(DataParallelUnused, parameters_are_an_error_where_nobody_has_allowed_them) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> net(std::make_shared<Net>(0));
    net.module().skips_second = true;
    const at::Tensor x = batch_of(rank, 0);
    const at::Tensor loss = loss_of(net.forward(x), x);
    try {
      loss.backward();
      ADD_FAILURE() << "no error";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("had no part in the loss"));
    }
  });
}

TEST(DataParallelBuffers, are_those_of_the_first_rank_at_every_forward) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> net(std::make_shared<Net>(0));
    net.module().count.fill_(rank + 5);
    net.forward(batch_of(rank, 0));
    EXPECT_EQ(net.module().count.item<float>(), 5);
  });
}

// A module whose forward changes a buffer, as BatchNorm does, and whose backward would notice that it was changed too early.
struct Counting : nn::Module {
  nn::Linear first = register_module("first", nn::Linear(6, 6));
  nn::BatchNorm1d norm = register_module("norm", nn::BatchNorm1d(6));
  nn::Linear last = register_module("last", nn::Linear(6, 1));
  at::Tensor large = register_buffer("large", at::zeros({40'000}));  // more than is packed
  at::Tensor forward(const at::Tensor& x) {
    const torch::NoGradGuard no_grad;
    large.add_(x.mean());
    const at::AutoGradMode grad(true);
    return last(norm(first(x)));
  }
};

// The buffers of rank 0: its own forwards decide them.
void expect_buffers_of_first(const Counting& module, int ranks) {
  for (const auto& buffer : module.named_buffers()) {
    const at::Tensor all = all_gather_tensor(buffer.value().detach().reshape({1, -1}), 0, "world");
    for (int rank = 1; rank < ranks; ++rank) EXPECT_TRUE(at::equal(all[rank], all[0])) << buffer.key();
  }
}

TEST(DataParallelBuffers, are_those_of_the_first_rank_after_every_backward) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Counting> net(std::make_shared<Counting>());
    const at::Tensor x = batch_of(rank, 0);
    loss_of(net.forward(x), x).backward();
    expect_buffers_of_first(net.module(), 2);
    EXPECT_TRUE(at::allclose(net.module().large, batch_of(0, 0).mean().expand({40'000})));
  });
}

TEST(DataParallelBuffers, are_those_of_the_first_rank_at_a_forward_that_no_backward_came_before) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Counting> net(std::make_shared<Counting>());
    const at::Tensor x = batch_of(rank, 0);
    net.forward(x);
    const float own = x.mean().item<float>(), first = batch_of(0, 0).mean().item<float>();
    EXPECT_FLOAT_EQ(net.module().large[7].item<float>(), own);
    net.forward(x);
    EXPECT_FLOAT_EQ(net.module().large[7].item<float>(), first + own);
  });
}

TEST(DataParallelBuffers, of_a_compiled_step_are_those_of_an_eager_one) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Counting> eager(std::make_shared<Counting>()), net(std::make_shared<Counting>());
    {
      const torch::NoGradGuard no_grad;
      const auto theirs = eager.module().named_parameters();
      for (auto& parameter : net.module().named_parameters()) parameter.value().copy_(theirs[parameter.key()]);
    }
    torch::optim::SGD its_optimizer(eager.parameters(), 0.1), optimizer(net.parameters(), 0.1);
    auto step = compiled_training(net, optimizer, batch_of(rank, 0));
    ASSERT_TRUE(step) << step.error().to_string();
    expect_same_losses(*step, eager, its_optimizer, rank);
    const auto theirs = eager.module().named_buffers();
    for (const auto& buffer : net.module().named_buffers()) {
      EXPECT_TRUE(at::allclose(buffer.value(), theirs[buffer.key()], 1e-6, 1e-7)) << buffer.key();
    }
    expect_buffers_of_first(net.module(), 2);
  });
}

TEST(DataParallelFailure, of_a_backward_leaves_the_next_one_alone) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> net(std::make_shared<Net>(0), {.first_bucket = Bytes(1), .bucket = Bytes(1)});
    Net expected(0);
    const at::Tensor x = batch_of(rank, 0);
    const at::Tensor y = net.module().first(x);  // its gradients come last, those of the others are there by then
    y.register_hook([](const at::Tensor&) { throw std::runtime_error("no gradient today"); });
    const at::Tensor hidden = at::tanh(net.module().second(at::tanh(y)));
    EXPECT_THROW(loss_of(net.module().last(hidden), x).backward(), std::runtime_error);
    for (const at::Tensor& parameter : net.parameters()) parameter.mutable_grad() = at::Tensor();
    loss_of(net.forward(x), x).backward();
    loss_of(expected.forward(x), x).backward();
    average_gradients(expected, 2);
    expect_same_gradients(net.module(), expected);
  });
}

// Of several dtypes, small and large, some of them no stretch of memory.
std::vector<at::Tensor> tensors_of(int rank) {
  const auto numbers = [&](std::int64_t count) { return at::arange(count, at::kFloat) + 1000 * rank; };
  return {numbers(7),
          at::full({}, rank + 3, at::kLong),
          numbers(40'000),
          numbers(12).view({3, 4}).t(),
          at::full({5}, rank + 9, at::kLong),
          numbers(60'000).view({300, 200}).t(),
          numbers(0),
          at::full({2, 2}, rank == 0, at::kBool)};
}

TEST(BroadcastTensors, gives_all_ranks_what_the_first_one_has) {
  on_ranks(3, [](int rank) {
    const std::vector<at::Tensor> mine = tensors_of(rank), first = tensors_of(0);
    broadcast_tensors(mine, "world");
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_TRUE(at::equal(mine[i], first[i])) << "tensor " << i;
  });
}

TEST(BroadcastTensors, packs_what_is_small) {
  on_ranks(2, [](int rank) {
    const auto tensors = tensors_of(rank);
    const auto captured = capture(
        [](const std::vector<at::Tensor>& in) {
          broadcast_tensors(in, "world");
          return std::vector<at::Tensor>{in[0] + 1};
        },
        tensors, {.world_size = 2, .rank = rank});
    ASSERT_TRUE(captured) << captured.error().to_string();
    const Graph& graph = captured->graph;
    std::size_t collectives = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) collectives += graph.collective(NodeId(i)) != nullptr ? 1U : 0U;
    EXPECT_EQ(collectives, 5U);  // two large ones, and one for each dtype of the small ones
  });
}

TEST(DataParallelCompiled, a_step_trains_the_same_and_communicates_less_often) {
  on_ranks(2, [](int rank) {
    DistributedDataParallel<Net> eager(std::make_shared<Net>(0)), net(std::make_shared<Net>(0));
    torch::optim::SGD its_optimizer(eager.parameters(), 0.1), optimizer(net.parameters(), 0.1);
    auto step = compiled_training(net, optimizer, batch_of(rank, 0));
    ASSERT_TRUE(step) << step.error().to_string();
    expect_same_losses(*step, eager, its_optimizer, rank);
    expect_same_weights(net.module(), eager.module());
    const Program& program = step->executor().program();
    std::size_t collectives = 0;
    for (std::size_t i = 0; i < program.size(); ++i) collectives += program.collective(StepId(i)) != nullptr ? 1U : 0U;
    EXPECT_LT(collectives, net.parameters().size());
  });
}

}  // namespace
}  // namespace hocket
