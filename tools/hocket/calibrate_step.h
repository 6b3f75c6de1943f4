// What `hocket calibrate GRAPH` does. There are two implementations: with_torch in hocket-torch, and no_torch in hocket, which hands
// over to hocket-torch.
#pragma once

#include <string>

namespace hocket::tool {

struct CalibrateStepOptions {
  std::string graph;
  std::string profile;  // where the times of the kernels go; empty: nowhere
  std::string machine;  // where a machine with the times of the collectives goes; empty: nowhere
  int runs = 5;
  int threads = 1;       // of each rank
  bool json = false;     // one JSON object instead of text
  bool as_rank = false;  // be one of the ranks that this command starts
};

// Runs a captured step with as many ranks as it was captured for. Returns the exit code.
int run_calibrate_step(const CalibrateStepOptions& options);

}  // namespace hocket::tool
