#include "hocket/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "compile/check.h"
#include "compile/decisions.h"
#include "compile/forms.h"
#include "hocket/cost/captured_machine.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/schedule/collective_order.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

std::string_view name_of(const Subject& subject) {
  return std::holds_alternative<Graph>(subject) ? "graph" : "program";
}

Status check_form(const Pass& pass, const Subject& subject) {
  const bool fits = pass.form == Form::either || (pass.form == Form::graph) == std::holds_alternative<Graph>(subject);
  if (fits) return {};
  return fail(ErrorKind::usage, "pass {} works on a {}, but what it got is a {}{}", pass.name,
              pass.form == Form::graph ? "graph" : "program", name_of(subject),
              pass.form == Form::graph ? "; put it before lower" : "; put lower before it");
}

// Writes what the pass was given, and adds to the error how to replay it.
Error with_reproducer(Error error, const Subject& given, const PassCall& call, const CompileOptions& options) {
  error = at(std::move(error), "pass " + call.name);
  if (options.reproducer_folder.empty()) return error;
  const std::string text = std::visit([](const auto& form) { return print(form); }, given);
  const std::string digest = std::visit([](const auto& form) { return form.digest().to_string(); }, given);
  const std::string path =
      fmt::format("{}/hocket-{}-{}.hk.gz", options.reproducer_folder, call.name, digest.substr(0, 8));
  if (const Status written = write_bytes(path, text); !written) {
    error.message += fmt::format("; no reproducer: {}", written.error().to_string());
    return error;
  }
  error.message += fmt::format(
      "; this is a defect of hocket: what the pass was given is in {}, replay it with: hocket opt {} --passes '{}' "
      "--machine {} --memory-limit {}",
      path, path, call.to_string(), options.cost.machine.name,
      options.memory_limit.absolute ? fmt::format("{}B", options.memory_limit.absolute->count)
                                    : fmt::format("{}x", options.memory_limit.relative));
  return error;
}

// Positions of an iterative pass's report after the order changed.
void follow(std::optional<IterativeResult>& report, const std::vector<StepIndex>& place) {
  if (!report) return;
  const auto moved = [&](StepIndex& step) {
    if (step != no_step) step = place[step];
  };
  for (CollectiveMove& move : report->moves) {
    moved(move.collective);
    moved(move.step);
    for (StepIndex& step : move.grouped) moved(step);
  }
  std::sort(report->moves.begin(), report->moves.end(),
            [](const CollectiveMove& a, const CollectiveMove& b) { return a.collective < b.collective; });
}

void keep_reports(PassResult& result, Compiled& compiled) {
  if (result.subject && !result.order) {
    compiled.raised.reset();
    compiled.sunk.reset();
  }
  if (result.raised) compiled.raised = std::move(result.raised);
  if (result.sunk) compiled.sunk = std::move(result.sunk);
  if (!result.order) return;
  std::vector<StepIndex> place(result.order->size());
  for (std::size_t p = 0; p < place.size(); ++p) place[(*result.order)[p]] = static_cast<StepIndex>(p);
  follow(compiled.raised, place);
  follow(compiled.sunk, place);
}

// The estimates that all ranks agree on, as a profile. Multipliers come on top, on every rank the same.
Result<CostOptions> agreed(const Subject& subject, const CompileOptions& options) {
  CostOptions plain = options.cost;
  plain.compute_multiplier = plain.communication_multiplier = 1.0;
  const CostModel cost(plain);
  CostOptions result = options.cost;
  result.captured = false;
  result.profile = Profile();
  HOCKET_CHECK(std::visit(
      [&](const auto& form) -> Status {
        HOCKET_TRY(const auto times, align_estimates(cost.times(form), *options.all_ranks));
        using Id = IdOf<std::decay_t<decltype(form)>>;
        for (std::size_t i = 0; i < times.size(); ++i) result.profile.set_name(std::string(form.name(Id(i))), times[i]);
        return {};
      },
      subject));
  return result;
}

// Programs can be the same step by step and still get stuck: their groups have other ranks on every rank.
Status agree_on_decisions(const Subject& subject, AllGather& all) {
  HOCKET_CHECK(agree_on(decisions_of(subject), "the compiled program", all));
  return std::visit([&](const auto& form) { return agree_on_order(communication_of(form, Rank{}), all); }, subject);
}

