#include "compile/overlap_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <memory>
#include <set>

#include "compile/forms.h"
#include "fuse/bucket_candidates.h"
#include "fuse/fusion.h"
#include "hocket/compile/overlap_bound.h"
#include "hocket/cost/collectives.h"
#include "hocket/fuse/copies_to_views.h"
#include "hocket/fuse/exchange_rows.h"
#include "hocket/fuse/fold_averages.h"
#include "hocket/fuse/gather_again.h"
#include "hocket/fuse/late_divisions.h"
#include "hocket/fuse/lean_casts.h"
#include "hocket/fuse/move_rows.h"
#include "hocket/fuse/scatter_rows.h"
#include "hocket/ir/rewrite.h"
#include "hocket/schedule/bounds.h"
#include "hocket/schedule/overlap.h"
#include "hocket/schedule/timeline.h"

namespace hocket {

namespace {

// Operators with a form that takes a list.
constexpr std::array<std::string_view, 3> mergeable = {"_c10d_functional.all_gather_into_tensor.default",
                                                       "_c10d_functional.reduce_scatter_tensor.default",
                                                       "_c10d_functional.all_reduce.default"};

struct Mergeable {
  std::vector<fuse::Candidate> list;
  std::map<StepIndex, std::size_t> by_step;
};

// All but those in `apart`.
Mergeable find_mergeable(const Graph& graph, const CostModel& cost, OverlapOptions& options,
                         const std::vector<NodeId>& apart = {}) {
  Mergeable found;
  for (const std::string_view op : mergeable) {
    std::map<fuse::CollectiveKey, std::uint32_t> classes;
    for (fuse::Candidate& candidate : fuse::find_candidates(graph, op).list) {
      if (std::binary_search(apart.begin(), apart.end(), candidate.block.collective)) continue;
      const auto next = static_cast<std::uint32_t>(options.classes.size());
      const auto [entry, is_new] = classes.try_emplace(candidate.key, next);
      const Collective& collective = *graph.collective(candidate.block.collective);
      if (is_new) {
        options.classes.push_back({[&cost, &graph, collective](Bytes moved) {
          return cost.collective(collective.kind, graph.group(collective.group).ranks, moved);
        }});
      }
      options.candidates.push_back({candidate.position(), entry->second, collective.bytes_in + collective.bytes_out});
      found.by_step.emplace(candidate.position(), found.list.size());
      found.list.push_back(std::move(candidate));
    }
  }
  return found;
}

Result<Graph> rewritten(const Graph& graph, const Mergeable& candidates, const OverlapPlan& plan,
                        const CostModel& cost) {
  if (plan.buckets.empty()) return with_order(graph, ids_of<Graph>(plan.order));
  std::vector<fuse::Place> places(graph.size());
  for (std::uint32_t p = 0; p < plan.order.size(); ++p) places[plan.order[p]] = {p, fuse::Place::at, 0};
  std::vector<fuse::Bucket> buckets;
  for (const auto& members : plan.buckets) {
    fuse::Bucket bucket;
    for (const StepIndex member : members) {
      const CommBlock& block = candidates.list[candidates.by_step.at(member)].block;
      bucket.members.push_back(&block);
      bucket.start = std::max(bucket.start, places[member]);
      bucket.results.push_back(places[block.wait().index()]);
    }
    buckets.push_back(std::move(bucket));
  }
  return fuse::fuse_buckets(graph, buckets, places, {FusedForm::coalesced, fuse::make_gather_form, "overlap", &cost});
}

Error out_of_reach(Bytes limit, Bytes reached) {
  return {
      ErrorKind::input,
      fmt::format("the memory limit of {} ({} bytes) is below what any order found can reach, {} ({} bytes); ask for "
                  "that much, or leave more of the program's inputs out of memory",
                  to_string(limit), limit.count, to_string(reached), reached.count),
      {}};
}

// Plans within the limit. Where no order keeps it that is an error; only a limit that the original kept and an earlier pass has lost
// is no reason to stop: then the plan holds no more than what it was given.
Result<OverlapPlan> plan_within(const StepGraph& steps, const PassContext& context, OverlapOptions& options,
                                std::vector<std::string>& notes) {
  OverlapPlan plan = plan_overlap(steps, options);
  if (plan.within_limit) return plan;
  if (context.memory_limit.absolute || context.memory_limit.relative < 1)
    return fail(out_of_reach(*options.memory_limit, plan.peak));
  notes.push_back(fmt::format("the limit of {} is out of reach since an earlier pass; held to {} instead",
                              to_string(*options.memory_limit), to_string(plan.peak)));
  options.memory_limit = plan.peak;
  return plan_overlap(steps, options);
}

// What an order costs, counted again from what was written.
struct Claim {
  Nanoseconds time;
  Bytes peak;
};
template <class Form>
Result<Claim> claim_of(const Form& form, const CostModel& cost) {
  HOCKET_TRY(const StepGraph steps, StepGraph::of(form, cost.times(form), {.keep_collective_order = false}));
  const auto order = steps.original_order();
  return Claim{timeline(steps, order).step_time, memory_curve(steps, order).peak};
}

void describe(PassResult& result, const StepGraph& steps, const OverlapPlan& plan, Nanoseconds was, const Claim& after,
              Bytes limit) {
  std::size_t merged = 0;
  for (const auto& bucket : plan.buckets) merged += bucket.size();
  result.report = fmt::format("step {} -> {}, {} of {} collectives merged into {}, peak {} (limit {}), {} orders tried",
                              to_string(was), to_string(after.time), merged, steps.collectives().size(),
                              plan.buckets.size(), to_string(after.peak), to_string(limit), plan.orders_tried);
  if (!plan.improved) result.report += "; nothing is better than the order as it is";
  const StepBound bound = step_bound(steps);
  result.notes.push_back(
      fmt::format("no order of the same steps takes less than {}: {}", to_string(bound.time), to_string(bound)));
}

void note_model(PassResult& result, const OverlapPlan& plan, const OverlapOptions& options) {
  if (options.model)
    result.notes.push_back(fmt::format("by the lanes of the machine the step takes {}", to_string(plan.step_time)));
}

template <class Form>
Result<PassResult> reordered(const Form& form, const PassContext& context, OverlapOptions options) {
  HOCKET_TRY(const StepGraph steps, StepGraph::of(form, context.cost->times(form), {.keep_collective_order = false}));
  PassResult result;
  HOCKET_TRY(const OverlapPlan plan, plan_within(steps, context, options, result.notes));
  result.keeps_collective_order = false;
  result.peak = plan.peak;
  describe(result, steps, plan, timeline(steps, steps.original_order()).step_time,
           {timeline(steps, plan.order).step_time, plan.peak}, *options.memory_limit);
  note_model(result, plan, options);
  if (!plan.improved) return result;
  HOCKET_TRY(auto changed, with_order(form, ids_of<Form>(plan.order)));
  result.subject = std::move(changed);
  result.order = plan.order;
  return result;
}

// Which operators the result may have: all that hocket knows, or only those that PyTorch has too.
enum class Operators : std::uint8_t { all, pytorch };

// A graph that passes change one after the other; absent as long as none has.
class Changing {
 public:
  explicit Changing(const Graph& given) : given_(given) {}
  const Graph& graph() const { return changed_ ? *changed_ : given_; }
  Status take(Result<RewriteResult> result) {
    if (!result) return fail(std::move(result).error());
    if (result->graph) changed_ = std::move(result->graph);
    return {};
  }
  std::optional<Graph> changed() && { return std::move(changed_); }

