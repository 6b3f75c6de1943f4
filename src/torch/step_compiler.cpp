#include "torch/step_compiler.h"

#include <algorithm>
#include <array>

#include "hocket/run/all_ranks.h"

namespace hocket {

namespace {

constexpr const char* bucketing = "fuse_ddp_with_coalesced";

bool has_buckets(const Compiled& compiled) {
  return std::ranges::any_of(compiled.runs,
                             [](const PassRun& run) { return run.changed && run.call.starts_with(bucketing); });
}

// The optimiser that decides on buckets, order and memory together, in place of the default's passes for each.
std::vector<PassCall> overlap_passes() {
  return {{"remove_dead_getitems", {}},
          {"fold_averages", {}},
          {"forward_copies", {}},
          {"overlap", {}},
          {"lower", {}},
          {"sink_waits_iterative", {{"estimates", "off"}, {"group", "off"}}},
          {"plan", {}}};
}

// The same for runs that carry their tails.
std::vector<PassCall> carried(std::vector<PassCall> passes) {
  const auto plan = std::ranges::find(passes, "plan", &PassCall::name);
  if (plan == passes.end()) return passes;
  plan->arguments.emplace_back("carry", "on");
  passes.insert(plan, PassCall{"carry_over", {}});
  return passes;
}

}  // namespace

StepCompiler::StepCompiler(const World& world, const StepOptions& options)
    : world_(world), options_(options), registry_(options.registry ? *options.registry : PassRegistry::builtin()) {}

Result<Compiled> StepCompiler::with(const std::vector<PassCall>& passes, const Graph& graph,
                                    const CostOptions& cost) const {
  CompileOptions how;
  how.cost = cost;
  how.passes = options_.across_steps ? carried(passes) : passes;
  how.memory_limit = options_.memory_limit;
  HOCKET_TRY(const Communicator everybody, world_.communicator());
  AllRanks all(everybody);
  how.all_ranks = &all;
  HOCKET_TRY(Compiled compiled, hocket::compile(graph, how, registry_));
  if (compiled.program() == nullptr) {
    return fail(ErrorKind::usage,
                "the passes of step {} end with a graph, expected a planned program: have lower and plan among them",
                options_.name);
  }
  return compiled;
}

Result<Compiled> StepCompiler::compile_once(const Graph& graph, const CostOptions& cost) const {
  return with(options_.passes.empty() ? default_step_passes() : options_.passes, graph, cost);
}

// The default passes with several sizes of buckets for data-parallel gradients: few large ones are best where the network is fast,
// smaller ones where it is slow, and a rank has to begin with communication before the backward is done. What then still stands
// exposed is worth the search of `overlap`.
Result<Compiled> StepCompiler::compile(const Graph& graph, const CostOptions& cost) const {
  if (!options_.passes.empty()) return with(options_.passes, graph, cost);
  constexpr std::array bucket_sizes = {"25", "8", "4", "2", "1"};  // MiB
  constexpr double worth_it = 0.99;                                // of the step with larger ones
  std::optional<Compiled> best;
  const auto time = [this](const Compiled& compiled) {
    return options_.across_steps ? compiled.after.period : compiled.after.step_time;
  };
  const auto consider = [&](Compiled compiled) {
    const bool better = !best || time(compiled).seconds() < worth_it * time(*best).seconds();
    if (better) best = std::move(compiled);
  };
  const auto is_exposed = [&] { return time(*best) > best->after.compute; };
  for (const char* const size : bucket_sizes) {
    std::vector<PassCall> passes = default_step_passes();
    for (PassCall& pass : passes) {
      if (pass.name == bucketing) pass.arguments = {{"bucket_size_mb", size}};
    }
    HOCKET_TRY(Compiled compiled, with(passes, graph, cost));
    const bool sizes_matter = has_buckets(compiled);
    consider(std::move(compiled));
    if (!is_exposed() || !sizes_matter) break;
  }
  if (is_exposed()) {
    HOCKET_TRY(Compiled compiled, with(overlap_passes(), graph, cost));
    consider(std::move(compiled));
  }
  return std::move(*best);
}

}  // namespace hocket
