// What `hocket demo` is asked for and does.
#pragma once

#include <functional>
#include <string>

namespace hocket::tool {

struct DemoOptions {
  // Where the graph file goes; empty: build/demo where there is a folder build, else the current one.
  std::string folder;
  bool json = false;  // one JSON object instead of text
};

using RunDemo = std::function<int(const DemoOptions&)>;

// Captures a training step of a small model, verifies, prints and writes its graph. Returns the exit code.
// In hocket-torch only.
int run_demo(const DemoOptions& options);

}  // namespace hocket::tool
