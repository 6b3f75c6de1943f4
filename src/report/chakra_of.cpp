// A schedule as a Chakra trace.
#include <algorithm>

#include "hocket/report/chakra.h"
#include "report/shown_steps.h"

namespace hocket {

namespace {

template <class Form>
class ChakraMaker {
 public:
  ChakraMaker(const Form& form, const StepGraph& steps)
      : calls_(calls_of(form)), steps_(steps), depends_(steps.size()) {}

  std::vector<ChakraNode> make() {
    for (const StepIndex step : steps_.original_order()) {
      const bool communicates = steps_.kind(step) == StepKind::collective;
      const bool computes = steps_.kind(step) == StepKind::compute && steps_.time(step) > Nanoseconds();
      if (communicates || computes) add(step, communicates);
      else pass_on(step);
    }
    return std::move(nodes_);
  }

 private:
  static void merge(std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& from) {
    into.insert(into.end(), from.begin(), from.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  }

  // What is no node hands on what it depends on. A wait holds the compute lane: whatever comes behind it comes behind its collective.
  void pass_on(StepIndex step) {
    take_over(step, depends_[step]);
    if (steps_.kind(step) != StepKind::wait) return;
    merge(depends_[step], depends_[steps_.awaited(step)]);
    merge(waited_, depends_[steps_.awaited(step)]);
  }

  // For all but waits it is enough that a collective was issued, and the order of nodes says that.
  void take_over(StepIndex step, std::vector<std::uint64_t>& into) {
    for (const StepIndex before : steps_.before(step)) {
      if (steps_.kind(before) != StepKind::collective) merge(into, depends_[before]);
    }
  }

  void add(StepIndex step, bool communicates) {
    ChakraNode node;
    node.id = nodes_.size();
    node.name = steps_.name(step);
    node.time = steps_.time(step);
    node.bytes = bytes_of(calls_, step);
    node.flops = static_cast<std::uint64_t>(std::max<std::int64_t>(calls_.measured(step).flops, 0));
    if (const Collective* comm = calls_.collective(step)) {
      node.kind = comm->kind;
      node.bytes = comm->bytes_in;
    }
    if (communicates) {
      node.type = ChakraType::collective;
      node.group = steps_.lane_name(steps_.lane(step));
    }
    take_over(step, node.data);
    // The next computing behind a wait comes behind its collective. What is issued behind it does too.
    node.control = waited_;
    if (last_compute_) merge(node.control, {*last_compute_});
    if (!communicates) {
      last_compute_ = node.id;
      waited_.clear();
    }
    std::erase_if(node.control,
                  [&](std::uint64_t id) { return std::binary_search(node.data.begin(), node.data.end(), id); });
    depends_[step] = {node.id};
    nodes_.push_back(std::move(node));
  }

  decltype(calls_of(std::declval<const Form&>())) calls_;
  const StepGraph& steps_;
  std::vector<std::vector<std::uint64_t>> depends_;  // by step: the nodes behind which it comes
  std::vector<std::uint64_t> waited_;                // collectives that were waited for since the last computing
  std::optional<std::uint64_t> last_compute_;
  std::vector<ChakraNode> nodes_;
};

}  // namespace

Result<ChakraTrace> chakra_of(const Subject& subject, const CostModel& cost) {
  HOCKET_TRY(SimProgram program, sim_program(subject, cost));
  ChakraTrace trace;
  trace.name = program.name;
  trace.groups = std::move(program.lanes);
  trace.rank = program.rank;
  trace.world = program.world;
  HOCKET_CHECK(std::visit(
      [&]<class Form>(const Form& form) -> Status {
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, program.times));
        trace.nodes = ChakraMaker<Form>(form, steps).make();
        return {};
      },
      subject));
  return trace;
}

}  // namespace hocket
