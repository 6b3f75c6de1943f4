// Gathers the steps, edges and touches of a StepGraph for the readers of graphs and programs.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "hocket/schedule/step_graph.h"

namespace hocket {

class StepGraphBuilder {
 public:
  StepGraphBuilder(std::size_t steps, const StepGraphOptions& options);

  StepIndex add(StepKind kind, Nanoseconds time, std::string_view name, bool gemm);
  std::uint32_t lane(const Group& group);
  void on_lane(StepIndex collective, std::uint32_t lane);  // keeps the order of the lane
  void completes(StepIndex wait, StepIndex collective);

  void edge(StepIndex before, StepIndex after) {
    if (before != after) edges_.emplace_back(after, before);
  }
  void barrier(StepIndex step);      // nothing passes it
  void side_effect(StepIndex step);  // keeps its order among its like

  std::uint32_t buffer(Bytes bytes);
  void keep(std::uint32_t buffer) { graph_.buffers_[buffer].kept = true; }
  void touch(StepIndex step, std::uint32_t buffer) { touches_.emplace_back(step, buffer); }
  void input_bytes(Bytes bytes) { graph_.input_bytes_ += bytes; }

  StepGraph finish();

 private:
  static StepGraph::Lists lists(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t size);
  static StepGraph::Lists turned(const StepGraph::Lists& lists, std::size_t size);

  StepGraph graph_;
  StepGraphOptions options_;
  std::map<std::vector<Rank>, std::uint32_t> lane_of_;
  std::vector<StepIndex> last_on_lane_;
  StepIndex last_barrier_ = no_step;
  StepIndex last_effect_ = no_step;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;    // (after, before)
  std::vector<std::pair<std::uint32_t, std::uint32_t>> touches_;  // (step, buffer)
};

}  // namespace hocket
