// What bench schedule measures: every way of scheduling on every captured graph, and how the pass overlap grows with the program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hocket/compile/compile.h"
#include "measuring.h"
#include "pytorch_results.h"

namespace hocket {

// Lists of classic passes.
extern const std::vector<std::string> classic_passes;

struct Reached {
  double step_ms = 0;
  double peak_gib = 0;
  double pass_ms = 0;  // CPU time
};

struct GraphRow {
  std::string name;
  std::size_t nodes = 0;
  PytorchResult pytorch;
  Reached original;
  double bound_ms = 0;  // of pure reordering
  std::string bound;
  double merged_bound_ms = 0;  // with collectives merged at will, in whatever memory
  std::string merged_bound;
  std::map<std::string, Reached> by;  // pass list, or "overlap EFFORT original|pytorch"
};

struct Growth {
  std::size_t nodes = 0;
  std::map<std::string, double> ms;  // by effort
};

// Graphs of the folder of captures that RESULTS.md has figures for, smallest first.
Result<std::vector<GraphRow>> measure_graphs(const BenchFlags& flags, const CompileOptions& base);
// Graphs that are made by repeating a layer, up to a million nodes.
Result<std::vector<Growth>> measure_growth(bool quick, const CompileOptions& base);

// Step times against PyTorch's best, geometric mean over all graphs.
double mean_ratio(const std::vector<GraphRow>& rows, const std::string& which);
// The same of the lower bounds with merging: no way of scheduling gets below it.
double mean_bound(const std::vector<GraphRow>& rows);

}  // namespace hocket
