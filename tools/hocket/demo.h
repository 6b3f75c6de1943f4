// What `hocket demo` does. There are two implementations: with_torch in hocket-torch, and no_torch in hocket, which hands
// over to hocket-torch.
#pragma once

#include <string>

namespace hocket::tool {

struct DemoOptions {
  // Where the graph file goes; empty: build/demo where there is a folder build, else the current one.
  std::string folder;
  bool json = false;  // one JSON object instead of text
};

// Captures a training step of a small model, verifies, prints and writes its graph. Returns the exit code.
int run_demo(const DemoOptions& options);

}  // namespace hocket::tool
