// What every node or step takes. The sources, in this order: the capture's own estimate, a measured profile, the machine description.
//
//   const CostModel cost(CostOptions{.machine = *find_machine("h100x8")});
//   const std::vector<Nanoseconds> times = cost.times(graph);     // by position
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/ids.h"
#include "hocket/base/units.h"
#include "hocket/cost/machine.h"
#include "hocket/cost/profile.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

struct CostOptions {
  Machine machine = {};                   // what collectives, copies and everything without a better source take
  bool captured = true;                   // a node's own estimate goes first
  Profile profile = {};                   // measured times; go before the machine's
  double compute_multiplier = 1.0;        // of everything on the compute lane
  double communication_multiplier = 1.0;  // of every collective
};

// What is wrong with the options: the machine, or a multiplier that is negative or no number.
Status check(const CostOptions& options);

// Where a time comes from.
enum class TimeSource : std::uint8_t {
  nothing,       // it takes no time: a view, a wait, an input
  captured,      // the capture's own estimate
  profile_name,  // measured for this node or step
  profile_call,  // measured for this operator with tensors like these
  machine,       // the roofline, the table of collectives or a model
};
std::string_view name_of(TimeSource source);

// Times by position, where each comes from, and what had to be assumed: "mm_3: its size s0 is symbolic and counts as 0; …".
struct Estimates {
  std::vector<Nanoseconds> times;
  std::vector<TimeSource> sources;
  std::vector<std::string> notes;
};

// Logs the notes of estimates, if there are any, as one warning: the first, and how many more there are.
void warn_of_notes(std::string_view what, std::span<const std::string> notes);

class CostModel {
 public:
  explicit CostModel(CostOptions options) : options_(std::move(options)) {}

  // The time of each node: a collective's on its group's lane, everything else's on the compute lane; views, getitem, waits,
  // inputs and the output take nothing. estimate() also says what had to be assumed.
  std::vector<Nanoseconds> times(const Graph& graph) const;
  std::vector<Nanoseconds> times(const Program& program) const;
  Estimates estimate(const Graph& graph) const;
  Estimates estimate(const Program& program) const;

  // A collective that moves so many bytes: all its inputs plus all its outputs, a preallocated `out` counted once.
  Nanoseconds collective(CollectiveKind kind, std::span<const Rank> ranks, Bytes moved) const;
  // A kernel that only moves memory: bytes read plus bytes written.
  Nanoseconds copy(Bytes moved) const;
  // The same before multipliers: what a node that a pass writes says of itself. Multipliers come on top whenever it is read.
  Nanoseconds written_collective(CollectiveKind kind, std::span<const Rank> ranks, Bytes moved) const;
  Nanoseconds written_copy(Bytes moved) const;

  const CostOptions& options() const { return options_; }

 private:
  CostOptions options_;
};

}  // namespace hocket