// What the estimates of the given program rest on. Said here, once: passes ask for the times again and again.
std::vector<std::string> assumptions_of(const Subject& subject, const CostModel& cost) {
  return std::visit(
      [&](const auto& form) {
        std::vector<std::string> notes = cost.estimate(form).notes;
        warn_of_notes(form.name(), notes);
        return notes;
      },
      subject);
}

struct Entry {
  const Pass* pass;
  const PassCall* call;
  bool off;
};

Result<std::vector<Entry>> look_up(std::span<const PassCall> calls, const CompileOptions& options,
                                   const PassRegistry& registry) {
  std::vector<Entry> found;
  for (const PassCall& call : calls) {
    HOCKET_TRY(const Pass* pass, registry.find(call.name));
    const bool off = std::find(options.off.begin(), options.off.end(), call.name) != options.off.end();
    found.push_back({pass, &call, off});
  }
  for (const std::string& name : options.off) HOCKET_CHECK(registry.find(name).map([](const Pass*) {}));
  return found;
}

Result<PassRun> run_pass(const Entry& entry, const PassContext& context, const CompileOptions& options,
                         Compiled& compiled) {
  PassRun run;
  run.call = entry.call->to_string();
  run.skipped = entry.off;
  if (entry.off) return run;
  HOCKET_CHECK(check_form(*entry.pass, compiled.subject));
  PassArguments arguments(entry.call->name, entry.call->arguments);
  const auto start = Clock::now();
  Result<PassResult> result = entry.pass->run(compiled.subject, context, arguments);
  run.time = Clock::now() - start;
  if (!result) {
    if (result.error().kind == ErrorKind::internal)
      return fail(with_reproducer(std::move(result).error(), compiled.subject, *entry.call, options));
    return fail(at(std::move(result).error(), "pass " + entry.call->name));
  }
  if (options.verify) {
    const auto checked = Clock::now();
    if (Status status = check_result(compiled.subject, *result); !status)
      return fail(with_reproducer(std::move(status).error(), compiled.subject, *entry.call, options));
    run.verified = Clock::now() - checked;
  }
  run.changed = result->subject.has_value();
  run.report = result->report;
  run.notes = result->notes;
  keep_reports(*result, compiled);
  if (result->subject) compiled.subject = std::move(*result->subject);
  return run;
}

}  // namespace

std::vector<PassCall> default_passes() { return {{"remove_dead_getitems", {}}, {"overlap", {}}}; }

Result<Compiled> compile(Subject subject, const CompileOptions& options, const PassRegistry& registry) {
  const auto start = Clock::now();
  const std::vector<PassCall> calls = options.passes.empty() ? default_passes() : options.passes;
  HOCKET_TRY(const auto passes, look_up(calls, options, registry));
  if (options.verify) HOCKET_CHECK(check_subject(subject, ErrorKind::input));
  Compiled compiled;
  compiled.assumptions = assumptions_of(subject, CostModel(options.cost));
  CostOptions cost_options = options.cost;
  if (options.all_ranks != nullptr) {
    HOCKET_TRY(cost_options, agreed(subject, options));
  } else if (const auto* const captured = std::get_if<Graph>(&subject); captured != nullptr && cost_options.captured) {
    cost_options.machine = as_captured(std::move(cost_options.machine), *captured);
  }
  const CostModel cost(std::move(cost_options));
  compiled.subject = std::move(subject);
  HOCKET_TRY(compiled.before, measure(compiled.subject, cost));
  PassContext context;
  context.cost = &cost;
  context.memory_limit = options.memory_limit;
  context.original_peak = compiled.before.peak;
  for (const Entry& entry : passes) {
    HOCKET_TRY(PassRun run, run_pass(entry, context, options, compiled));
    compiled.runs.push_back(std::move(run));
    if (options.after_pass) options.after_pass(compiled.runs.back(), compiled.subject);
  }
  if (options.all_ranks != nullptr) HOCKET_CHECK(agree_on_decisions(compiled.subject, *options.all_ranks));
  HOCKET_TRY(compiled.after, measure(compiled.subject, cost));
  compiled.total_ms = Milliseconds(Clock::now() - start).count();
  return compiled;
}

}  // namespace hocket
