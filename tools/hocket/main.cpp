#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "command.h"
#include "hocket/base/nearest.h"
#include "hocket/base/version.h"

namespace hocket::tool {

int complain(const Error& error) {
  fmt::print(stderr, "hocket: {}\n", error.to_string());
  return error.kind == ErrorKind::usage ? usage : problem;
}

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

namespace {

constexpr const char* description =
    "hocket turns a distributed tensor program into one whose communication hides behind its computation.";

constexpr const char* examples =
    "Examples:\n"
    "  hocket demo                               train a small model on two ranks, compiled and not\n"
    "  hocket verify step.json.gz                say everything that is wrong with a program\n"
    "  hocket stats step.json.gz                 what it holds, moves and needs\n"
    "  hocket convert step.json.gz step.hk       the same program as text\n"
    "  hocket opt step.json.gz -o fast.json.gz   hide its communication behind its computation\n"
    "  hocket explain step.json.gz               which communication is exposed, and why\n"
    "  hocket diff step.json.gz fast.json.gz     what moved, and what that changed\n"
    "  hocket sim step.json.gz --hosts 32        the step on a cluster that need not be there\n"
    "  hocket profile trace.json step.json.gz    measured times from a trace of PyTorch's profiler\n"
    "  hocket launch -n 4 ./train                start the ranks of a program on this host\n"
    "  hocket calibrate                          measure what suits this machine\n"
    "\n"
    "Exit codes: 0 ok, 1 a problem was found, 2 wrong usage. HOCKET_LOG=debug says more.";

// CLI11 calls an unknown command an unexpected argument; a user would rather know the ones there are.
int check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return ok;
  std::vector<std::string_view> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  const std::string_view given = argv[1];
  if (std::find(known.begin(), known.end(), given) != known.end()) return ok;
  const std::string_view near = nearest(given, known);
  return complain({ErrorKind::usage,
                   fmt::format("there is no command '{}'{}; known: {}", given,
                               near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(known, ", ")),
                   {}});
}

int run(int argc, char** argv) {
  CLI::App app(description, "hocket");
  app.footer(examples);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("hocket ") + version());
  Action action;
  add_demo(app, action);
  add_verify(app, action);
  add_convert(app, action);
  add_stats(app, action);
  add_opt(app, action);
  add_explain(app, action);
  add_diff(app, action);
  add_sim(app, action);
  add_profile(app, action);
  add_calibrate(app, action);
  std::vector<std::string> program;
  add_launch(app, action, program);
  if (const int code = check_command(app, argc, argv); code != ok) return code;
  program = split_off_program(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? ok : usage;
  }
  if (!action) {
    say(app.help());
    return argc > 1 ? usage : ok;
  }
  return action();
}

}  // namespace
}  // namespace hocket::tool

int main(int argc, char** argv) {
  // A reader that goes away (hocket … | head) is no reason to die without a word: the failed write is reported below.
  std::signal(SIGPIPE, SIG_IGN);
  int code = hocket::tool::problem;
  try {
    code = hocket::tool::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hocket: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "hocket: internal error: {}; please report it\n", error.what());
  }
  if (std::fflush(stdout) != 0 && code == hocket::tool::ok) {
    fmt::print(stderr, "hocket: standard output can't be written\n");
    code = hocket::tool::problem;
  }
  return code;
}
