#include "support/program_defects.h"

#include <algorithm>

namespace hocket {

namespace {

StepId pick_step(const Program& program, Random& random, const std::function<bool(StepId)>& condition) {
  if (program.size() == 0) return StepId::none();
  const std::size_t start = random.index(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const StepId id((start + i) % program.size());
    if (condition(id)) return id;
  }
  return StepId::none();
}

StepId pick_wait(const Program& program, Random& random) {
  return pick_step(program, random, [&](StepId id) { return program.step(id).waits_for.valid(); });
}

StepId pick_collective(const Program& program, Random& random) {
  return pick_step(program, random, [&](StepId id) { return program.collective(id) != nullptr; });
}

void insert_step(ProgramDraft& draft, StepId position, DraftStep step) {
  for (DraftStep& other : draft.steps) {
    if (other.waits_for.valid() && other.waits_for >= position) other.waits_for = StepId(other.waits_for.index() + 1);
  }
  draft.steps.insert(draft.steps.begin() + static_cast<std::ptrdiff_t>(position.index()), std::move(step));
}

OperandId new_operand(ProgramDraft& draft, DraftOperand operand) {
  draft.operands.push_back(std::move(operand));
  return OperandId(draft.operands.size() - 1);
}

// An operand like another one, in a new buffer of its own.
OperandId in_new_buffer(ProgramDraft& draft, OperandId like) {
  DraftBuffer buffer;
  buffer.name = "another buffer";
  buffer.bytes = draft.buffer_of(like).bytes;
  buffer.device = draft.buffer_of(like).device;
  draft.buffers.push_back(buffer);
  DraftOperand operand = draft.operands[like.index()];
  operand.buffer = BufferId(draft.buffers.size() - 1);
  return new_operand(draft, std::move(operand));
}

DraftStep relu(std::string name, OperandId from, OperandId to) {
  DraftStep step;
  step.name = std::move(name);
  step.op = "aten.relu.default";
  step.args = {Arg::value(from)};
  step.reads = {from};
  step.writes = {to};
  return step;
}

DraftStep relu_in_place(std::string name, OperandId operand) {
  DraftStep step = relu(std::move(name), operand, operand);
  step.op = "aten.relu_.default";
  return step;
}

// ---- names and declarations

bool same_step_name(ProgramDraft& draft, const Program& program, Random& random) {
  if (program.size() < 2) return false;
  const std::size_t a = random.index(program.size());
  const std::size_t b = random.index(program.size());
  if (a == b) return false;
  draft.steps[a].name = draft.steps[b].name;
  return true;
}

bool no_step_name(ProgramDraft& draft, const Program& program, Random& random) {
  if (program.size() == 0) return false;
  draft.steps[random.index(program.size())].name.clear();
  return true;
}

bool same_buffer_name(ProgramDraft& draft, const Program&, Random& random) {
  draft.buffers.push_back(random.pick(draft.buffers));
  return true;
}

bool hide_read(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) { return !program.reads(one).empty(); });
  if (!id.valid()) return false;
  draft.steps[id.index()].reads.clear();
  return true;
}

bool hide_write(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) {
    return program.op_spec(one) != nullptr && program.op_spec(one)->effects.mutates != 0;
  });
  if (!id.valid()) return false;
  OperandId& written = draft.steps[id.index()].writes[0];
  written = in_new_buffer(draft, written);
  return true;
}

bool write_constant(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) { return !program.writes(one).empty(); });
  if (!id.valid()) return false;
  DraftBuffer& buffer = draft.buffers[program.operand(program.writes(id)[0]).buffer.index()];
  buffer.home = Home::constant;
  buffer.placed_at = -1;
  return true;
}

// ---- order

bool read_before_write(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) {
    return !program.writes(one).empty() &&
           program.buffer(program.operand(program.writes(one)[0]).buffer).home != Home::input;
  });
  if (!id.valid()) return false;
  const OperandId early = program.writes(id)[0];
  insert_step(draft, StepId(0), relu("early read", early, in_new_buffer(draft, early)));
  return true;
}

bool return_unwritten(ProgramDraft& draft, const Program& program, Random&) {
  draft.results.push_back(in_new_buffer(draft, program.results()[0]));
  return true;
}

// The first write of a buffer and a step that reads it.
bool swap_dependent(ProgramDraft& draft, const Program& program, Random& random) {
  const auto first_writer = [&](BufferId buffer) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      for (const OperandId operand : program.writes(StepId(i))) {
        if (program.operand(operand).buffer == buffer) return StepId(i);
      }
    }
    return StepId::none();
  };
  StepId writer;
  const StepId reader = pick_step(program, random, [&](StepId id) {
    if (program.step(id).waits_for.valid()) return false;  // a wait reads nothing
    for (const OperandId operand : program.reads(id)) {
      const BufferId buffer = program.operand(operand).buffer;
      const Home home = program.buffer(buffer).home;
      writer = first_writer(buffer);
      if (home != Home::input && home != Home::constant && writer.valid() && writer < id) return true;
    }
    return false;
  });
  if (!reader.valid()) return false;
  draft.swap(writer, reader);
  return true;
}

