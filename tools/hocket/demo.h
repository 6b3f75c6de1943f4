// What `hocket demo` does. There are two implementations, of which one is compiled: with_torch and no_torch.
#pragma once

#include <string>

namespace hocket::tool {

struct DemoOptions {
  std::string
      folder;  // where the graph file goes; empty: build/demo where there is a folder build, else the current one
  bool json = false;  // one JSON object instead of text
};

// Captures a training step of a small model, verifies, prints and writes its graph. Returns the exit code.
int run_demo(const DemoOptions& options);

}  // namespace hocket::tool
