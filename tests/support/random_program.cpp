#include "support/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "hocket/ir/builder.h"
#include "support/program_draft.h"
#include "support/random.h"

namespace hocket {

namespace {

// Writes a draft step by step. A tensor here is an operand whose buffer has been written.
class ProgramMaker {
 public:
  ProgramMaker(std::uint64_t seed, const RandomProgramOptions& options) : random_(seed), options_(options) {
    draft_.name = fmt::format("program_{}", seed);
  }

  ProgramDraft run() {
    add_groups();
    add_inputs();
    for (int i = 0; i < options_.steps; ++i) step();
    while (!flights_.empty()) wait();
    for (int i = 0; i < 3; ++i) draft_.results.push_back(pick());
    return std::move(draft_);
  }

 private:
  struct Flight {
    StepId step;
    OperandId result;
    std::vector<BufferId> read;
    std::vector<BufferId> written;
  };

  void add_groups() {
    const auto add = [&](std::string name, int size, int apart) {
      Group group{std::move(name), {}};
      for (int i = 0; i < size; ++i) group.ranks.push_back(Rank{i * apart});
      draft_.groups.push_back(std::move(group));
    };
    add("all", options_.world, 1);
    add("near", 2, 1);
  }

  void add_inputs() {
    for (int i = 0; i < 3; ++i) tensors_.push_back(matrix(new_buffer(Home::input, GroupId::none(), whole_bytes())));
    tensors_.push_back(matrix(new_buffer(Home::constant, GroupId::none(), whole_bytes())));
  }

  std::int64_t whole_bytes() const { return std::int64_t{4} * options_.width * options_.width; }

  std::string name(std::string_view stem) {
    if (options_.odd_names && random_.chance(20))
      return fmt::format("{} \"{}\"\n{}", random_.pick({"ü", "a b", "\\"}), stem, named_++);
    return fmt::format("{}_{}", stem, named_++);
  }

  BufferId new_buffer(Home home, GroupId group, std::int64_t bytes) {
    DraftBuffer buffer;
    buffer.name = name(name_of(home));
    buffer.home = home;
    buffer.group = group;
    buffer.device = options_.odd_names ? "cuda:1" : "cpu";
    buffer.bytes = bytes;
    draft_.buffers.push_back(std::move(buffer));
    return BufferId(draft_.buffers.size() - 1);
  }

  OperandId operand(BufferId buffer, std::vector<Dim> shape, std::int64_t offset = 0) {
    SymbolTable none;
    std::vector<Dim> strides = contiguous_strides(shape, none)->dims;
    draft_.operands.push_back({buffer, Dtype::f32, std::move(shape), std::move(strides), offset});
    return OperandId(draft_.operands.size() - 1);
  }
  OperandId matrix(BufferId buffer) { return operand(buffer, {options_.width, options_.width}); }

  const DraftOperand& type(OperandId id) const { return draft_.operands[id.index()]; }
  BufferId buffer(OperandId id) const { return type(id).buffer; }

  static bool contains(const std::vector<BufferId>& list, BufferId buffer) {
    return std::find(list.begin(), list.end(), buffer) != list.end();
  }
  bool written_in_flight(BufferId id) const {
    return std::any_of(flights_.begin(), flights_.end(),
                       [&](const Flight& flight) { return contains(flight.written, id); });
  }
  bool in_flight(BufferId id) const {
    return written_in_flight(id) || std::any_of(flights_.begin(), flights_.end(),
                                                [&](const Flight& flight) { return contains(flight.read, id); });
  }

  template <class Condition>
  OperandId pick(Condition condition) {
    std::vector<OperandId> fitting;
    for (const OperandId id : tensors_) {
      if (!written_in_flight(buffer(id)) && condition(id)) fitting.push_back(id);
    }
    return fitting.empty() ? OperandId::none() : random_.pick(fitting);
  }
  OperandId pick() {
    return pick([](OperandId) { return true; });
  }
  OperandId pick_matrix() {
    return pick([&](OperandId id) { return type(id).shape == std::vector<Dim>{options_.width, options_.width}; });
  }
  bool may_write(OperandId id) const {
    return draft_.buffers[buffer(id).index()].home != Home::constant && !in_flight(buffer(id));
  }

