#include "ways.h"

#include <ATen/ATen.h>
#include <malloc.h>
#include <torch/optim/sgd.h>

#include <fstream>
#include <thread>

#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "hocket/torch/data_parallel.h"
#include "hocket/torch/fully_shard.h"
#include "hocket/torch/symmetric_tensor.h"
#include "stream.h"

namespace hocket::train_bench {

namespace {

constexpr double learning_rate = 0.01;

// This rank's share of the memory in use: what ranks share counts for each of them in part. Without the programs' code, and without
// what malloc keeps for later.
std::int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/smaps_rollup");
  std::int64_t sum = 0;
  for (std::string word; file >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "Pss_Anon:" || word == "Pss_Shmem:") file >> kilobytes;
    sum += kilobytes * 1024;
  }
  return sum;
}

using Forward = std::function<at::Tensor(const Tensors&)>;

// A model, what computes its loss, and what happens to the gradients after the backward.
struct Trained {
  std::shared_ptr<Model> model;
  Forward loss;
  std::function<void()> after_backward = [] {};
  std::unique_ptr<torch::optim::SGD> optimizer = {};

  Tensors step(const Tensors& batch) {
    optimizer->zero_grad();
    const at::Tensor value = loss(batch);
    value.backward();
    after_backward();
    optimizer->step();
    return {value.detach()};
  }

  // Gradients and what they travel in belong to the model, like its parameters, whoever computes them.
  void touch_gradients(const Tensors& batch) {
    loss(batch).backward();
    after_backward();
    optimizer->zero_grad();
  }
};

void average_blocking(const Model& model, double ranks) {
  for (const at::Tensor& parameter : model.parameters()) {
    parameter.grad().copy_(all_reduce(parameter.grad() / ranks, "sum"));
  }
}

std::int64_t elements_of(const Model& model) {
  std::int64_t elements = 0;
  for (const at::Tensor& parameter : model.parameters()) elements += parameter.numel();
  return elements;
}

// What data-parallel training has to communicate, and nothing else.
Way communication_alone(const Model& model) {
  Way way;
  way.step = [gradients = symmetric_empty({elements_of(model)}, at::kFloat).zero_()]() -> Result<double> {
    all_reduce_(gradients, ReduceOp::avg).wait();
    return 0.0;
  };
  return way;
}

std::shared_ptr<Trained> trained(const std::string& way, std::shared_ptr<Model> model, const World& world) {
  auto made = std::make_shared<Trained>();
  made->model = model;
  if (way.ends_with("fsdp")) {
    auto sharded = std::make_shared<FullySharded<Model>>(model, ShardOptions{.units = model->units()});
    made->loss = [sharded](const Tensors& batch) { return sharded->forward(batch[0], batch[1]); };
  } else if (way == "ddp" || way.starts_with("compiled")) {
    auto parallel = std::make_shared<DistributedDataParallel<Model>>(model);
    made->loss = [parallel](const Tensors& batch) { return parallel->forward(batch[0], batch[1]); };
  } else {
    made->loss = [model](const Tensors& batch) { return model->forward(batch[0], batch[1]); };
    if (way == "blocking") {
      made->after_backward = [model, ranks = world.size()] { average_blocking(*model, ranks); };
    }
  }
  made->optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), learning_rate);
  return made;
}

// A step that computes beside the bytes that its gradients would be.
Result<Way> streaming_way(std::shared_ptr<Trained> made, const Tensors& batch, const World& world,
                          const std::string& address) {
  HOCKET_TRY(Stream stream, Stream::between(world, address));
  const auto bytes = static_cast<std::size_t>(elements_of(*made->model)) * sizeof(float);
  Way way;
  way.step = [made, batch, bytes, link = std::make_shared<Stream>(std::move(stream))]() -> Result<double> {
    Status exchanged;
    std::jthread beside([&] { exchanged = link->exchange(bytes); });
    const auto loss = made->step(batch)[0].item<double>();
    beside.join();
    HOCKET_CHECK(exchanged);
    return loss;
  };
  HOCKET_CHECK(way.step());
  return way;
}

