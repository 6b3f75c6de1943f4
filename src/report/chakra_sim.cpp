#include <algorithm>
#include <unordered_map>

#include "hocket/report/chakra.h"

namespace hocket {

namespace {

class ReplayMaker {
 public:
  explicit ReplayMaker(const ChakraTrace& trace) : trace_(trace) {
    program_.name = trace.name;
    program_.lanes = trace.groups;
    program_.rank = trace.rank;
    program_.world = trace.world;
  }

  SimProgram make() {
    for (const ChakraNode& node : trace_.nodes) {
      for (const auto* list : {&node.control, &node.data}) {
        for (const std::uint64_t id : *list) wait_for(id, node);
      }
      if (node.type == ChakraType::metadata) continue;
      SimStep step{StepKind::compute, node.time, 0, 0, 0};
      if (node.communicates()) {
        step.kind = StepKind::collective;
        step.lane = lane_of(node);
        step.sequence = next_[step.lane]++;
        in_flight_.emplace(node.id, step);
      }
      add(step, node.name);
    }
    program_.size = program_.steps.size();
    return std::move(program_);
  }

 private:
  // A group that the trace does not describe is a group of this rank alone: it takes what the nodes say.
  std::uint32_t lane_of(const ChakraNode& node) {
    const std::string name = node.group.empty() ? "world" : node.group;
    const auto found = std::find_if(program_.lanes.begin(), program_.lanes.end(),
                                    [&](const SimLane& lane) { return lane.name == name; });
    const auto lane = static_cast<std::uint32_t>(found - program_.lanes.begin());
    if (found == program_.lanes.end()) program_.lanes.push_back({name, {trace_.rank}});
    if (next_.size() <= lane) next_.resize(lane + 1);
    return lane;
  }

  // Once for each collective; the queue of a group keeps its own order.
  void wait_for(std::uint64_t id, const ChakraNode& node) {
    const auto found = in_flight_.find(id);
    if (found == in_flight_.end()) return;
    if (node.communicates() && lane_of(node) == found->second.lane) return;
    SimStep wait = found->second;
    wait.kind = StepKind::wait;
    wait.time = {};
    in_flight_.erase(found);
    add(wait, "wait for " + std::to_string(id));
  }

  void add(SimStep step, std::string name) {
    step.step = static_cast<StepIndex>(program_.steps.size());
    program_.steps.push_back(step);
    program_.times.push_back(step.time);
    program_.names.push_back(std::move(name));
  }

  const ChakraTrace& trace_;
  SimProgram program_;
  std::vector<std::uint32_t> next_;
  std::unordered_map<std::uint64_t, SimStep> in_flight_;
};

}  // namespace

Result<SimProgram> sim_program(const ChakraTrace& trace) { return ReplayMaker(trace).make(); }

}  // namespace hocket
