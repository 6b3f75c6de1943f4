// Programs of steps on the machine. A buffer is a memory, or part of one: placed buffers lie in their arena.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "support/interpreter_machine.h"

namespace hocket::interpreter {

namespace {

class ProgramRun {
 public:
  // `current` is kept at the step that runs.
  ProgramRun(const Program& program, const RunOptions& options, std::string& current)
      : program_(program),
        options_(options),
        symbols_(program.symbols()),
        values_(program),
        machine_(options, program.groups(), options.world, options.rank),
        current_(current) {}

  RunResult run() {
    measure_buffers();
    refuse_what_is_too_large();
    add_memories();
    for (std::size_t i = 0; i < program_.size(); ++i) {
      current_ = fmt::format("step {}", program_.name(StepId(i)));
      step(StepId(i));
    }
    current_ = "the end";
    for (const OperandId operand : program_.results()) machine_.return_tensor(place(operand));
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      if (buffer.home == Home::input || buffer.home == Home::constant)
        machine_.return_input(program_.name(BufferId(i)), whole(i));
    }
    return machine_.finish();
  }

 private:
  struct BufferHome {
    std::size_t memory = 0;
    std::int64_t base = 0;
    std::int64_t element = 0;  // of its first operand
    std::int64_t granule = 16;
  };

  // ---- memory

  std::int64_t bytes(std::size_t buffer) const {
    const Dim size = program_.buffer(BufferId(buffer)).bytes;
    if (!size.is_static()) throw Halt("a buffer of symbolic size: the interpreter needs numbers", ErrorKind::usage);
    return size.value();
  }
  Place whole(std::size_t buffer) const {
    return {homes_[buffer].memory, whole_layout(bytes(buffer), homes_[buffer].element)};
  }
  bool is_placed(std::size_t buffer) const {
    const Buffer& one = program_.buffer(BufferId(buffer));
    return one.placed_at >= 0 && (one.home == Home::arena || one.home == Home::symmetric);
  }

  void measure_buffers() {
    homes_.resize(program_.buffers().size());
    for (std::size_t i = 0; i < program_.operand_count(); ++i) {
      BufferHome& home = homes_[program_.operand(OperandId(i)).buffer.index()];
      const std::int64_t element = size_of(program_.type(OperandId(i)).dtype);
      if (home.element == 0) home.element = element;
      home.granule = std::min(home.granule, element);
    }
    for (BufferHome& home : homes_) home.element = std::max<std::int64_t>(home.element, 1);
  }

  void refuse_what_is_too_large() const {
    std::int64_t words = 0;
    for (std::size_t i = 0; i < homes_.size(); ++i)
      words += bytes(i) / homes_[i].element * static_cast<std::int64_t>(machine_.world());
    if (words > options_.most_words)
      throw Halt(fmt::format("@{} is too large to interpret: its buffers have {} words on {} ranks, the limit is {}; "
                             "use a smaller program or raise RunOptions::most_words",
                             program_.name(), words, machine_.world(), options_.most_words),
                 ErrorKind::usage);
  }

  void add_memories() {
    using Key = std::tuple<Home, std::uint32_t, std::uint32_t>;  // home, group, device
    struct Arena {
      std::int64_t bytes = 0;
      std::int64_t granule = 16;
      std::size_t memory = 0;
    };
    std::map<Key, Arena> arenas;
    const auto key = [&](std::size_t i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      return Key(buffer.home, buffer.group.value, buffer.device.value);
    };
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      if (!is_placed(i)) continue;
      Arena& arena = arenas[key(i)];
      const std::int64_t at = program_.buffer(BufferId(i)).placed_at;
      arena.bytes = std::max(arena.bytes, at + bytes(i));
      arena.granule = std::gcd(std::gcd(arena.granule, homes_[i].granule), at);
    }
    for (auto& [which, arena] : arenas)
      arena.memory =
          machine_.add_memory(fmt::format("the {} arena", name_of(std::get<0>(which))), arena.bytes, arena.granule);
    for (std::size_t i = 0; i < homes_.size(); ++i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      const std::string_view name = program_.name(BufferId(i));
      if (is_placed(i)) {
        homes_[i].memory = arenas[key(i)].memory;
        homes_[i].base = buffer.placed_at;
        continue;
      }
      homes_[i].memory = machine_.add_memory(fmt::format("%{}", name), bytes(i), homes_[i].granule);
      if (buffer.home == Home::input || buffer.home == Home::constant) machine_.fill(name, whole(i));
    }
  }