  // Where a result of this shape goes: a new buffer, or one that neither the step's inputs nor anything in flight touches.
  OperandId place(const std::vector<Dim>& shape, const std::vector<OperandId>& inputs,
                  GroupId group = GroupId::none()) {
    std::int64_t bytes = 4;
    for (const Dim dim : shape) bytes *= dim.value();
    if (random_.chance(options_.reuse)) {
      std::vector<BufferId> fitting;
      for (std::size_t i = 0; i < draft_.buffers.size(); ++i) {
        const DraftBuffer& candidate = draft_.buffers[i];
        const bool home_fits =
            candidate.home == Home::arena || (candidate.home == Home::symmetric && candidate.group == group);
        const bool is_input =
            std::any_of(inputs.begin(), inputs.end(), [&](OperandId input) { return buffer(input) == BufferId(i); });
        if (home_fits && candidate.bytes.value() >= bytes && !is_input && !in_flight(BufferId(i)))
          fitting.emplace_back(i);
      }
      if (!fitting.empty()) return operand(random_.pick(fitting), shape);
    }
    const bool symmetric = group.valid() && options_.symmetric;
    const std::int64_t slack = random_.chance(20) ? 64 : 0;
    return operand(
        new_buffer(symmetric ? Home::symmetric : Home::arena, symmetric ? group : GroupId::none(), bytes + slack),
        shape);
  }

  StepId add(std::string_view op, std::vector<Arg> args, std::vector<OperandId> reads, std::vector<OperandId> writes) {
    DraftStep step;
    step.op = full_op_name(op);
    const std::string_view after_space = op.substr(op.find('.') + 1);
    step.name = name(after_space.substr(0, after_space.find('.')));
    step.args = std::move(args);
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    const OpSpec* row = OpTable::builtin().find(step.op);
    if (row == nullptr) throw std::logic_error("random program: no row for " + step.op);
    step.gemm = row->effects.gemm;
    if (random_.chance(options_.facts)) {
      step.measured.picoseconds = random_.between(0, 50'000'000);
      step.measured.read = random_.between(0, 1 << 20);
    }
    draft_.steps.push_back(std::move(step));
    for (const OperandId written : draft_.steps.back().writes) note(written);
    return StepId(draft_.steps.size() - 1);
  }

  // A tensor may be read from now on; those whose bytes it replaced stay readable too, as other contents.
  void note(OperandId id) { tensors_.push_back(id); }

  void step() {
    if (random_.chance(options_.collectives)) return flights_.size() < 3 ? communicate() : wait();
    if (!flights_.empty() && random_.chance(25)) return wait();
    if (random_.chance(options_.in_place)) return write_in_place();
    const OperandId a = pick_matrix();
    const OperandId b = pick_matrix();
    if (!a.valid()) return;
    if (random_.chance(40)) {
      add("aten.mm", {Arg::value(a), Arg::value(b)}, {a, b}, {place({options_.width, options_.width}, {a, b})});
    } else if (random_.chance(50)) {
      add("aten.add.Tensor", {Arg::value(a), Arg::value(b)}, {a, b}, {place({options_.width, options_.width}, {a, b})});
    } else {
      const OperandId any = pick();
      add("aten.relu", {Arg::value(any)}, {any}, {place(type(any).shape, {any})});
    }
  }

  void write_in_place() {
    const OperandId target = pick([&](OperandId id) { return may_write(id); });
    if (!target.valid()) return;
    const OperandId source = pick([&](OperandId id) { return type(id).shape == type(target).shape; });
    add(random_.pick({"aten.add_.Tensor", "aten.copy_"}), {Arg::value(target), Arg::value(source)}, {target, source},
        {target});
  }

  Arg text(std::string_view text) { return Arg::text(ArgKind::string, draft_.pool.strings.add(text)); }

  void communicate() {
    const GroupId group(random_.index(draft_.groups.size()));
    const auto members = static_cast<std::int64_t>(draft_.groups[group.index()].ranks.size());
    // a symmetric buffer only serves its own group
    const auto home_fits = [&](OperandId id) {
      const DraftBuffer& home = draft_.buffers[buffer(id).index()];
      return home.home != Home::symmetric || home.group == group;
    };
    const OperandId input = pick([&](OperandId id) {
      return home_fits(id) && type(id).shape[0].value() % members == 0 && type(id).shape[0].value() <= 64;
    });
    if (!input.valid()) return;
    std::vector<Dim> shape = type(input).shape;
    if (random_.chance(30) && may_write(input)) {
      const StepId id =
          add("_c10d_functional.all_reduce_", {Arg::value(input), text("sum"), Arg::group(group)}, {input}, {input});
      return start(id, CollectiveKind::all_reduce, group, input);
    }
    if (random_.chance(20)) {  // blocking: nothing is in flight afterwards
      const OperandId result = place(shape, {input}, group);
      const StepId id =
          add("symm_mem.one_shot_all_reduce", {Arg::value(input), text("sum"), Arg::group(group)}, {input}, {result});
      return say(id, CollectiveKind::all_reduce, group);
    }
    if (random_.chance(50)) {
      shape[0] = shape[0].value() * members;
      const OperandId result = place(shape, {input}, group);
      const StepId id = add("_c10d_functional.all_gather_into_tensor",
                            {Arg::value(input), Arg::integer(members), Arg::group(group)}, {input}, {result});
      return start(id, CollectiveKind::all_gather, group, result);
    }
    shape[0] = shape[0].value() / members;
    const OperandId result = place(shape, {input}, group);
    const StepId id =
        add("_c10d_functional.reduce_scatter_tensor",
            {Arg::value(input), text("sum"), Arg::integer(members), Arg::group(group)}, {input}, {result});
    start(id, CollectiveKind::reduce_scatter, group, result);
  }