// ---- types and sizes

bool change_written_type(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) {
    return !program.writes(one).empty() && program.op_spec(one) != nullptr && program.op_spec(one)->shape != nullptr &&
           program.op_spec(one)->effects.mutates == 0;
  });
  if (!id.valid()) return false;
  DraftOperand operand = draft.operands[program.writes(id)[0].index()];
  if (random.chance(50)) operand.dtype = Dtype::i16;
  else operand.shape.back() = operand.shape.back().value() == 1 ? Dim(0) : Dim(operand.shape.back().value() - 1);
  draft.steps[id.index()].writes[0] = new_operand(draft, std::move(operand));
  return true;
}

bool shrink_buffer(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) { return !program.reads(one).empty(); });
  if (!id.valid()) return false;
  SymbolTable symbols;
  const OperandId operand = program.reads(id)[0];
  const std::int64_t reach = extent_bytes(program.type(operand), symbols)->value();
  if (reach == 0) return false;
  draft.buffers[program.operand(operand).buffer.index()].bytes = random.between(0, reach - 1);
  return true;
}

bool return_beyond_buffer(ProgramDraft& draft, const Program& program, Random& random) {
  DraftOperand operand = draft.operands[random.pick(draft.results).index()];
  operand.offset = program.buffer(operand.buffer).bytes.value();
  if (std::find(operand.shape.begin(), operand.shape.end(), Dim(0)) != operand.shape.end()) return false;
  draft.results.push_back(new_operand(draft, std::move(operand)));
  return true;
}

// ---- communication

bool drop_wait(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  draft.erase(wait);
  return true;
}

bool read_before_wait(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  const OperandId result = program.writes(program.step(wait).waits_for)[0];
  insert_step(draft, wait, relu("early read", result, in_new_buffer(draft, result)));
  return true;
}

bool write_before_wait(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  insert_step(draft, wait, relu_in_place("early write", program.reads(program.step(wait).waits_for)[0]));
  return true;
}

bool second_in_flight(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  const StepId first = program.step(wait).waits_for;
  const OperandId result = program.writes(first)[0];
  DraftStep second = relu_in_place("second in flight", result);
  second.op = "_c10d_functional.all_reduce_.default";
  second.args = {Arg::value(result), Arg::text(ArgKind::string, draft.pool.strings.add("sum")),
                 Arg::group(program.collective(first)->group)};
  second.collective = Collective{CollectiveKind::all_reduce, program.collective(first)->group, Bytes(), Bytes()};
  DraftStep its_wait = draft.steps[wait.index()];
  its_wait.name = "second wait";
  insert_step(draft, wait, std::move(second));
  its_wait.waits_for = wait;  // where the second collective stands now
  draft.steps.push_back(std::move(its_wait));
  return true;
}

bool wait_for_later_step(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  draft.steps[wait.index()].waits_for = StepId(static_cast<std::size_t>(
      random.between(static_cast<std::int64_t>(wait.index()), static_cast<std::int64_t>(program.size()) - 1)));
  return true;
}

bool wait_for_no_collective(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  const StepId other =
      pick_step(program, random, [&](StepId id) { return id < wait && program.collective(id) == nullptr; });
  if (!wait.valid() || !other.valid()) return false;
  draft.steps[wait.index()].waits_for = other;
  return true;
}

bool wait_for_nothing(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  draft.steps[wait.index()].waits_for = StepId::none();
  return true;
}

bool wait_for_other_collective(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_wait(program, random);
  if (!wait.valid()) return false;
  const BufferId own = program.operand(program.reads(wait)[0]).buffer;
  const StepId other = pick_step(program, random, [&](StepId id) {
    return id < wait && program.collective(id) != nullptr && program.operand(program.writes(id)[0]).buffer != own;
  });
  if (!other.valid()) return false;
  draft.steps[wait.index()].waits_for = other;
  return true;
}

bool wrong_kind(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_collective(program, random);
  if (!id.valid()) return false;
  draft.steps[id.index()].collective->kind = CollectiveKind::p2p;
  return true;
}

bool wrong_group(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_collective(program, random);
  if (!id.valid()) return false;
  GroupId& group = draft.steps[id.index()].collective->group;
  group = GroupId(1 - group.index());
  return true;
}

bool hide_collective(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_collective(program, random);
  if (!id.valid()) return false;
  draft.steps[id.index()].collective.reset();
  return true;
}

bool claim_collective(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_step(program, random, [&](StepId one) { return program.collective(one) == nullptr; });
  if (!id.valid()) return false;
  draft.steps[id.index()].collective = Collective{CollectiveKind::all_reduce, GroupId(0), Bytes(), Bytes()};
  return true;
}

bool symmetric_in_other_group(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId id = pick_collective(program, random);
  if (!id.valid()) return false;
  DraftBuffer& buffer = draft.buffers[program.operand(program.writes(id)[0]).buffer.index()];
  buffer.home = Home::symmetric;
  buffer.group = GroupId(1 - program.collective(id)->group.index());
  return true;
}

