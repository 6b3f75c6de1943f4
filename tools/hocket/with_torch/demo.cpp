#include "demo.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <filesystem>
#include <system_error>

#include "before_and_after.h"
#include "command.h"
#include "hocket/compile/compile.h"
#include "hocket/ir/file.h"
#include "hocket/ir/json.h"
#include "hocket/ir/stats.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "hocket/torch/capture.h"
#include "hocket/torch/collectives.h"

namespace hocket::tool {

namespace {

namespace nn = torch::nn;

constexpr int ranks = 4;
constexpr std::int64_t batch = 32, features = 256, hidden = 512, classes = 10;
constexpr double learning_rate = 0.1;
constexpr std::string_view passes =
    "fuse_ddp_with_coalesced,reorder_communication_preserving_peak_memory,sink_waits_iterative";

struct Mlp : nn::Module {
  nn::Linear first = register_module("first", nn::Linear(features, hidden));
  nn::Linear second = register_module("second", nn::Linear(hidden, hidden));
  nn::Linear last = register_module("last", nn::Linear(hidden, classes));

  at::Tensor forward(const at::Tensor& x) { return last(torch::relu(second(torch::relu(first(x))))); }
};

// One step of data-parallel training as a user writes it: each gradient is averaged over the ranks when the backward
// has it, then the optimizer changes the weights.
Result<Capture> capture_training_step() {
  const OnMeta without_data;
  Mlp model;
  for (at::Tensor& parameter : model.parameters()) {
    parameter.register_hook(
        [&](const at::Tensor& gradient) { return gradient.copy_(all_reduce(gradient / ranks, "sum", "dp")); });
  }
  torch::optim::SGD optimizer(model.parameters(), learning_rate);
  const auto step = [&](const std::vector<at::Tensor>& inputs) {
    const at::Tensor loss = nn::functional::cross_entropy(model.forward(inputs[0]), inputs[1]);
    loss.backward();
    optimizer.step();
    return std::vector<at::Tensor>{loss};
  };
  CaptureOptions options;
  options.name = "mlp_step";
  options.input_names = {"x", "label"};
  options.parameters = named_tensors(model);
  options.groups = {{"dp", {0, 1, 2, 3}}};
  options.world_size = ranks;
  options.rank = 0;
  return capture(step, {torch::empty({batch, features}), torch::empty({batch}, torch::kLong)}, options);
}

// The file's path, in a folder that is there afterwards.
Result<std::string> make_path(const DemoOptions& options) {
  std::filesystem::path folder = options.folder;
  std::error_code error;
  if (folder.empty()) folder = std::filesystem::is_directory("build", error) ? "build/demo" : ".";
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::system, "cannot make the folder {}: {}", folder.string(), error.message());
  return (folder / "mlp_step.json.gz").lexically_normal().string();
}

// Without problems: with any, the demo ends before it gets here.
std::string as_json(const Graph& graph, const std::string& path) {
  std::string json = "{\"file\":";
  append_json_string(json, path);
  json += ",\"problems\":[],\"stats\":" + stats_json(stats_of(graph)) + ",\"text\":";
  append_json_string(json, print(graph));
  return json + "}\n";
}

// How the user of a build tree calls the command; elsewhere it is on the search path.
std::string command() {
  std::error_code error;
  return std::filesystem::exists("build/hocket", error) ? "build/hocket" : "hocket";
}

// The step as it would run on eight H100s: the gradients in buckets, every collective early and every wait late.
Result<Compiled> compile_step(const Graph& graph) {
  CompileOptions options;
  HOCKET_TRY(options.cost.machine, find_machine("h100x8"));
  HOCKET_TRY(options.passes, parse_passes(passes));
  return compile(graph, options);
}

std::string as_text(const Graph& graph, const Compiled& compiled, const std::string& path) {
  return fmt::format(
      "One training step of a small MLP, captured through libtorch on rank 0 of {}: forward, backward with an\n"
      "all_reduce for each gradient, SGD. Its tensors have shapes and no data: nothing was computed or sent.\n\n"
      "{}\n"
      "verified: 0 problems\n\n"
      "{}\n"
      "compiled for h100x8 by {}:\n"
      "{}\n"
      "written to {}\n"
      "Try next:  {} opt {} --stats\n",
      ranks, print(graph), summary(stats_of(graph)), passes, before_and_after(compiled.before, compiled.after), path,
      command(), path);
}

}  // namespace

int run_demo(const DemoOptions& options) {
  const Result<Capture> captured = capture_training_step();
  if (!captured) return complain(captured.error());
  const Graph& graph = captured->graph;
  if (const auto problems = verify(graph); !problems.empty()) return complain(to_error(problems, "the captured graph"));
  const Result<std::string> path = make_path(options);
  if (!path) return complain(path.error());
  if (const Status written = write_graph(graph, *path); !written) return complain(written.error());
  const Result<Compiled> compiled = compile_step(graph);
  if (!compiled) return complain(compiled.error());
  say(options.json ? as_json(graph, *path) : as_text(graph, *compiled, *path));
  return ok;
}

}  // namespace hocket::tool
