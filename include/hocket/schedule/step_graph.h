// What a scheduler knows of a program: steps with what must come before them, the lane and time of each, and the memory that they hold.
// Made from a Graph (a step for each node) or from a Program (a step for each step), so that passes work on both.
//
//   const auto steps = StepGraph::of(graph, cost.times(graph));
//   for (StepIndex before : steps->before(step)) …
//
// The model is that of ../shared/graphs/RESULTS.md: one compute lane in program order, one communication lane for each set of
// ranks in issue order. A buffer lives from the first step that touches it to the last; what a collective reads lives until its
// wait; inputs live throughout, results to the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/base/units.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

using StepIndex = std::uint32_t;  // position in the original order
inline constexpr StepIndex no_step = 0xffffffff;

enum class StepKind : std::uint8_t {
  fixed,       // an input or the output: keeps its place before or behind everything else
  compute,     // on the compute lane
  collective,  // issued by the compute lane, runs on its group's lane
  wait,        // holds the compute lane until a collective has ended
};

// Memory that steps share. Inputs are not among them: they live throughout, whatever the order.
struct StepBuffer {
  Bytes bytes;
  bool kept = false;  // a result of the program: lives to the end
};

struct StepGraphOptions {
  bool keep_collective_order = true;  // off only where all ranks agree on the new order
  // Beside what the values ask for: the first of these before the second, as they are in the original order.
  std::vector<std::pair<StepIndex, StepIndex>> orders = {};
};

class StepGraph {
 public:
  // `times` has one entry for each node or step.
  static Result<StepGraph> of(const Graph& graph, std::span<const Nanoseconds> times,
                              const StepGraphOptions& options = {});
  static Result<StepGraph> of(const Program& program, std::span<const Nanoseconds> times,
                              const StepGraphOptions& options = {});

  std::size_t size() const { return steps_.size(); }
  StepKind kind(StepIndex step) const { return steps_[step].kind; }
  Nanoseconds time(StepIndex step) const { return steps_[step].time; }
  // What it takes of the compute lane: a collective and a wait take nothing there.
  Nanoseconds time_on_compute(StepIndex step) const {
    return kind(step) == StepKind::collective ? Nanoseconds() : steps_[step].time;
  }
  bool gemm(StepIndex step) const { return steps_[step].gemm; }
  std::uint32_t lane(StepIndex step) const { return steps_[step].lane; }  // of a collective
  bool blocks(StepIndex step) const { return steps_[step].blocks; }  // communicates on a lane, and compute waits for it
  StepIndex awaited(StepIndex wait) const { return steps_[wait].partner; }  // the collective that a wait completes
  StepIndex first_wait(StepIndex collective) const {
    return steps_[collective].partner;
  }  // in the original order, or no_step
  std::string_view name(StepIndex step) const { return names_[step]; }

  std::size_t lanes() const { return lane_names_.size(); }
  std::string_view lane_name(std::uint32_t lane) const { return lane_names_[lane]; }
  std::span<const StepIndex> collectives() const { return collectives_; }  // in the original order

  // Direct dependencies, each once, in ascending order.
  std::span<const StepIndex> before(StepIndex step) const { return slice(before_, step); }
  std::span<const StepIndex> after(StepIndex step) const { return slice(after_, step); }
  bool depends(StepIndex step, StepIndex on) const;  // directly

  std::span<const StepBuffer> buffers() const { return buffers_; }
  std::span<const std::uint32_t> touches(StepIndex step) const { return slice(touches_, step); }
  std::span<const StepIndex> touched_by(std::uint32_t buffer) const { return slice(touched_by_, buffer); }
  Bytes input_bytes() const { return input_bytes_; }

  // The steps in their original order, inputs in front.
  std::vector<StepIndex> original_order() const;

 private:
  friend class StepGraphBuilder;

  struct Lists {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> elements;
  };
  static std::span<const std::uint32_t> slice(const Lists& lists, std::uint32_t index) {
    return std::span(lists.elements).subspan(lists.begin[index], lists.begin[index + 1] - lists.begin[index]);
  }
  struct Record {
    Nanoseconds time;
    StepIndex partner = no_step;
    std::uint32_t lane = 0;
    StepKind kind = StepKind::compute;
    bool gemm = false;
    bool blocks = false;
  };

  std::vector<Record> steps_;
  std::vector<std::string_view> names_;  // in the graph or program, which must outlive this
  std::vector<std::string> lane_names_;
  std::vector<StepIndex> collectives_;
  Lists before_, after_;
  std::vector<StepBuffer> buffers_;
  Lists touches_, touched_by_;
  Bytes input_bytes_;
};

}  // namespace hocket
