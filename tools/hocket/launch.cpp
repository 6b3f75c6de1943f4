#include "comm/launch.h"

#include <memory>

#include "command.h"
#include "hocket/base/env.h"

namespace hocket::tool {

namespace {

struct LaunchCommand {
  int ranks = 0;
  double grace = 5.0;
  std::string bind = "none";
  std::string output_folder;
  bool no_prefix = false;
};

int run_launch(const LaunchCommand& command, const std::vector<std::string>& program) {
  if (program.empty()) {
    return complain(
        {ErrorKind::usage, "launch needs a program to start: hocket launch -n 4 PROGRAM [ARGUMENT...]", {}});
  }
  LaunchOptions options;
  options.ranks = command.ranks;
  options.command = program;
  options.search = Env::get().path;
  options.environment = inherited_environment();
  options.grace = std::chrono::milliseconds(static_cast<std::int64_t>(command.grace * 1000.0));
  options.prefix = !command.no_prefix;
  options.bind_to_cores = command.bind == "core";
  options.output_folder = command.output_folder;
  const Result<int> code = launch(options);
  return code ? *code : complain(code.error());
}

bool takes_a_value(const CLI::App& command, const std::string& argument) {
  const CLI::Option* option = command.get_option_no_throw(argument);
  return option != nullptr && option->get_items_expected_max() > 0;
}

constexpr const char* examples =
    "Examples:\n"
    "  hocket launch -n 4 ./train --steps 100\n"
    "  hocket launch -n 2 --bind core -- python train.py\n"
    "  hocket launch -n 8 --output-dir logs ./train\n"
    "\n"
    "Options after PROGRAM are the program's. Rank 0 reads standard input. Signals are passed on to the ranks. When a "
    "rank\n"
    "fails, the others are ended.\n"
    "\n"
    "Exit codes: that of the first rank that failed (128 + signal if a signal ended it), else 0; 127 no such program,\n"
    "126 it can't be run, 2 wrong usage.";

}  // namespace

std::vector<std::string> split_off_program(const CLI::App& app, int& argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "launch") return {};
  const CLI::App& command = *app.get_subcommand("launch");
  int begin = 2;
  while (begin < argc && argv[begin][0] == '-' && std::string(argv[begin]) != "--") {
    begin += takes_a_value(command, argv[begin]) ? 2 : 1;
  }
  const int own = std::min(begin, argc);
  if (begin < argc && std::string(argv[begin]) == "--") ++begin;
  std::vector<std::string> program(argv + std::min(begin, argc), argv + argc);
  argc = own;
  return program;
}

void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& program) {
  auto options = std::make_shared<LaunchCommand>();
  CLI::App* command = app.add_subcommand(
      "launch", "Start the ranks of a program on this host: hocket launch -n N [OPTIONS] PROGRAM [ARGUMENT...]");
  command->add_option("-n,--ranks", options->ranks, "how many")->required()->check(CLI::Range(1, 1'000'000));
  command->add_option("--bind", options->bind, "core: rank r runs on the r-th usable core alone, round robin")
      ->check(CLI::IsMember({"core", "none"}))
      ->capture_default_str();
  command->add_flag("--no-prefix", options->no_prefix, "no \"[rank] \" in front of every line of output");
  command->add_option("--output-dir", options->output_folder,
                      "write output to rank_R.out and rank_R.err in this folder instead");
  command
      ->add_option("--grace", options->grace, "seconds from SIGTERM to SIGKILL for the others when a rank has failed")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->footer(examples);
  command->callback(
      [options, &program, &action] { action = [options, &program] { return run_launch(*options, program); }; });
}

}  // namespace hocket::tool