// What is left when a model like this has computed and gone, and when a small step was compiled that communicates more than fits on the
// way at once: what kernels, the compiler and the communicator take once, for themselves.
Result<std::int64_t> bytes_of_first_use(const std::string& model_name, const Tensors& batch) {
  const std::int64_t before = resident_bytes();
  {
    HOCKET_TRY(const std::shared_ptr<Model> model, make_model(model_name));
    model->forward(batch[0], batch[1]).backward();
  }
  {
    constexpr std::int64_t parts = 16;
    constexpr std::int64_t elements =
        25'000;  // no multiple of a block: some blocks have the end of a part and the begin of the next
    const auto small = [](const Tensors& in) {
      Tensors sums;
      for (const AsyncTensor& sum : all_reduce_coalesced(in[0].mul(2).split(elements), "sum")) sums.push_back(sum);
      return sums;
    };
    const at::Tensor example = at::zeros({parts * elements});
    HOCKET_TRY(CompiledStep step, compile(small, {example}, {.measured_runs = 1}));
    HOCKET_CHECK(step.run({example}));
  }
  return resident_bytes() - before;
}

std::vector<double> summary_of(const RunRecord& run, const Program& program) {
  double first = run.total.seconds();
  double computing = 0;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const StepRecord& step = run.steps[i];
    const OpSpec* const spec = program.op_spec(StepId(i));
    if (program.collective(StepId(i)) != nullptr) first = std::min(first, step.start.seconds());
    else if (spec == nullptr || !spec->effects.waits) computing += (step.end - step.start).seconds();
  }
  return {first * 1e9, computing * 1e9};
}

Result<Way> compiled_way(std::shared_ptr<Trained> made, const std::string& model_name, const Tensors& batch,
                         bool across_steps) {
  HOCKET_TRY(const std::int64_t first_use, bytes_of_first_use(model_name, batch));
  made->touch_gradients(batch);
  const std::int64_t before = resident_bytes();
  StepOptions options;
  options.parameters = named_tensors(*made->model);
  options.measured_runs = 3;
  options.across_steps = across_steps;
  options.record = true;
  HOCKET_TRY(CompiledStep compiled,
             compile([made](const Tensors& in) { return made->step(in); }, batch, std::move(options)));
  auto step = std::make_shared<CompiledStep>(std::move(compiled));
  HOCKET_CHECK(step->run(batch));
  HOCKET_CHECK(step->finish());
  Way way;
  way.memory = {static_cast<double>(step->executor().planned().count), static_cast<double>(resident_bytes() - before),
                static_cast<double>(first_use)};
  way.predicted_ns = step->predicted().seconds() * 1e9;
  way.step = [step, made, batch]() -> Result<double> {
    HOCKET_TRY(const Tensors loss, step->run(batch));
    return loss[0].item<double>();
  };
  way.finish = [step] { return step->finish(); };
  way.last_run = [step] { return summary_of(step->executor().last_run(), step->executor().program()); };
  return way;
}

}  // namespace

Result<Way> make_way(const std::string& name, const std::string& model_name, const World& world,
                     const std::string& address) {
  HOCKET_TRY(std::shared_ptr<Model> model, make_model(model_name));
  const Tensors batch = model->batch_of(world.rank());
  try {
    if (name == "communication") return communication_alone(*model);
    std::shared_ptr<Trained> made = trained(name, std::move(model), world);
    if (name.starts_with("compiled")) return compiled_way(std::move(made), model_name, batch, name.ends_with("across"));
    if (name == "streaming") return streaming_way(std::move(made), batch, world, address);
    Way way;
    way.step = [made, batch]() -> Result<double> { return made->step(batch)[0].item<double>(); };
    HOCKET_CHECK(way.step());
    return way;
  } catch (const c10::Error& error) {
    return fail(ErrorKind::internal, "{}: {}", name, error.what_without_backtrace());
  }
}

}  // namespace hocket::train_bench
