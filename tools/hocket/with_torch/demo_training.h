// What a rank of the demo does: it trains the same model twice, as libtorch runs it and compiled, step by step in turn.
#pragma once

#include <string>
#include <vector>

#include "hocket/base/units.h"
#include "hocket/comm/world.h"
#include "hocket/torch/compile.h"

namespace hocket::tool {

// One way to train.
struct Training {
  std::vector<double> losses;
  std::vector<Nanoseconds> steps;
  std::vector<Nanoseconds> exposed;  // of each step: the time for which it did nothing but wait for others
};

struct DemoResult {
  Training eager, compiled;
  bool same_weights = false;  // at the end, to the last bit
  std::int64_t parameters = 0;
  Graph graph;
  Compiled step;
  Bytes planned;
};

// Writes a page about the compiled step, and its last run, where a path is given.
Result<DemoResult> train_demo(const World& world, const std::string& report_path);

}  // namespace hocket::tool
