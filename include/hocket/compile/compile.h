// The pipeline: a list of named passes, each timed, checked and reported.
//
//   CompileOptions options;
//   options.passes = *parse_passes("bucket_all_gather,sink_waits_iterative");
//   Result<Compiled> compiled = compile(std::move(graph), options);
//
// After every pass the verifier looks at the result: the program itself, the order if the pass only reordered, and the peak memory
// that it claims. A pass that fails, or whose result is wrong, leaves a reproducer: what it was given, and the command that replays it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "hocket/compile/pass.h"
#include "hocket/cost/agree.h"

namespace hocket {

// What an order costs by the two-lane model.
struct Measures {
  Nanoseconds step_time;
  Nanoseconds period;  // of each of many runs, if they carry their tails (hocket/ir/tail.h); of a graph: as step_time
  Nanoseconds exposed;
  Nanoseconds compute;
  Nanoseconds communication;  // sum over all collectives
  Nanoseconds lower_bound;    // no order of the same steps takes less
  Bytes peak;
  std::size_t steps = 0;
  std::size_t collectives = 0;
};
Result<Measures> measure(const Subject& subject, const CostModel& cost);

struct PassRun {
  std::string call;
  std::chrono::duration<double, std::milli> time{};      // of the pass
  std::chrono::duration<double, std::milli> verified{};  // of the checks after it
  bool changed = false;
  bool skipped = false;  // switched off by name
  std::string report;
  std::vector<std::string> notes;
};

struct CompileOptions {
  CostOptions cost;
  std::vector<PassCall> passes;  // empty: default_passes()
  std::vector<std::string> off;  // names of passes to leave out
  MemoryLimit memory_limit;
  bool verify = true;
  // All ranks that compile this program. They agree on what every step takes before anything is decided, and compare what they
  // decided at the end. Absent: this rank decides alone.
  AllGather* all_ranks = nullptr;
  std::string reproducer_folder;  // where a failure leaves its reproducer; empty: nowhere
  std::function<void(const PassRun&, const Subject&)> after_pass;  // for progress and printing
};

struct Compiled {
  Subject subject;
  std::vector<PassRun> runs;
  Measures before, after;
  std::vector<std::string> assumptions;  // of the estimates of what was given; also logged, as one warning
  std::optional<IterativeResult> raised,
      sunk;             // of the last passes that say so, if nothing but the order changed since
  double total_ms = 0;  // all of it: passes, checks, measuring

  const Graph* graph() const { return std::get_if<Graph>(&subject); }
  const Program* program() const { return std::get_if<Program>(&subject); }
};

// The list that runs when nobody says otherwise.
std::vector<PassCall> default_passes();

Result<Compiled> compile(Subject subject, const CompileOptions& options,
                         const PassRegistry& registry = PassRegistry::builtin());

}  // namespace hocket
