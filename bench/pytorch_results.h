// What PyTorch's passes reach on the captured graphs, from the table in RESULTS.md beside them.
#pragma once

#include <map>
#include <string>

#include "hocket/base/error.h"

namespace hocket {

struct PytorchResult {
  std::string variant;     // the best one: "overlap"
  double step_ms = 0;      // of the best one
  double peak_gib = 0;     // that it used
  double reorder_ms = 0;   // the best of those that only reorder
  double lower_bound = 0;  // of pure reordering
  std::string seconds;     // CPU seconds of its passes, as the table has them
};

// By the name of the graph.
Result<std::map<std::string, PytorchResult>> read_pytorch_results(const std::string& file);

}  // namespace hocket
