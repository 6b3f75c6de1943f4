// Programs of the same kinds as the captured ones on which nothing was tuned: faster and slower links, other kernels, a part of the program.
// There are no figures of PyTorch for them, so overlap is compared with the best of the classic passes and with the lower bound. What
// was not tuned to the captured graphs alone is as good here as there.
#pragma once

#include "schedule_rows.h"

namespace hocket {

struct Holdout {
  std::string variant;  // "as captured" is the reference
  std::size_t graphs = 0;
  double to_classic = 0;        // step time against the best classic pass, geometric mean
  double worst_to_classic = 0;  // the largest
  double to_bound = 0;          // step time against the lower bound with merging, geometric mean
  double worst_to_bound = 0;
  std::size_t worse_than_input = 0;  // graphs
  std::size_t above_limit = 0;       // graphs that take more memory than they did
};

// Of all captured graphs of up to so many nodes, overlap at the default effort and the original's peak.
Result<std::vector<Holdout>> measure_holdout(const BenchFlags& flags, const CompileOptions& base,
                                             std::size_t most_nodes);

std::string markdown_of(const std::vector<Holdout>& list);

}  // namespace hocket
