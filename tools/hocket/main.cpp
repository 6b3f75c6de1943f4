// `hocket`: starts at once, because it does not load libtorch.
#include "command_line.h"
#include "hand_over.h"

int main(int argc, char** argv) {
  using namespace hocket::tool;
  const auto elsewhere = [argv](const DemoOptions&) { return hand_over_to_torch(argv); };
  return run_command_line(argc, argv, {.demo = elsewhere});
}
