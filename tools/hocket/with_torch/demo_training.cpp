#include "with_torch/demo_training.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <chrono>
#include <set>

#include "hocket/torch/collectives.h"
#include "with_torch/demo_text.h"
#include "with_torch/gpt.h"

namespace hocket::tool {

namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<at::Tensor>;

constexpr int steps = 25;
constexpr std::int64_t batch = 8;
constexpr double learning_rate = 0.3;
constexpr std::uint64_t seed = 1300;

Nanoseconds since(Clock::time_point start) {
  return Nanoseconds::from_seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

// The text as numbers of its characters.
at::Tensor numbered(std::string_view text) {
  const std::set<char> alphabet(text.begin(), text.end());
  std::vector<std::int64_t> numbers;
  for (const char c : text) numbers.push_back(std::distance(alphabet.begin(), alphabet.find(c)));
  return at::tensor(numbers);
}

// Every rank reads other places of the text.
std::vector<Tensors> batches_of(const at::Tensor& text, std::int32_t rank, std::int64_t context) {
  torch::manual_seed(seed + 1 + static_cast<std::uint64_t>(rank));
  std::vector<Tensors> batches;
  for (int i = 0; i < steps; ++i) {
    Tensors here, next;
    for (std::int64_t row = 0; row < batch; ++row) {
      const std::int64_t at = at::randint(text.size(0) - context - 1, {1}).item<std::int64_t>();
      here.push_back(text.slice(0, at, at + context));
      next.push_back(text.slice(0, at + 1, at + context + 1));
    }
    batches.push_back({at::stack(here), at::stack(next)});
  }
  return batches;
}

// A model, its optimizer, and the step as a user writes it.
class Trainer {
 public:
  Trainer(const GptSize& size, std::int32_t ranks) : ranks_(ranks) {
    torch::manual_seed(seed);
    model = std::make_shared<Gpt>(size);
    optimizer_ = std::make_unique<torch::optim::SGD>(model->parameters(), learning_rate);
  }

  Tensors step(const Tensors& in) {
    optimizer_->zero_grad();
    const at::Tensor loss = model->loss(in[0], in[1]);
    loss.backward();
    for (at::Tensor& parameter : model->parameters()) {
      const auto start = Clock::now();
      const at::Tensor average = all_reduce(parameter.grad() / ranks_, "sum");
      waited += since(start);
      parameter.grad().copy_(average);
    }
    optimizer_->step();
    return {loss.detach()};
  }

  std::shared_ptr<Gpt> model;
  Nanoseconds waited;

 private:
  std::int32_t ranks_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
};

// For how long a run did nothing but wait: in waits, and in collectives that block.
Nanoseconds exposed_in(const Executor& executor) {
  const Program& program = executor.program();
  Nanoseconds sum;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const OpSpec* const spec = program.op_spec(StepId(i));
    if (spec == nullptr || !(spec->effects.waits || spec->effects.comm)) continue;
    sum += executor.last_run().steps[i].end - executor.last_run().steps[i].start;
  }
  return sum;
}

// All ranks begin at the same time.
Status meet(const World& world) {
  HOCKET_TRY(const Communicator all, world.communicator());
  CallOptions options;
  options.blocking = true;
  return all.barrier(options).wait();
}

bool same(const Gpt& a, const Gpt& b) {
  const Tensors first = a.parameters();
  const Tensors second = b.parameters();
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!at::equal(first[i], second[i])) return false;
  }
  return true;
}

}  // namespace

Result<DemoResult> train_demo(const World& world, const std::string& report_path) {
  at::set_num_threads(1);
  const at::Tensor text = numbered(demo_text);
  GptSize size;
  size.characters = text.max().item<std::int64_t>() + 1;
  Trainer eager(size, world.size());
  Trainer compiled(size, world.size());
  const std::vector<Tensors> batches = batches_of(text, world.rank(), size.context);

  StepOptions options;
  options.name = "gpt_step";
  options.parameters = named_tensors(*compiled.model);
  options.record = true;
  options.measured_runs = 2;
  HOCKET_TRY(CompiledStep step,
             compile([&](const Tensors& in) { return compiled.step(in); }, batches[0], std::move(options)));
  DemoResult result;
  for (const Tensors& one : batches) {
    HOCKET_CHECK(meet(world));
    eager.waited = {};
    const auto start = Clock::now();
    const Tensors loss = eager.step(one);
    result.eager.steps.push_back(since(start));
    result.eager.exposed.push_back(eager.waited);
    result.eager.losses.push_back(loss[0].item<double>());

    HOCKET_CHECK(meet(world));
    const auto again = Clock::now();
    HOCKET_TRY(const Tensors other, step.run(one));
    result.compiled.steps.push_back(since(again));
    result.compiled.exposed.push_back(exposed_in(step.executor()));
    result.compiled.losses.push_back(other[0].item<double>());
  }
  result.same_weights = same(*eager.model, *compiled.model);
  for (const at::Tensor& parameter : eager.model->parameters()) result.parameters += parameter.numel();
  result.graph = step.graph();
  result.step = step.compiled();
  result.planned = step.executor().planned();
  if (!report_path.empty()) HOCKET_CHECK(step.report(report_path));
  return result;
}

}  // namespace hocket::tool
