#include "demo.h"

#include <memory>

#include "command.h"

namespace hocket::tool {

void add_demo(CLI::App& app, Action& action) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command =
      app.add_subcommand("demo", "Two ranks train a small GPT, as libtorch runs it and compiled by hocket");
  command->add_option("--out", options->folder,
                      "folder for the captured step (default: build/demo where there is a folder build, else .)");
  command->add_flag("--as-rank", options->as_rank)->group("");  // how the demo starts its ranks
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer("Examples:\n  hocket demo\n  hocket demo --out /tmp\n  hocket demo --json | jq .compiled");
  command->callback([options, &action] { action = [options] { return run_demo(*options); }; });
}

}  // namespace hocket::tool
