// What hocket adds to what it calls: to kernels in a compiled step, and to the communicator in a collective on tensors.
//
//   ./hk bench overhead [--quick] [--json FILE] [--check]
//
// Everything is measured several times in turn and the least counts: what else runs on the machine only adds.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"
#include "hocket/plan/plan.h"
#include "hocket/run/executor.h"
#include "hocket/torch/collectives.h"
#include "hocket/torch/compile.h"
#include "measuring.h"

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double most_per_step_ns = 1000;  // asked for: below 1 µs

double nanoseconds(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// ---- The executor, of kernels that do nothing

class IdleKernels final : public KernelProvider {
 public:
  void begin(const Program&) override {}
  void bind(BufferId, std::byte*) override {}
  Result<std::unique_ptr<StepKernel>> kernel(StepId) override { return std::make_unique<Idle>(); }

 private:
  struct Idle final : StepKernel {
    Status run() override { return {}; }
  };
};

// A chain of so many steps.
Result<Program> chain(int steps) {
  std::string text = "graph @chain(%x0: f32[4]) {\n";
  for (int i = 0; i < steps; ++i) text += fmt::format("  %x{} = aten.neg(%x{})\n", i + 1, i);
  HOCKET_TRY(const Graph graph, parse_graph(text + fmt::format("  return %x{}\n}}", steps), "chain"));
  HOCKET_TRY(const Lowered lowered, lower(graph));
  HOCKET_TRY(Planned planned, plan(lowered.program));
  return std::move(planned.program);
}

Result<double> executor_ns_per_step(int rounds) {
  constexpr int steps = 1000;
  HOCKET_TRY(const Program program, chain(steps));
  HOCKET_TRY(const std::vector<World> worlds, World::threads(1));
  IdleKernels kernels;
  HOCKET_TRY(const std::unique_ptr<Executor> executor, Executor::create(program, kernels, worlds[0]));
  std::vector<float> x(4);
  std::vector<InputMemory> inputs;
  for (std::size_t i = 0; i < program.buffers().size(); ++i) {
    if (program.buffer(BufferId(i)).home == Home::input) {
      inputs.push_back({BufferId(i), reinterpret_cast<std::byte*>(x.data())});
    }
  }
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    Status status;
    times.push_back(nanoseconds([&] { status = executor->run(inputs); }) / steps);
    HOCKET_CHECK(status);
  }
  return lowest(times);
}

// ---- A compiled step, beside the same operators called by hand

struct StepFigures {
  double by_hand_ns = 0;   // of one operator, as the eager function calls it
  double compiled_ns = 0;  // of one operator
};

Result<StepFigures> compiled_step(int rounds) {
  constexpr int operators = 200;
  HOCKET_TRY(const std::vector<World> worlds, World::threads(1));
  const WorldScope scope(worlds[0]);
  const at::Tensor x = at::ones({16});
  const auto function = [](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    at::Tensor y = in[0];
    for (int i = 0; i < operators; ++i) y = i % 2 == 0 ? y.neg() : y + in[0];
    return {y};
  };
  HOCKET_TRY(CompiledStep step, compile(function, {x}));
  const at::AutoGradMode no_grad(false);
  std::vector<double> by_hand, compiled;
  for (int round = 0; round < rounds; ++round) {
    Status status;
    by_hand.push_back(nanoseconds([&] { function({x}); }) / operators);
    compiled.push_back(nanoseconds([&] { status = step.run({x}).map([](const auto&) {}); }) / operators);
    HOCKET_CHECK(status);
  }
  return StepFigures{lowest(by_hand), lowest(compiled)};
}

// ---- Collectives on tensors, beside the communicator on their memory

struct CallFigures {
  double raw_ns = 0;
  double tensor_ns = 0;
};

Result<CallFigures> all_reduce_of(const World& world, std::int64_t elements, int rounds) {
  constexpr int calls = 50;
  HOCKET_TRY(const Communicator group, world.communicator());
  const WorldScope scope(world);
  const at::AutoGradMode no_grad(false);
  const at::Tensor tensor = at::zeros({elements});
  float* const memory = tensor.data_ptr<float>();
  std::vector<double> raw, tensors;
  for (int round = 0; round < rounds; ++round) {
    Status status;
    raw.push_back(nanoseconds([&] {
                    for (int i = 0; i < calls && status; ++i)
                      status = group.all_reduce(memory, memory, elements, Dtype::f32, ReduceOp::sum).wait();
                  }) /
                  calls);
    HOCKET_CHECK(status);
    tensors.push_back(nanoseconds([&] {
                        for (int i = 0; i < calls; ++i) all_reduce_(tensor, ReduceOp::sum).wait();
                      }) /
                      calls);
  }
  return CallFigures{lowest(raw), lowest(tensors)};
}

Result<std::map<std::int64_t, CallFigures>> all_reduces(int rounds) {
  std::map<std::int64_t, CallFigures> figures;  // by elements
  HOCKET_TRY(std::vector<World> worlds, World::threads(2));
  std::vector<Status> outcomes(worlds.size());
  std::vector<std::thread> ranks;
  for (World& world : worlds) {
    ranks.emplace_back([&, mine = std::move(world)] {
      for (const std::int64_t elements : {1, 256, 4096, 65536}) {
        const Result<CallFigures> one = all_reduce_of(mine, elements, rounds);
        if (!one) outcomes[static_cast<std::size_t>(mine.rank())] = fail(one.error());
        else if (mine.rank() == 0) figures[elements] = *one;
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const Status& outcome : outcomes) HOCKET_CHECK(outcome);
  return figures;
}

Result<int> run(const BenchFlags& flags) {
  const int rounds = flags.quick ? 20 : 200;
  at::set_num_threads(1);
  HOCKET_TRY(const double executor, executor_ns_per_step(rounds));
  HOCKET_TRY(const StepFigures step, compiled_step(rounds));
  HOCKET_TRY(const auto calls, all_reduces(rounds));

  fmt::print("the executor itself              {:7.0f} ns for a step\n", executor);
  fmt::print("an operator on 16 elements       {:7.0f} ns by hand, {:.0f} ns in a compiled step\n", step.by_hand_ns,
             step.compiled_ns);
  nlohmann::ordered_json figures = {{"executor_ns_per_step", executor},
                                    {"operator_by_hand_ns", step.by_hand_ns},
                                    {"operator_compiled_ns", step.compiled_ns}};
  fmt::print("all_reduce between two threads   communicator    tensors    difference\n");
  for (const auto& [elements, call] : calls) {
    fmt::print("  {:>8} elements of f32      {:9.2f} µs {:9.2f} µs {:10.2f} µs\n", elements, call.raw_ns / 1e3,
               call.tensor_ns / 1e3, (call.tensor_ns - call.raw_ns) / 1e3);
    figures["all_reduce"].push_back(
        {{"elements", elements}, {"communicator_ns", call.raw_ns}, {"tensors_ns", call.tensor_ns}});
  }
  std::vector<std::string> missed;
  if (executor >= most_per_step_ns) {
    missed.push_back(
        fmt::format("the executor takes {:.0f} ns for a step, asked for less than {:.0f}", executor, most_per_step_ns));
  }
  return finish("overhead", flags, figures.dump(2), missed);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::BenchFlags flags;
  CLI::App app("What hocket adds to kernels and to the communicator", "bench_overhead");
  flags.add_to(app);
  CLI11_PARSE(app, argc, argv);
  const hocket::Result<int> code = hocket::run(flags);
  return code ? *code : hocket::complain("overhead", code.error());
}
