// `hocket-torch`: the same command line, with what needs libtorch. `hocket` runs it for those commands.
#include "command_line.h"

int main(int argc, char** argv) {
  using namespace hocket::tool;
  return run_command_line(argc, argv, {.demo = run_demo});
}