bool symmetric_in_no_group(ProgramDraft& draft, const Program&, Random& random) {
  DraftBuffer& buffer = draft.buffers[random.index(draft.buffers.size())];
  buffer.home = Home::symmetric;
  buffer.group = GroupId::none();
  return true;
}

bool rank_twice(ProgramDraft& draft, const Program&, Random& random) {
  Group& group = draft.groups[random.index(draft.groups.size())];
  group.ranks.push_back(group.ranks[0]);
  return true;
}

// ---- memory

bool is_placed(const Program& program, OperandId operand) {
  return program.buffer(program.operand(operand).buffer).placed_at >= 0;
}

// A step reads one placed buffer and writes another of the same arena: both are live there.
bool overlap(ProgramDraft& draft, const Program& program, Random& random) {
  const auto partner = [&](StepId id) {
    for (const OperandId read : program.reads(id)) {
      for (const OperandId written : program.writes(id)) {
        const Buffer& a = program.buffer(program.operand(read).buffer);
        const Buffer& b = program.buffer(program.operand(written).buffer);
        const bool same_arena = a.home == b.home && a.group == b.group && a.device == b.device;
        if (is_placed(program, read) && is_placed(program, written) && same_arena &&
            program.operand(read).buffer != program.operand(written).buffer) {
          return std::pair(program.operand(read).buffer, program.operand(written).buffer);
        }
      }
    }
    return std::pair(BufferId::none(), BufferId::none());
  };
  const StepId id = pick_step(program, random, [&](StepId one) { return partner(one).first.valid(); });
  if (!id.valid()) return false;
  const auto [a, b] = partner(id);
  draft.buffers[a.index()].placed_at =
      program.buffer(b).placed_at + random.between(0, program.buffer(b).bytes.value() - 1);
  return true;
}

// A new buffer lies where a collective's input is, and is written before the wait.
bool reuse_in_flight(ProgramDraft& draft, const Program& program, Random& random) {
  const StepId wait = pick_step(program, random, [&](StepId id) {
    const StepId collective = program.step(id).waits_for;
    return collective.valid() && is_placed(program, program.reads(collective)[0]);
  });
  if (!wait.valid()) return false;
  const OperandId flying = program.reads(program.step(wait).waits_for)[0];
  DraftBuffer buffer = draft.buffer_of(flying);
  buffer.name = "another buffer";
  draft.buffers.push_back(buffer);
  DraftOperand operand = draft.operands[flying.index()];
  operand.buffer = BufferId(draft.buffers.size() - 1);
  const OperandId target = new_operand(draft, operand);
  DraftOperand source = operand;
  source.buffer = BufferId(0);  // an input
  draft.buffers[0].bytes = std::max(draft.buffers[0].bytes.value(), buffer.bytes.value());
  insert_step(draft, wait, relu("early reuse", new_operand(draft, source), target));
  return true;
}

bool place_an_input(ProgramDraft& draft, const Program&, Random& random) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < draft.buffers.size(); ++i) {
    if (draft.buffers[i].home == Home::input || draft.buffers[i].home == Home::constant) inputs.push_back(i);
  }
  draft.buffers[random.pick(inputs)].placed_at = 0;
  return true;
}

}  // namespace

std::vector<ProgramDefect> program_defects() {
  using enum ProblemKind;
  return {
      {"give two steps one name", {name}, same_step_name},
      {"take a step's name away", {name}, no_step_name},
      {"give two buffers one name", {name}, same_buffer_name},
      {"hide a read", {structure}, hide_read},
      {"hide a write", {mutation}, hide_write},
      {"write a constant", {mutation}, write_constant},
      {"read a buffer before it is written", {order}, read_before_write},
      {"return a buffer that is never written", {order}, return_unwritten},
      {"swap two dependent steps", {order}, swap_dependent},
      {"change a written type", {type}, change_written_type},
      {"shrink a buffer", {storage}, shrink_buffer},
      {"return more than a buffer has", {storage}, return_beyond_buffer},
      {"drop a wait", {wait}, drop_wait},
      {"read a result before its wait", {wait}, read_before_wait},
      {"write what is read in flight", {mutation}, write_before_wait},
      {"start a second collective in flight", {wait}, second_in_flight},
      {"wait for a later step", {order}, wait_for_later_step},
      {"wait for no collective", {wait}, wait_for_no_collective},
      {"wait without saying for what", {wait}, wait_for_nothing},
      {"wait for another collective", {wait}, wait_for_other_collective},
      {"say another kind", {collective}, wrong_kind},
      {"say another group", {collective}, wrong_group},
      {"say nothing about a collective", {collective}, hide_collective},
      {"say that an operator communicates", {collective}, claim_collective},
      {"communicate on another group's memory", {group}, symmetric_in_other_group},
      {"make a buffer symmetric in no group", {group}, symmetric_in_no_group},
      {"put a rank into a group twice", {group}, rank_twice},
      {"let two live buffers overlap", {memory}, overlap},
      {"reuse memory in flight", {memory}, reuse_in_flight},
      {"place an input in an arena", {memory}, place_an_input},
  };
}

}  // namespace hocket
