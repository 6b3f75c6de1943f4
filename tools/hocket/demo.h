// What `hocket demo` does. There are two implementations: with_torch in hocket-torch, and no_torch in hocket, which hands
// over to hocket-torch.
#pragma once

#include <string>

namespace hocket::tool {

struct DemoOptions {
  // Where the graph file goes; empty: build/demo where there is a folder build, else the current one.
  std::string folder;
  bool json = false;     // one JSON object instead of text
  bool as_rank = false;  // be one of the ranks that the demo starts
};

// Two ranks train a small GPT, as libtorch runs it and compiled; prints what came out and writes the captured step. Returns the
// exit code.
int run_demo(const DemoOptions& options);

}  // namespace hocket::tool
