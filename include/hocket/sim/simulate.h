// Runs programs on a machine that is not there: discrete events over all ranks, each with a compute lane and an in-order queue for
// each of its groups.
//
//   HOCKET_TRY(const SimProgram program, sim_program(graph, cost));
//   HOCKET_TRY(const SimResult result, simulate(program, machine, {.slowdown = 1.1}));
//   result.step_time, result.shown.stood[step], …
//
// A collective begins when all ranks of its group have issued it and the one before it on the group has ended. What it would take
// alone comes from the cost model; while ranks carry several at once, these share the ranks' links (max-min fair), level by level.
// With one communication at a time, no slowdown and no launch cost, this is the two-lane model of schedule/timeline.h, to the
// picosecond. docs/simulator.md describes the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hocket/compile/pass.h"
#include "hocket/cost/machine.h"
#include "hocket/schedule/step_graph.h"

namespace hocket {

// Ranks that communicate with each other, as one of them sees it.
struct SimLane {
  std::string name;
  std::vector<Rank> ranks;
};

struct SimStep {
  StepKind kind = StepKind::compute;
  Nanoseconds time;            // of a collective: alone on its links
  std::uint32_t lane = 0;      // of a collective, and of a wait: its collective's
  std::uint32_t sequence = 0;  // the how-manieth collective of its lane, from 0; of a wait: its collective's
  StepIndex step = no_step;    // in the graph or program
  bool blocks = false;         // a collective, and its wait right behind it, that are one step of the graph or program
};

// What one rank does, in the order in which it does it.
struct SimProgram {
  std::string name;
  std::vector<SimStep> steps;
  std::vector<SimLane> lanes;
  std::size_t size = 0;            // nodes or steps of the graph or program
  Rank rank;                       // whose program it is
  std::int64_t world = 1;          // ranks of all programs together
  std::vector<Nanoseconds> times;  // by node or step
  std::vector<std::string> names;  // by node or step
};

// `times` has one entry for each node or step; `lanes`, where given, stand for the program's groups (see scale_program).
Result<SimProgram> sim_program(const Subject& subject, const CostModel& cost);
Result<SimProgram> sim_program(const Subject& subject, std::vector<Nanoseconds> times, std::vector<SimLane> lanes,
                               std::int64_t world);

struct Straggler {
  Rank rank;
  double factor = 1;  // of the time of everything that it computes
};

struct SimOptions {
  bool share_links = true;  // off: every collective has the links for itself
  Nanoseconds launch = {};  // what the compute lane needs to issue a collective
  double slowdown = 1.0;    // of computing while the rank communicates
  double jitter =
      0;  // standard deviation of what a step takes, relative; log-normal, another draw for each rank and step
  std::uint64_t seed = 1;  // of the jitter
  std::vector<Straggler> stragglers = {};
  std::vector<Nanoseconds> late = {};  // when each rank begins; empty: all at once
  bool fold = true;                    // simulate one rank for all, where all do the same at the same time
  Rank shown = {};                     // whose timeline is kept
};
Status check(const SimOptions& options);

// When what happens on one rank; by node or step.
struct SimTimeline {
  std::vector<Nanoseconds> begin, end, issued, stood;
};

struct SimResult {
  Nanoseconds step_time;       // until the last rank and the last communication are done
  Nanoseconds exposed;         // of the shown rank: its compute lane stands still, the tail included
  Nanoseconds mean_exposed;    // over all ranks
  Rank slowest;                // the last one to be done, not counting what it waits for others at the end
  std::int64_t ranks = 1;      // of the program
  std::int64_t simulated = 1;  // 1: folded
  std::uint64_t events = 0;
  SimTimeline shown;
};

// All ranks of the world run this program, each in groups of its own: where rank 0 is in ranks[0,8,16], rank 1 is in
// ranks[1,9,17]. Groups must be evenly spaced.
Result<SimResult> simulate(const SimProgram& program, const Machine& machine, const SimOptions& options = {});
// Every rank its own program, by rank; groups of the same ranks are the same group. Ranks that would wait for each other for ever
// are an error that shows the cycle.
Result<SimResult> simulate(std::span<const SimProgram> programs, const Machine& machine,
                           const SimOptions& options = {});

}  // namespace hocket
