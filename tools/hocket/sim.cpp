#include <charconv>
#include <memory>

#include "command.h"
#include "cost_options.h"
#include "hocket/base/progress.h"
#include "hocket/report/chakra.h"
#include "hocket/schedule/collective_order.h"
#include "hocket/sim/scale.h"
#include "read_verified.h"
#include "sim_case.h"
#include "what_if.h"

namespace hocket::tool {

namespace {

struct SimFlags {
  std::vector<std::string> files;
  CostFlags cost;
  std::int64_t hosts = 0;
  std::string sweep;
  std::vector<std::string> what_if;
  std::vector<std::string> stragglers;
  bool optimise = false;
  bool alone = false;
  double launch_us = 0;
  double slowdown = 1;
  double jitter = 0;
  std::uint64_t seed = 1;
  std::int32_t rank = 0;
  std::string html, trace;
  bool json = false;
};

template <class Number>
Result<Number> number_in(std::string_view text, std::string_view whole, std::string_view expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::usage, "'{}' in '{}' is no number; expected {}", text, whole, expected);
  return value;
}

// "hosts=1,2,4".
Result<std::vector<std::int64_t>> parse_sweep(std::string_view text) {
  constexpr std::string_view expected = "hosts=1,2,4";
  if (!text.starts_with("hosts=")) return fail(ErrorKind::usage, "a sweep is '{}'; expected {}", text, expected);
  std::vector<std::int64_t> hosts;
  for (std::string_view rest = text.substr(6); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    HOCKET_TRY(const auto one, number_in<std::int64_t>(rest.substr(0, comma), text, expected));
    if (one < 1) return fail(ErrorKind::usage, "{} hosts in '{}'; at least one is needed", one, text);
    hosts.push_back(one);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return hosts;
}

// "3=1.5": rank 3 computes 1.5 times slower.
Result<Straggler> parse_straggler(std::string_view text) {
  constexpr std::string_view expected = "RANK=FACTOR, as in 3=1.5";
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return fail(ErrorKind::usage, "a straggler is '{}'; expected {}", text, expected);
  HOCKET_TRY(const auto rank, number_in<std::int32_t>(text.substr(0, equals), text, expected));
  HOCKET_TRY(const auto factor, number_in<double>(text.substr(equals + 1), text, expected));
  return Straggler{Rank{rank}, factor};
}

Result<SimOptions> sim_options(const SimFlags& flags) {
  SimOptions options;
  options.share_links = !flags.alone;
  options.launch = Nanoseconds::from_ns(flags.launch_us * 1000);
  options.slowdown = flags.slowdown;
  options.jitter = flags.jitter;
  options.seed = flags.seed;
  options.shown = Rank{flags.rank};
  for (const std::string& text : flags.stragglers) {
    HOCKET_TRY(const Straggler slow, parse_straggler(text));
    options.stragglers.push_back(slow);
  }
  HOCKET_CHECK(check(options));
  return options;
}

// ---------------------------------------------------------------- one program for all ranks

class SpmdCases {
 public:
  SpmdCases(const SimFlags& flags, Subject subject, CostOptions cost, MemoryLimit limit, SimOptions options)
      : flags_(flags),
        subject_(std::move(subject)),
        cost_(std::move(cost)),
        limit_(limit),
        options_(std::move(options)) {}

  Result<std::vector<SimCase>> run() {
    std::vector<WhatIf> what_if;
    for (const std::string& text : flags_.what_if) {
      HOCKET_TRY(WhatIf one, parse_what_if(text));
      // A measured table says nothing of other links, so all cases go by the models.
      if (one.changes_links()) cost_.machine.collectives.reset(), modelled_ = true;
      what_if.push_back(std::move(one));
    }
    std::vector<std::int64_t> hosts;
    if (!flags_.sweep.empty()) {
      HOCKET_TRY(hosts, parse_sweep(flags_.sweep));
    }
    Progress progress("sim", static_cast<std::int64_t>(std::max<std::size_t>(hosts.size(), 1) + what_if.size()));
    if (hosts.empty()) {
      HOCKET_CHECK(add("as it is", flags_.hosts, cost_, flags_.optimise, limit_));
      progress.advance();
    }
    for (const std::int64_t count : hosts) {
      HOCKET_CHECK(add(fmt::format("{} host{}", count, count == 1 ? "" : "s"), count, cost_, flags_.optimise, limit_));
      progress.advance();
    }
    for (const WhatIf& one : what_if) {
      CostOptions changed = cost_;
      HOCKET_CHECK(one.apply(changed));
      const bool memory = one.what == WhatIf::What::memory_limit;
      HOCKET_CHECK(add(one.text, flags_.hosts, changed, flags_.optimise || memory, memory ? one.limit : limit_));
      progress.advance();
    }
    return std::move(cases_);
  }

 private:
  Status add(std::string name, std::int64_t hosts, const CostOptions& cost_options, bool optimise,
             const MemoryLimit& limit) {
    const CostModel cost(cost_options);
    SimCase one;
    one.name = std::move(name);
    one.subject = subject_;
    HOCKET_TRY(const Measures given, measure(subject_, cost));
    if (optimise) {
      CompileOptions how;
      how.cost = cost_options;
      how.memory_limit = limit;
      HOCKET_TRY(Compiled compiled, compile(subject_, how));
      one.subject = std::move(compiled.subject);
    }
    HOCKET_TRY(one.program, program_of(one.subject, cost, hosts));
    HOCKET_TRY(one.result, simulate(one.program, cost_options.machine, options_));
    TimelineOptions how{.title = one.name, .source = fmt::format("simulated on {}", cost_options.machine.name)};
    if (optimise) how.limit = limit.of(given.peak);
    HOCKET_TRY(one.line, simulated_timeline(one.subject, one.program, one.result, how));
    cases_.push_back(std::move(one));
    return {};
  }

  Result<SimProgram> program_of(const Subject& subject, const CostModel& cost, std::int64_t hosts) const {
    if (hosts > 0) return scale_program(subject, cost, {.ranks = hosts * cost.options().machine.ranks_per_host});
    HOCKET_TRY(SimProgram program, sim_program(subject, cost));
    return modelled_ ? scale_program(subject, cost, {.ranks = program.world}) : std::move(program);
  }

  const SimFlags& flags_;
  Subject subject_;
  CostOptions cost_;
  MemoryLimit limit_;
  SimOptions options_;
  bool modelled_ = false;
  std::vector<SimCase> cases_;
};

// ---------------------------------------------------------------- a program for each rank

Result<std::vector<SimCase>> run_each(const SimFlags& flags, const std::vector<Subject>& subjects,
                                      const CostOptions& cost, const SimOptions& options) {
  if (flags.hosts > 0 || !flags.sweep.empty() || !flags.what_if.empty() || flags.optimise)
    return fail(ErrorKind::usage, "--hosts, --sweep, --what-if and --opt are for one program that all ranks run");
  std::vector<RankOrder> orders;
  std::vector<SimProgram> programs;
  for (const Subject& subject : subjects) {
    const Rank rank{static_cast<std::int32_t>(orders.size())};
    orders.push_back(std::visit([&](const auto& form) { return communication_of(form, rank); }, subject));
    HOCKET_TRY(SimProgram program, sim_program(subject, CostModel(cost)));
    programs.push_back(std::move(program));
  }
  HOCKET_CHECK(check_collective_order(orders));
  SimCase one;
  HOCKET_TRY(one.result, simulate(programs, cost.machine, options));
  const auto shown = static_cast<std::size_t>(flags.rank) < subjects.size() ? static_cast<std::size_t>(flags.rank) : 0;
  one.name = fmt::format("rank {}", shown);
  one.subject = subjects[shown];
  one.program = programs[shown];
  HOCKET_TRY(one.line,
             simulated_timeline(one.subject, one.program, one.result,
                                {.title = one.name, .source = fmt::format("simulated on {}", cost.machine.name)}));
  std::vector<SimCase> cases;
  cases.push_back(std::move(one));
  return cases;
}

// ---------------------------------------------------------------- Chakra traces

bool is_chakra(std::string_view file) { return file.ends_with(".et"); }

// One for all ranks, or one for each.
Result<std::vector<SimCase>> replay(const SimFlags& flags, const CostOptions& cost, const SimOptions& options) {
  if (flags.hosts > 0 || !flags.sweep.empty() || !flags.what_if.empty() || flags.optimise || !flags.html.empty() ||
      !flags.trace.empty())
    return fail(
        ErrorKind::usage,
        "a Chakra trace is replayed as it is: --hosts, --sweep, --what-if, --opt, --html and --trace need a graph");
  std::vector<SimProgram> programs;
  for (const std::string& file : flags.files) {
    if (!is_chakra(file)) return fail(ErrorKind::usage, "{} is no Chakra trace (.et), and the others are", file);
    HOCKET_TRY(const ChakraTrace trace, read_chakra(file));
    HOCKET_TRY(SimProgram program, sim_program(trace));
    programs.push_back(std::move(program));
  }
  SimCase one;
  one.name = "replayed";
  if (programs.size() == 1) {
    HOCKET_TRY(one.result, simulate(programs.front(), cost.machine, options));
  } else {
    HOCKET_TRY(one.result, simulate(programs, cost.machine, options));
  }
  one.program = programs.front();
  one.line.step_time = one.result.step_time;
  one.line.exposed = one.result.exposed;
  for (const SimStep& step : one.program.steps) {
    (step.kind == StepKind::collective ? one.line.communication : one.line.compute) += step.time;
  }
  std::vector<SimCase> cases;
  cases.push_back(std::move(one));
  return cases;
}

// ---------------------------------------------------------------- the command

Result<std::vector<SimCase>> all_cases(const SimFlags& flags) {
  HOCKET_TRY(CostOptions cost, flags.cost.options());
  HOCKET_TRY(const MemoryLimit limit, flags.cost.limit());
  HOCKET_TRY(SimOptions options, sim_options(flags));
  if (is_chakra(flags.files.front())) return replay(flags, cost, options);
  std::vector<Subject> subjects;
  for (const std::string& file : flags.files) {
    HOCKET_TRY(Subject subject, read_verified(file));
    subjects.push_back(std::move(subject));
  }
  if (subjects.size() > 1) return run_each(flags, subjects, cost, options);
  return SpmdCases(flags, std::move(subjects.front()), std::move(cost), limit, std::move(options)).run();
}

std::string heading(const SimFlags& flags, const SimCase& first) {
  const bool folded = first.result.simulated == 1 && first.result.ranks > 1;
  std::string text =
      fmt::format("{} on {}, {}\n\n", first.program.name, flags.cost.machine,
                  folded ? "all ranks alike: one simulated for all"
                         : fmt::format("{} ranks simulated, rank {} shown", first.result.simulated, flags.rank));
  return text;
}

Status write_reports(const SimFlags& flags, std::vector<SimCase>& cases) {
  ReportData report;
  report.title = cases.front().program.name;
  for (SimCase& one : cases) report.timelines.push_back(one.line);
  report.facts = {{"machine", flags.cost.machine}, {"ranks", fmt::format("{}", cases.front().result.ranks)}};
  if (!flags.html.empty()) HOCKET_CHECK(write_report(flags.html, report));
  if (!flags.trace.empty()) HOCKET_CHECK(write_trace(flags.trace, report));
  return {};
}

int run_sim(const SimFlags& flags) {
  auto cases = all_cases(flags);
  if (!cases) return complain(at(cases.error(), flags.files.size() == 1 ? flags.files.front() : ""));
  if (!flags.html.empty() || !flags.trace.empty()) {
    if (const Status written = write_reports(flags, *cases); !written) return complain(written.error());
  }
  if (flags.json) {
    say(json_of(*cases));
    return ok;
  }
  say(heading(flags, cases->front()) + table_of(*cases));
  if (cases->front().result.simulated > 1) {
    say(fmt::format("\nmean over all ranks: {} exposed; slowest: rank {}\n",
                    to_string(cases->front().result.mean_exposed), cases->front().result.slowest.value));
  }
  return ok;
}

}  // namespace

void add_sim(CLI::App& app, Action& action) {
  auto flags = std::make_shared<SimFlags>();
  CLI::App* command = app.add_subcommand("sim", "Simulate a step on any cluster: all ranks, shared links, stragglers");
  command
      ->add_option("GRAPH", flags->files,
                   "one that all ranks run, or one for each rank, in their order; Chakra traces (.et) too")
      ->required();
  flags->cost.add_to(*command);
  command->add_option("--hosts", flags->hosts, "scale to so many hosts; without: the ranks of the capture");
  command->add_option("--sweep", flags->sweep, "hosts=1,2,4,…: a scaling curve");
  command->add_option("--what-if", flags->what_if,
                      "bandwidth*2, bandwidth.LEVEL*2, latency/2, compute*1.5, memory-limit=1.1x; again for more");
  command->add_flag("--opt", flags->optimise, "compile first, as hocket opt does");
  command->add_flag("--no-sharing", flags->alone, "every collective has the links for itself, as schedulers assume");
  command->add_option("--launch", flags->launch_us, "microseconds that issuing a collective takes")
      ->capture_default_str();
  command->add_option("--slowdown", flags->slowdown, "of computing while a rank communicates")->capture_default_str();
  command->add_option("--jitter", flags->jitter, "relative deviation of compute times, 0.05")->capture_default_str();
  command->add_option("--seed", flags->seed, "of the jitter")->capture_default_str();
  command->add_option("--straggler", flags->stragglers,
                      "RANK=FACTOR: this rank computes so many times slower; again for more");
  command->add_option("--rank", flags->rank, "whose timeline is shown")->capture_default_str();
  command->add_option("--html", flags->html, "write a page that shows the timelines; opens in a browser");
  command->add_option("--trace", flags->trace, "write the timelines as a trace for ui.perfetto.dev");
  command->add_flag("--json", flags->json, "a JSON list, an object for each case");
  command->footer(
      "Examples:\n"
      "  hocket sim step.json.gz --machine h100x8 --hosts 32\n"
      "  hocket sim step.json.gz --opt --sweep hosts=1,2,4,8,16\n"
      "  hocket sim step.json.gz --hosts 4 --what-if 'bandwidth.network*2' --what-if memory-limit=1.2x\n"
      "  hocket sim step.json.gz --straggler 3=1.2 --jitter 0.05 --html slow.html\n"
      "  hocket sim stage0.hk stage1.hk                       a pipeline: a program for each rank");
  command->callback([flags, &action] { action = [flags] { return run_sim(*flags); }; });
}

}  // namespace hocket::tool