  Place place(BufferId buffer, const TypeView& type) const {
    const BufferHome& home = homes_[buffer.index()];
    Place at{home.memory, layout_of(type, home.base)};
    if (at.layout.end_bytes() - home.base > bytes(buffer.index()))
      throw Halt(fmt::format("a tensor reaches {} bytes into %{}, which has {}", at.layout.end_bytes() - home.base,
                             program_.name(buffer), bytes(buffer.index())));
    return at;
  }
  Place place(OperandId operand) const { return place(program_.operand(operand).buffer, program_.type(operand)); }

  // ---- steps

  // Of an operator that gives back what it writes, or a part of it, no write is a new result.
  static bool writes_arguments_only(const OpSpec* spec) {
    if (spec == nullptr) return false;
    const Effects& effects = spec->effects;
    return effects.alias == Alias::out ||
           (effects.alias == Alias::first && (effects.mutates >> effects.alias_arg & 1U) != 0);
  }

  Invocation invocation(StepId id) const {
    Invocation call;
    call.id = id.index();
    call.name = program_.name(id);
    call.op = program_.op_name(id);
    call.spec = program_.op_spec(id);
    const auto value = [&](const Arg& arg) {
      Item item;
      item.kind = Item::Kind::tensor;
      item.tensor = call.tensors.size();
      call.tensors.push_back(place(arg.as_operand()));
      return item;
    };
    for (const Arg& arg : program_.args(id)) call.args.push_back(item_of(program_.pool(), arg, value));
    for (const Keyword& keyword : program_.keywords(id))
      call.keywords.emplace_back(program_.pool().strings[keyword.key], item_of(program_.pool(), keyword.value, value));
    const std::vector<Place> mutated = mutated_places(call);
    for (const OperandId operand : program_.writes(id)) {
      const Place target = place(operand);
      const bool given_back = writes_arguments_only(call.spec);
      const auto is_argument = [&](const Place& argument) {
        return argument == target || (given_back && (target.layout.count() == 0 || meet(argument, target)));
      };
      if (std::any_of(mutated.begin(), mutated.end(), is_argument)) continue;
      require(!given_back, "declares to write what its operator does not write");
      call.results.push_back(target);
    }
    return call;
  }

  void step(StepId id) {
    const OpSpec* spec = program_.op_spec(id);
    Invocation call = invocation(id);
    const StepId awaited = program_.step(id).waits_for;
    if (awaited.valid())
      machine_.wait(awaited.index(), call.tensors.empty() ? Place{0, whole_layout(0, 1)} : call.tensors[0]);
    const bool is_view = spec != nullptr && !spec->effects.comm && spec->effects.mutates == 0 &&
                         (spec->effects.alias == Alias::first || spec->effects.alias == Alias::either);
    if (is_view) return copy_views(id, call);
    machine_.execute(call);
  }

  // A view is its argument's memory; a step that writes one elsewhere copies it there.
  void copy_views(StepId id, const Invocation& call) {
    const OpSpec* spec = program_.op_spec(id);
    if (call.results.empty()) return;
    std::vector<Place> sources(call.results.size(), call.tensors.at(spec->effects.alias_arg));
    if (spec->effects.alias == Alias::first && spec->shape != nullptr) {
      const hocket::Call typed(program_.pool(), program_.args(id), program_.keywords(id), values_, symbols_);
      const auto views = spec->shape(typed);
      if (!views) throw Halt(views.error().message);
      const BufferId buffer = program_.operand(program_.reads(id)[0]).buffer;
      for (std::size_t k = 0; k < sources.size() && k < views->size(); ++k) {
        const InferredType& view = (*views)[k];
        sources[k] = place(buffer, {view.dtype, view.shape.dims, view.strides.dims, view.offset});
      }
    }
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (sources[k] == call.results[k]) continue;
      Invocation copy;
      copy.id = call.id;
      copy.name = call.name;
      copy.op = "aten.clone.default";
      copy.spec = program_.op_table().find(copy.op);
      copy.tensors = {sources[k]};
      copy.args.emplace_back();
      copy.args[0].kind = Item::Kind::tensor;
      copy.results = {call.results[k]};
      machine_.execute(copy);
    }
  }

  const Program& program_;
  const RunOptions& options_;
  SymbolTable symbols_;
  const ProgramValues values_;
  Machine machine_;
  std::vector<BufferHome> homes_;
  std::string& current_;
};

}  // namespace

Result<RunResult> run(const Program& program, const RunOptions& options) {
  std::string current;
  try {
    return ProgramRun(program, options, current).run();
  } catch (const Halt& halt) {
    return fail(Error{halt.kind, halt.what(), current});
  } catch (const std::out_of_range&) {
    return fail(Error{ErrorKind::input, "its arguments are not what its operator takes", current});
  }
}

}  // namespace hocket::interpreter
