#include "hocket/run/executor.h"

#include <algorithm>
#include <chrono>

#include "hocket/plan/lifetimes.h"
#include "run/collective_step.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;

Nanoseconds since(Clock::time_point begin, Clock::time_point end) {
  return Nanoseconds::from_seconds(std::chrono::duration<double>(end - begin).count());
}

// What the steps come to, in their order.
struct Instruction {
  enum class Kind : std::uint8_t { compute, block, start, wait };
  Kind kind = Kind::compute;
  std::uint32_t which = 0;  // the kernel, or the collective
};

}  // namespace

struct Executor::State {
  State(Program its_program, const ExecutorOptions& its_options)
      : program(std::move(its_program)), options(its_options) {}

  Status prepare(const World& world);
  Status prepare_step(StepId step);
  Status prepare_collective(StepId step);
  Status prepare_wait(StepId step);
  void find_first_uses();
  Status prepare_tail();
  Status bind(std::span<const InputMemory> inputs);
  bool moves_memory_of_tail(std::span<const InputMemory> inputs) const;
  Status execute();
  Status execute(std::size_t step);
  Status execute(const Instruction& instruction);
  // Of the last run, as far as the first `due` steps.
  Status execute_tail(std::size_t due);
  Status finish_tail() { return execute_tail(tail_steps()); }
  std::size_t tail_steps() const { return program.size() - tail.begin; }
  void give_up_tail() { done_of_tail = tail_steps(); }
  Status finish_all();
  // Nothing may write into memory that the caller takes back after a failure.
  Status settled(Status status);
  void note_completions();

  Program program;
  ExecutorOptions options;
  KernelProvider* provider = nullptr;
  std::optional<ProgramGroups> groups;
  std::optional<ProgramMemory> memory;
  std::vector<BufferId> brought;  // by the caller; those that are not empty
  // Of each buffer: the number of the first instruction that uses it; as many as there are, if none does.
  std::vector<std::size_t> first_use;
  struct Arrival {
    std::size_t before;  // this instruction
    const std::function<Status()>* wait;
  };
  std::vector<Arrival> arrivals;  // of this run, in the order in which they are needed
  std::vector<std::unique_ptr<StepKernel>> kernels;
  std::vector<CollectiveStep> collectives;
  std::vector<StepId> steps_of_collectives;
  std::vector<Work> works;                   // by collective; done where none is in flight
  std::vector<std::uint32_t> collective_of;  // by step
  std::vector<Instruction> instructions;     // by step
  Tail tail;                                 // without `carry`: none
  std::size_t done_of_tail = 0;              // so many of its steps have run
  std::vector<bool> touched_by_tail;         // by buffer
  std::vector<bool> completed_by_tail;       // by collective
  Clock::time_point begin, now;              // of this run; of the step that runs
  RunRecord record;
};

Status Executor::State::prepare(const World& world) {
  provider->begin(program);
  HOCKET_TRY(groups, ProgramGroups::create(program, world));
  HOCKET_TRY(memory, ProgramMemory::create(program, *groups));
  for (std::size_t i = 0; i < program.buffers().size(); ++i) {
    const Buffer& buffer = program.buffer(BufferId(i));
    if (std::byte* const address = memory->at(BufferId(i))) provider->bind(BufferId(i), address);
    const bool is_brought = buffer.home == Home::input || buffer.home == Home::constant;
    if (is_brought && buffer.bytes.is_static() && buffer.bytes.value() > 0) brought.emplace_back(i);
  }
  collective_of.resize(program.size(), 0);
  for (std::size_t i = 0; i < program.size(); ++i) {
    Status status = prepare_step(StepId(i));
    if (!status) return fail(at(std::move(status).error(), fmt::format("step \"{}\"", program.name(StepId(i)))));
  }
  works.resize(collectives.size());
  find_first_uses();
  return prepare_tail();
}

Status Executor::State::prepare_tail() {
  if (options.carry) tail = tail_of(program);
  else tail.begin = program.size();
  give_up_tail();  // no run has left any
  touched_by_tail.assign(program.buffers().size(), false);
  completed_by_tail.assign(collectives.size(), false);
  for (std::size_t i = tail.begin; i < program.size(); ++i) {
    visit_accesses(program, StepId(i), [&](BufferId buffer, bool) { touched_by_tail[buffer.index()] = true; });
    if (instructions[i].kind == Instruction::Kind::wait) completed_by_tail[instructions[i].which] = true;
  }
  if (tail.empty()) return {};
  return check_places(program, lifetimes_of(program, tail));
}

Status Executor::State::prepare_step(StepId step) {
  const OpSpec* const spec = program.op_spec(step);
  if (spec != nullptr && spec->effects.comm) return prepare_collective(step);
  if (spec != nullptr && spec->effects.waits) return prepare_wait(step);
  HOCKET_TRY(std::unique_ptr<StepKernel> kernel, provider->kernel(step));
  instructions.push_back({Instruction::Kind::compute, static_cast<std::uint32_t>(kernels.size())});
  kernels.push_back(std::move(kernel));
  return {};
}

Status Executor::State::prepare_collective(StepId step) {
  HOCKET_TRY(CollectiveStep collective, CollectiveStep::create(program, step, *groups, options.timeout));
  const auto which = static_cast<std::uint32_t>(collectives.size());
  instructions.push_back({collective.blocks() ? Instruction::Kind::block : Instruction::Kind::start, which});
  collective_of[step.index()] = which;
  collectives.push_back(std::move(collective));
  steps_of_collectives.push_back(step);
  return {};
}