  std::int64_t bytes(OperandId id) const {
    std::int64_t total = 4;
    for (const Dim dim : type(id).shape) total *= dim.value();
    return total;
  }

  void say(StepId id, CollectiveKind kind, GroupId group) {
    DraftStep& step = draft_.steps[id.index()];
    Collective collective{kind, group, Bytes(), Bytes()};
    for (const OperandId read : step.reads) collective.bytes_in += Bytes(bytes(read));
    for (const OperandId written : step.writes) collective.bytes_out += Bytes(bytes(written));
    step.collective = collective;
  }

  void start(StepId id, CollectiveKind kind, GroupId group, OperandId result) {
    say(id, kind, group);
    Flight flight{id, result, {}, {}};
    for (const OperandId read : draft_.steps[id.index()].reads) flight.read.push_back(buffer(read));
    for (const OperandId written : draft_.steps[id.index()].writes) flight.written.push_back(buffer(written));
    flights_.push_back(std::move(flight));
  }

  void wait() {
    const std::size_t which = random_.index(flights_.size());
    const Flight flight = flights_[which];
    flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(which));
    const StepId id = add("_c10d_functional.wait_tensor", {Arg::value(flight.result)}, {flight.result}, {});
    draft_.steps[id.index()].waits_for = flight.step;
  }

  Random random_;
  const RandomProgramOptions& options_;
  ProgramDraft draft_;
  std::vector<OperandId> tensors_;
  std::vector<Flight> flights_;
  int named_ = 0;
};

// Gives every buffer of an arena the lowest offset that is free for as long as it lives.
void place_buffers(ProgramDraft& draft) {
  struct Life {
    std::size_t first = static_cast<std::size_t>(-1);
    std::size_t last = 0;
  };
  std::vector<Life> lives(draft.buffers.size());
  const auto touch = [&](OperandId operand, std::size_t when) {
    Life& life = lives[draft.operands[operand.index()].buffer.index()];
    life.first = std::min(life.first, when);
    life.last = std::max(life.last, when);
  };
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    const DraftStep& step = draft.steps[i];
    for (const OperandId operand : step.reads) touch(operand, i);
    for (const OperandId operand : step.writes) touch(operand, i);
    if (!step.waits_for.valid()) continue;
    for (const OperandId operand : draft.steps[step.waits_for.index()].reads) touch(operand, i);
    for (const OperandId operand : draft.steps[step.waits_for.index()].writes) touch(operand, i);
  }
  for (const OperandId operand : draft.results) touch(operand, draft.steps.size());

  std::map<std::tuple<Home, GroupId, std::string>, std::vector<std::size_t>> arenas;
  for (std::size_t i = 0; i < draft.buffers.size(); ++i) {
    DraftBuffer& buffer = draft.buffers[i];
    if (buffer.home == Home::input || buffer.home == Home::constant) continue;
    auto& neighbours = arenas[{buffer.home, buffer.group, buffer.device}];
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t other : neighbours) {
        const DraftBuffer& taken = draft.buffers[other];
        const bool together = lives[i].first <= lives[other].last && lives[other].first <= lives[i].last;
        const bool meet =
            offset < taken.placed_at + taken.bytes.value() && taken.placed_at < offset + buffer.bytes.value();
        if (!together || !meet) continue;
        offset = taken.placed_at + taken.bytes.value();
        moved = true;
      }
    }
    buffer.placed_at = offset;
    neighbours.push_back(i);
  }
}

}  // namespace

Program random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  ProgramDraft draft = ProgramMaker(seed, options).run();
  if (options.placed) place_buffers(draft);
  auto program = draft.build();
  if (!program) throw std::logic_error("random program: " + program.error().to_string());
  return std::move(*program);
}

Program random_program(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  RandomProgramOptions options;
  options.steps = static_cast<int>(random.between(1, 60));
  options.world = random.pick({2, 4, 8});
  options.width = options.world * static_cast<int>(random.between(1, 2));
  options.collectives = static_cast<int>(random.between(0, 40));
  options.in_place = static_cast<int>(random.between(0, 40));
  options.reuse = static_cast<int>(random.between(0, 60));
  options.facts = random.pick({0, 50, 100});
  options.symmetric = random.chance(70);
  options.placed = random.chance(60);
  options.odd_names = random.chance(30);
  return random_program(seed, options);
}

}  // namespace hocket