 private:
  const Graph& given_;
  std::optional<Graph> changed_;
};

// Divisions and copies next to communication that need not be. Casts are seldom a hundredth of the step: the least effort does without a
// look at them.
Result<std::optional<Graph>> without_copies(const Graph& given, const CostModel& cost, Effort effort,
                                            Operators operators) {
  Changing changing(given);
  HOCKET_CHECK(changing.take(fold_averages(changing.graph(), {.cost = &cost})));
  HOCKET_CHECK(changing.take(late_divisions(changing.graph(), {.cost = &cost})));
  HOCKET_CHECK(changing.take(copies_to_views(changing.graph())));
  HOCKET_CHECK(changing.take(operators == Operators::all ? move_rows(changing.graph(), {.cost = &cost})
                                                         : scatter_rows(changing.graph(), {.cost = &cost})));
  if (operators == Operators::all) HOCKET_CHECK(changing.take(exchange_rows(changing.graph(), {.cost = &cost})));
  if (effort != Effort::fast) HOCKET_CHECK(changing.take(lean_casts(changing.graph(), {.cost = &cost})));
  return std::move(changing).changed();
}

Result<StepGraph> steps_of(const Graph& graph, const CostModel& cost) {
  return StepGraph::of(graph, cost.times(graph), {.keep_collective_order = false});
}

// A graph, and what is planned for it.
struct Planned {
  const Graph* graph;
  StepGraph steps;
  Mergeable candidates;
  OverlapPlan plan;
};

Result<Planned> planned(const Graph& graph, StepGraph steps, const PassContext& context, OverlapOptions& options,
                        std::vector<std::string>& notes) {
  Planned result{&graph, std::move(steps), find_mergeable(graph, *context.cost, options), {}};
  HOCKET_TRY(result.plan, plan_within(result.steps, context, options, notes));
  return result;
}

// The last step that holds nearly as much as any: a loss is a row of steps that do.
StepIndex end_of_peak(const StepGraph& steps) {
  constexpr double nearly = 0.97;
  const auto order = steps.original_order();
  const MemoryCurve curve = memory_curve(steps, order);
  const auto inputs = static_cast<double>(steps.input_bytes().count);
  const double high = inputs + nearly * (static_cast<double>(curve.peak.count) - inputs);
  std::size_t last = curve.peak_at;
  for (std::size_t p = last; p < order.size(); ++p) {
    if (static_cast<double>(curve.live[p].count) >= high) last = p;
  }
  return order[last];
}

// Second gathers stay behind the peak: in front of it they would hold what they are there to save.
Result<StepGraph> steps_with(const Graph& graph, const std::vector<NodeId>& second_gathers, const CostModel& cost) {
  HOCKET_TRY(const StepGraph steps, steps_of(graph, cost));
  StepGraphOptions options{.keep_collective_order = false};
  const StepIndex peak = end_of_peak(steps);
  for (const NodeId gather : second_gathers) {
    if (gather.value > peak) options.orders.emplace_back(peak, gather.value);
  }
  return StepGraph::of(graph, cost.times(graph), options);
}

// Which steps run early depends on what they hold, and that on what is gathered again. So first all is that can be; then only what the steps
// need that could run early then.
Result<GatherAgainResult> gather_for_early_steps(const Graph& graph, const StepGraph& steps, const CostModel& cost,
                                                 Bytes memory_limit) {
  GatherAgainOptions options{NodeId(end_of_peak(steps)), {}, &cost};
  HOCKET_TRY(const GatherAgainResult all, gather_again(graph, options));
  if (!all.rewrite.graph) return GatherAgainResult{};
  HOCKET_TRY(const StepGraph steps_of_all, steps_with(*all.rewrite.graph, all.second, cost));
  OverlapOptions within;
  within.memory_limit = memory_limit;
  std::set<std::string_view> early;
  for (const StepIndex step : early_steps(steps_of_all, within)) early.insert(steps_of_all.name(step));
  for (const StepIndex step : steps.collectives()) {
    if (early.contains(steps.name(step))) options.among.emplace_back(step);
  }
  if (options.among.empty()) return GatherAgainResult{};
  return gather_again(graph, options);
}

// Where a lane is busier than compute, the step does not wait for compute.
bool could_run_early(const StepGraph& steps) {
  const TimeBound bound = time_bound(steps);
  return bound.busiest_lane < bound.compute;
}

// A plan for a graph in which all_gathers are done twice. It stays where it is: the plan points into the graph.
struct GatheredAgain {
  GatherAgainResult result;
  std::optional<Planned> planned;  // absent: there is nothing to gather again
};

// They are not merged: most share their lane with collectives that the step waits for.
Result<std::unique_ptr<GatheredAgain>> plan_gathered_again(const Graph& graph, const StepGraph& steps,
                                                           const CostModel& cost, OverlapOptions options) {
  auto again = std::make_unique<GatheredAgain>();
  HOCKET_TRY(again->result, gather_for_early_steps(graph, steps, cost, *options.memory_limit));
  const auto& [changed, second] = again->result;
  if (!changed.graph) return again;
  HOCKET_TRY(StepGraph steps_of_both, steps_with(*changed.graph, second, cost));
  options.early = true;
  Mergeable candidates = find_mergeable(*changed.graph, cost, options, second);
  OverlapPlan plan = plan_overlap(steps_of_both, options);
  again->planned = {&*changed.graph, std::move(steps_of_both), std::move(candidates), std::move(plan)};
  return again;
}

bool is_better(const OverlapPlan& plan, const OverlapPlan& than, Bytes limit) {
  return plan.within_limit && plan.peak <= limit && plan.step_time < than.step_time;
}

Result<PassResult> merged(const Graph& given, const PassContext& context, const OverlapOptions& base,
                          Operators operators) {
  const CostModel& cost = *context.cost;
  HOCKET_TRY(std::optional<Graph> lean, without_copies(given, cost, base.effort, operators));
  HOCKET_TRY(StepGraph first_steps, steps_of(lean ? *lean : given, cost));
  if (lean && memory_curve(first_steps, first_steps.original_order()).peak > *base.memory_limit) {
    // Without the copies the same order holds too much: they stay.
    lean.reset();
    HOCKET_TRY(first_steps, steps_of(given, cost));
  }
  PassResult result;
  OverlapOptions options = base;
  const Graph& first = lean ? *lean : given;
  std::future<Result<std::unique_ptr<GatheredAgain>>> other;
  if (base.effort == Effort::max && could_run_early(first_steps)) {
    // In a thread of its own, or where there is none to be had, behind this one.
    other = std::async(std::launch::async | std::launch::deferred,
                       [&, steps = first_steps] { return plan_gathered_again(first, steps, cost, base); });
  }
  HOCKET_TRY(Planned chosen, planned(first, std::move(first_steps), context, options, result.notes));
  std::unique_ptr<GatheredAgain> again;
  if (other.valid()) {
    HOCKET_TRY(again, other.get());
  }
  if (again && again->planned && is_better(again->planned->plan, chosen.plan, *options.memory_limit)) {
    chosen = std::move(*again->planned);
    result.notes.push_back(fmt::format("{} all_gathers are done twice", again->result.second.size()));
  }
  const Graph& graph = *chosen.graph;
  OverlapPlan& plan = chosen.plan;
  result.keeps_collective_order = false;
  if (plan.improved) {
    HOCKET_TRY(result.subject, rewritten(graph, chosen.candidates, plan, cost));
  } else if (&graph != &given) {
    result.subject = graph;
  }
  HOCKET_TRY(const Claim before, claim_of(given, cost));
  Claim claim = before;
  if (result.subject) {
    HOCKET_TRY(claim, claim_of(std::get<Graph>(*result.subject), cost));
  }
  // Never worse than the input: on some machine the copies may have been the better choice.
  if (!options.model && claim.time > before.time && before.peak <= *options.memory_limit) {
    result.subject.reset();
    plan.buckets.clear();
    plan.improved = false;
    claim = before;
  }
  if (claim.peak > *options.memory_limit)
    return fail(ErrorKind::internal, "the result holds {} bytes, the limit is {}", claim.peak.count,
                options.memory_limit->count);
  result.peak = claim.peak;
  describe(result, chosen.steps, plan, before.time, claim, *options.memory_limit);
  note_model(result, plan, options);
  return result;
}

// Groups that cross the same level of the machine's topology share its links.
LaneModel machine_lanes(const Tables& tables, const StepGraph& steps, const Machine& machine, double slowdown) {
  LaneModel model;
  model.compute_slowdown = slowdown;
  model.launch = machine.launch_overhead;
  for (std::uint32_t lane = 0; lane < steps.lanes(); ++lane) {
    model.links.emplace_back();
    for (const Group& group : tables.groups()) {
      if (group.name != steps.lane_name(lane)) continue;
      for (const GroupLayout::Level& level : GroupLayout(machine, group.ranks).levels())
        model.links.back().push_back(static_cast<std::uint32_t>(level.index));
      break;
    }
  }
  return model;
}

Result<PassResult> run_overlap(const Subject& subject, const PassContext& context, PassArguments& arguments) {
  OverlapOptions options;
  options.effort = *effort_from_name(arguments.choice("effort", "default", {"fast", "default", "max"}));
  const bool reorder_only = arguments.flag("reorder_only", false);
  const bool by_machine = arguments.choice("lanes", "two", {"two", "machine"}) == "machine";
  const double slowdown = arguments.real("slowdown", 1);
  const Operators operators =
      arguments.choice("operators", "all", {"all", "pytorch"}) == "all" ? Operators::all : Operators::pytorch;
  HOCKET_CHECK(arguments.finish());
  if (slowdown < 1) return fail(ErrorKind::usage, "a slowdown of {}; expected 1 or more", slowdown);
  if (by_machine || slowdown > 1) {
    HOCKET_TRY(options.model, std::visit(
                                  [&](const auto& form) -> Result<LaneModel> {
                                    HOCKET_TRY(const StepGraph steps, StepGraph::of(form, context.cost->times(form)));
                                    LaneModel model =
                                        machine_lanes(form, steps, context.cost->options().machine, slowdown);
                                    if (!by_machine) model = {{}, slowdown, {}};
                                    return model;
                                  },
                                  subject));
  }
  options.memory_limit = context.memory_limit.of(context.original_peak);
  if (const auto* program = std::get_if<Program>(&subject)) return reordered(*program, context, options);
  const Graph& graph = std::get<Graph>(subject);
  return reorder_only ? reordered(graph, context, options) : merged(graph, context, options, operators);
}

}  // namespace

Result<StepBound> overlap_bound(const Graph& graph, const CostModel& cost) {
  HOCKET_TRY(const std::optional<Graph> lean, without_copies(graph, cost, Effort::max, Operators::all));
  const Graph& least = lean ? *lean : graph;
  HOCKET_TRY(const StepGraph steps, steps_of(least, cost));
  OverlapOptions options;
  find_mergeable(least, cost, options);
  return merged_bound(steps, options);
}

Pass overlap_pass() {
  return {
      "overlap", "decide buckets, order and memory together", Form::either,
      "effort=fast|default|max, reorder_only=on|off, operators=all|pytorch, lanes=two|machine, slowdown=1 (of compute "
      "under communication)",
      run_overlap};
}

}  // namespace hocket
