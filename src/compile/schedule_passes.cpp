#include "compile/schedule_passes.h"

#include <fmt/format.h>

#include "compile/forms.h"
#include "hocket/ir/rewrite.h"
#include "hocket/schedule/list_passes.h"

namespace hocket {

namespace {

struct Reordering {
  std::vector<StepIndex> order;
  PassResult result;  // what else there is to say
};
using Reorder = std::function<Reordering(const StepGraph& steps, std::vector<StepIndex> order)>;

// Runs a reordering on whatever the subject is, and says what it changed.
Result<PassResult> reorder(const Subject& subject, const PassContext& context, const StepGraphOptions& options,
                           const Reorder& run) {
  return std::visit(
      [&](const auto& form) -> Result<PassResult> {
        const auto times = context.cost->times(form);
        HOCKET_TRY(const StepGraph steps, StepGraph::of(form, times, options));
        const auto before = steps.original_order();
        Reordering reordering = run(steps, before);
        PassResult result = std::move(reordering.result);
        const Timeline line_before = timeline(steps, before);
        const Timeline line_after = timeline(steps, reordering.order);
        const Bytes peak_before = memory_curve(steps, before).peak;
        const Bytes peak_after = memory_curve(steps, reordering.order).peak;
        result.report = fmt::format("step {} -> {}, exposed {} -> {}, peak {} -> {}", to_string(line_before.step_time),
                                    to_string(line_after.step_time), to_string(line_before.exposed),
                                    to_string(line_after.exposed), to_string(peak_before), to_string(peak_after));
        result.peak = peak_after;
        if (reordering.order == before) return result;
        using FormOf = std::decay_t<decltype(form)>;
        HOCKET_TRY(auto changed, with_order(form, ids_of<FormOf>(reordering.order)));
        result.subject = std::move(changed);
        result.order = std::move(reordering.order);
        return result;
      },
      subject);
}

using ListPass = std::vector<StepIndex> (*)(const StepGraph&, std::span<const StepIndex>);

Pass list_pass(std::string name, std::string summary, ListPass run) {
  return {std::move(name), std::move(summary), Form::either, "",
          [run](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
            HOCKET_CHECK(arguments.finish());
            return reorder(subject, context, {}, [&](const StepGraph& steps, const std::vector<StepIndex>& order) {
              return Reordering{run(steps, order), {}};
            });
          }};
}

using IterativePass = IterativeResult (*)(const StepGraph&, std::vector<StepIndex>, const IterativeOptions&);

Pass iterative_pass(std::string name, std::string summary, IterativePass run,
                    std::optional<IterativeResult> PassResult::*slot) {
  return {
      std::move(name), std::move(summary), Form::either,
      "budget=FRACTION, estimates=on|off, group=on|off, reorder_collectives=on|off, max_moves=N, max_passes=N",
      [run, slot](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
        IterativeOptions options;
        constexpr auto any = static_cast<std::int64_t>(std::numeric_limits<std::int64_t>::max());
        const double budget = arguments.real("budget", -1);
        if (budget >= 0) options.memory_budget = budget;
        else options.memory_limit = context.memory_limit.of(context.original_peak);
        options.use_estimates = arguments.flag("estimates", true);
        options.group = arguments.flag("group", true);
        options.reorder_collectives = arguments.flag("reorder_collectives", false);
        options.max_moves = static_cast<std::size_t>(arguments.integer("max_moves", any));
        options.max_passes_each = static_cast<std::size_t>(arguments.integer("max_passes", any));
        HOCKET_CHECK(arguments.finish());
        const StepGraphOptions order_options{.keep_collective_order = !options.reorder_collectives};
        return reorder(subject, context, order_options, [&](const StepGraph& steps, std::vector<StepIndex> order) {
          IterativeResult moved = run(steps, std::move(order), options);
          Reordering reordering;
          reordering.order = moved.order;
          reordering.result.keeps_collective_order = !options.reorder_collectives;
          reordering.result.*slot = std::move(moved);
          return reordering;
        });
      }};
}

}  // namespace

std::vector<Pass> schedule_passes() {
  return {
      list_pass("sink_waits", "waits as late as possible", sink_waits),
      list_pass("raise_comms", "collectives as early as possible", raise_comms),
      list_pass("reorder_compute_for_overlap",
                "cover each collective with the compute that the next one needs, then with other compute",
                reorder_compute_for_overlap),
      iterative_pass("reorder_communication_preserving_peak_memory",
                     "move each collective earlier until it is hidden or the memory limit is reached",
                     reorder_communication_preserving_peak_memory, &PassResult::raised),
      iterative_pass("sink_waits_iterative",
                     "move each wait later until its collective is hidden or the memory limit is reached",
                     sink_waits_iterative, &PassResult::sunk),
  };
}

}  // namespace hocket
