#include "demo.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "comm/launch.h"
#include "command.h"
#include "hocket/base/median.h"
#include "hocket/ir/file.h"
#include "with_torch/demo_training.h"

namespace hocket::tool {

namespace {

constexpr int ranks = 2;

struct DemoFiles {
  std::string graph, report;
};

// In a folder that is there afterwards.
Result<DemoFiles> make_paths(const DemoOptions& options) {
  std::filesystem::path folder = options.folder;
  std::error_code error;
  if (folder.empty()) folder = std::filesystem::is_directory("build", error) ? "build/demo" : ".";
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorKind::system, "cannot make the folder {}: {}", folder.string(), error.message());
  return DemoFiles{(folder / "gpt_step.json.gz").lexically_normal().string(),
                   (folder / "report.html").lexically_normal().string()};
}

// How the user of a build tree calls the command; elsewhere it is on the search path.
std::string command() {
  std::error_code error;
  return std::filesystem::exists("build/hocket", error) ? "build/hocket" : "hocket";
}

// Also those that the program carries out at once.
std::size_t collectives_of(const Program& program) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < program.size(); ++i) count += program.collective(StepId(i)) != nullptr ? 1 : 0;
  return count;
}

nlohmann::ordered_json as_json(const Training& training) {
  return {{"loss_first", training.losses.front()},
          {"loss_last", training.losses.back()},
          {"step_ms", upper_median(training.steps).ms()},
          {"exposed_ms", upper_median(training.exposed).ms()}};
}

std::string as_json(const DemoResult& result, const DemoFiles& files) {
  const nlohmann::ordered_json json = {{"file", files.graph},
                                       {"report", files.report},
                                       {"ranks", ranks},
                                       {"parameters", result.parameters},
                                       {"steps", result.eager.losses.size()},
                                       {"same_weights", result.same_weights},
                                       {"eager", as_json(result.eager)},
                                       {"compiled", as_json(result.compiled)},
                                       {"collectives_captured", result.step.before.collectives},
                                       {"collectives_compiled", collectives_of(*result.step.program())},
                                       {"planned_bytes", result.planned.count},
                                       {"compile_ms", result.step.total_ms}};
  return json.dump(2) + "\n";
}

std::string as_text(const DemoResult& result, const DemoFiles& files) {
  const auto row = [](std::string_view what, const std::string& eager, const std::string& compiled) {
    return fmt::format("  {:<34} {:>12} {:>12}\n", what, eager, compiled);
  };
  const auto time = [](const std::vector<Nanoseconds>& times) { return to_string(upper_median(times)); };
  const auto loss = [](double value) { return fmt::format("{:.6f}", value); };
  const Training& eager = result.eager;
  const Training& compiled = result.compiled;
  std::string text = fmt::format(
      "Two ranks train a GPT of {:.2f} million parameters on a text, {} steps: as libtorch runs it, with an all_reduce "
      "for each\n"
      "gradient, and compiled by hocket. They take turns, and each rank has one thread.\n\n",
      static_cast<double>(result.parameters) / 1e6, eager.losses.size());
  text += row("", "eager", "compiled");
  text += row("loss of the first step", loss(eager.losses.front()), loss(compiled.losses.front()));
  text += row("loss of the last step", loss(eager.losses.back()), loss(compiled.losses.back()));
  text += row("time of a step, median", time(eager.steps), time(compiled.steps));
  text += row("of it exposed communication", time(eager.exposed), time(compiled.exposed));
  text += row("collectives", fmt::format("{}", result.step.before.collectives),
              fmt::format("{}", collectives_of(*result.step.program())));
  text += row("memory of values in a step", to_string(result.step.before.peak), to_string(result.planned));
  text += fmt::format("\nweights after {} steps: {}\n", eager.losses.size(),
                      result.same_weights ? "the same, to the last bit" : "DIFFERENT");
  text += fmt::format("captured {} nodes, compiled in {:.0f} ms\n", result.graph.size(), result.step.total_ms);
  text += fmt::format("what happened when, to open in a browser: {}\n", files.report);
  return text +
         fmt::format("the captured step: {}\nTry next:  {} opt {} --stats\n", files.graph, command(), files.graph);
}

// Rank 0 speaks.
Result<int> be_rank(const DemoOptions& options) {
  HOCKET_TRY(const World world, World::join());
  DemoFiles files;
  if (world.rank() == 0) {
    HOCKET_TRY(files, make_paths(options));
  }
  HOCKET_TRY(const DemoResult result, train_demo(world, files.report));
  if (world.rank() != 0) return result.same_weights ? ok : problem;
  HOCKET_CHECK(write_graph(result.graph, files.graph));
  say(options.json ? as_json(result, files) : as_text(result, files));
  return result.same_weights ? ok : problem;
}

Result<int> start_ranks(const DemoOptions& options) {
  LaunchOptions how;
  how.ranks = ranks;
  how.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "demo", "--as-rank"};
  if (options.json) how.command.emplace_back("--json");
  if (!options.folder.empty()) how.command.insert(how.command.end(), {"--out", options.folder});
  how.environment = inherited_environment();
  how.prefix = false;
  return launch(how);
}

}  // namespace

int run_demo(const DemoOptions& options) {
  const Result<int> code = options.as_rank ? be_rank(options) : start_ranks(options);
  return code ? *code : complain(code.error());
}

}  // namespace hocket::tool