Status Executor::State::prepare_wait(StepId step) {
  const StepId awaited = program.step(step).waits_for;
  if (!awaited.valid()) {
    return fail(ErrorKind::usage, "waits for something that another program has started; wait for it before the run");
  }
  instructions.push_back({Instruction::Kind::wait, collective_of[awaited.index()]});
  return {};
}

void Executor::State::find_first_uses() {
  first_use.assign(program.buffers().size(), program.size());
  for (std::size_t i = program.size(); i-- > 0;) {
    for (const OperandId operand : program.reads(StepId(i))) first_use[program.operand(operand).buffer.index()] = i;
    for (const OperandId operand : program.writes(StepId(i))) first_use[program.operand(operand).buffer.index()] = i;
  }
}

bool Executor::State::moves_memory_of_tail(std::span<const InputMemory> inputs) const {
  return std::ranges::any_of(inputs, [this](const InputMemory& input) {
    return touched_by_tail[input.buffer.index()] && memory->at(input.buffer) != input.memory;
  });
}

Status Executor::State::bind(std::span<const InputMemory> inputs) {
  if (moves_memory_of_tail(inputs)) HOCKET_CHECK(finish_tail());
  arrivals.clear();
  for (const InputMemory& input : inputs) {
    if (input.arrival) arrivals.push_back({first_use[input.buffer.index()], &input.arrival});
  }
  std::ranges::stable_sort(arrivals, {}, &Arrival::before);
  for (const InputMemory& input : inputs) {
    if (memory->at(input.buffer) == input.memory) continue;
    memory->set(input.buffer, input.memory);
    provider->bind(input.buffer, input.memory);
  }
  for (const BufferId id : brought) {
    if (memory->at(id) != nullptr) continue;
    return fail(ErrorKind::usage, "no memory was given for the {} %{}", name_of(program.buffer(id).home),
                program.name(id));
  }
  return {};
}

Status Executor::State::execute(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::compute: return kernels[instruction.which]->run();
    case Instruction::Kind::block: return collectives[instruction.which].start(*memory).wait();
    case Instruction::Kind::start: works[instruction.which] = collectives[instruction.which].start(*memory); return {};
    case Instruction::Kind::wait: return works[instruction.which].wait();
  }
  return {};
}

Status Executor::State::execute(std::size_t step) {
  if (Status status = execute(instructions[step]); !status) {
    return fail(at(std::move(status).error(), fmt::format("step \"{}\"", program.name(StepId(step)))));
  }
  if (!options.record) return {};
  const auto start = now;
  now = Clock::now();
  record.steps[step] = {since(begin, start), since(begin, now), since(begin, now)};
  return {};
}

Status Executor::State::execute_tail(std::size_t due) {
  while (done_of_tail < due) HOCKET_CHECK(execute(tail.begin + done_of_tail++));
  return {};
}

Status Executor::State::execute() {
  record.steps.assign(options.record ? program.size() : 0, {});
  begin = now = Clock::now();
  auto next = arrivals.begin();
  for (std::size_t i = 0; i < tail.begin; ++i) {
    for (; next != arrivals.end() && next->before <= i; ++next) HOCKET_CHECK((*next->wait)());
    if (!tail.empty()) HOCKET_CHECK(execute_tail(tail.due[i]));
    HOCKET_CHECK(execute(i));
  }
  for (; next != arrivals.end(); ++next) HOCKET_CHECK((*next->wait)());  // nobody used these, but they may have failed
  HOCKET_CHECK(finish_tail());
  done_of_tail = 0;
  HOCKET_CHECK(finish_all());
  record.total = since(begin, Clock::now());
  if (options.record) note_completions();
  return {};
}

// Collectives that no step waits for are complete before the memory is used again. Those that steps of the tail still wait for are
// left to them.
Status Executor::State::finish_all() {
  Status first;
  const bool tail_is_done = done_of_tail == tail_steps();
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (completed_by_tail[i] && !tail_is_done) continue;
    Status status = works[i].wait();
    if (!status && first) {
      first = fail(at(std::move(status).error(), fmt::format("step \"{}\"", program.name(steps_of_collectives[i]))));
    }
  }
  return first;
}

Status Executor::State::settled(Status status) {
  if (status) return status;
  // Who is gone or stuck will not come to this program again, and this rank not to the rest of its steps.
  if (status.error().kind == ErrorKind::peer) groups->abandon(status.error());
  give_up_tail();
  static_cast<void>(finish_all());
  return status;
}

void Executor::State::note_completions() {
  for (std::size_t i = 0; i < works.size(); ++i) {
    const auto finished = works[i].finished_at();
    StepRecord& step = record.steps[steps_of_collectives[i].index()];
    if (finished) step.complete = since(begin, *finished);
    else if (completed_by_tail[i]) step.complete = record.total;  // under way, for all that this run knows
  }
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::~Executor() {
  if (!state_) return;
  static_cast<void>(finish());
  static_cast<void>(state_->finish_all());
}

Result<std::unique_ptr<Executor>> Executor::create(Program program, KernelProvider& kernels, const World& world,
                                                   const ExecutorOptions& options) {
  auto state = std::make_unique<State>(std::move(program), options);
  state->provider = &kernels;
  HOCKET_CHECK(state->prepare(world));
  return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

Status Executor::run(std::span<const InputMemory> inputs) {
  return state_->settled(state_->bind(inputs).and_then([&] { return state_->execute(); }));
}

Status Executor::finish() { return state_->settled(state_->finish_tail()); }

const Program& Executor::program() const { return state_->program; }
std::byte* Executor::memory(BufferId buffer) const { return state_->memory->at(buffer); }
Bytes Executor::planned() const { return state_->memory->planned(); }
bool Executor::carries() const { return !state_->tail.empty(); }
const RunRecord& Executor::last_run() const { return state_->record; }

}  // namespace hocket
