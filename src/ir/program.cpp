#include "hocket/ir/program.h"

#include <algorithm>
#include <array>

namespace hocket {

namespace {
constexpr std::array<std::string_view, 4> home_names = {"input", "constant", "arena", "symmetric"};
}

std::string_view name_of(Home home) { return home_names[static_cast<std::size_t>(home)]; }

std::optional<Home> home_from_name(std::string_view name) {
  const auto found = std::find(home_names.begin(), home_names.end(), name);
  if (found == home_names.end()) return std::nullopt;
  return static_cast<Home>(found - home_names.begin());
}

TypeView Program::type(OperandId id) const {
  TypeView view = Tables::type(operand(id).type);
  view.offset = operand(id).offset;
  return view;
}

ProgramBuilder::ProgramBuilder(std::string name, const OpTable& table) : tables_(program_, table) {
  program_.name_ = std::move(name);
}

BufferId ProgramBuilder::buffer(std::string_view name, Home home, Dim bytes, GroupId group, std::string_view device,
                                std::int64_t placed_at) {
  program_.buffers_.push_back(
      {program_.pool_.strings.add(name), home, group, tables_.device(device), bytes, placed_at});
  return BufferId(program_.buffers_.size() - 1);
}

Result<OperandId> ProgramBuilder::operand(BufferId buffer, Dtype dtype, Dims shape, std::optional<Dims> strides,
                                          Dim offset) {
  std::optional<Strides> dense;
  if (!strides) {
    dense = contiguous_strides(shape, program_.symbols_);
    if (!dense) return fail(ErrorKind::input, "sizes whose product has no representation; give the strides");
    strides = dense->dims;
  }
  if (strides->size() != shape.size())
    return fail(ErrorKind::input, "{} sizes but {} strides", shape.size(), strides->size());
  program_.operands_.push_back({buffer, tables_.type(dtype, shape, *strides), offset});
  return OperandId(program_.operands_.size() - 1);
}

StepId ProgramBuilder::step(const StepSpec& spec) {
  Step step;
  step.name = program_.pool_.strings.add(spec.name);
  step.op = tables_.op(spec.op);
  step.gemm = spec.gemm;
  step.has_integer = spec.integer.has_value();
  step.integer = spec.integer.value_or(0);
  step.measured = spec.measured;
  step.waits_for = spec.waits_for;
  step.args = program_.pool_.add(spec.args);
  step.keywords = program_.pool_.add(spec.keywords);
  const OpSpec* row = program_.Tables::op_spec(step.op);

  auto& lists = program_.operand_lists_;
  step.reads.begin = static_cast<std::uint32_t>(lists.size());
  if (spec.reads) {
    lists.insert(lists.end(), spec.reads->begin(), spec.reads->end());
  } else {
    const auto note = [&](const Arg& value) { lists.push_back(value.as_operand()); };
    for (const Arg& arg : spec.args) program_.pool_.for_each_value(arg, note);
    for (const Keyword& keyword : spec.keywords) {
      const bool only_written =
          row != nullptr && row->effects.mutates_out && program_.pool_.strings[keyword.key] == "out";
      if (!only_written) program_.pool_.for_each_value(keyword.value, note);
    }
  }
  step.reads.count = static_cast<std::uint32_t>(lists.size()) - step.reads.begin;
  step.writes = {static_cast<std::uint32_t>(lists.size()), static_cast<std::uint32_t>(spec.writes.size())};
  lists.insert(lists.end(), spec.writes.begin(), spec.writes.end());

  std::optional<Collective> collective;
  if (spec.collective) {
    collective = *spec.collective;
  } else if (row != nullptr && row->effects.comm && row->effects.comm->group_arg >= 0) {
    const auto position = static_cast<std::size_t>(row->effects.comm->group_arg);
    if (position < spec.args.size() && spec.args[position].is(ArgKind::group)) {
      collective = Collective{row->effects.comm->kind, spec.args[position].as_group(), Bytes(), Bytes()};
      for (std::uint32_t i = 0; i < step.reads.count; ++i)
        collective->bytes_in += tensor_bytes(program_.type(lists[step.reads.begin + i]));
      for (const OperandId written : spec.writes) collective->bytes_out += tensor_bytes(program_.type(written));
    }
  }
  if (collective) {
    step.collective = static_cast<std::uint32_t>(program_.collectives_.size());
    program_.collectives_.push_back(*collective);
  }
  program_.steps_.push_back(step);
  return StepId(program_.steps_.size() - 1);
}

void ProgramBuilder::results(std::span<const OperandId> operands) {
  program_.results_.assign(operands.begin(), operands.end());
}

Result<Program> ProgramBuilder::finish() {
  for (const Operand& operand : program_.operands_) {
    if (operand.buffer.index() >= program_.buffers_.size())
      return fail(ErrorKind::internal, "an operand of a buffer that does not exist");
  }
  for (const Step& step : program_.steps_) {
    if (step.waits_for.valid() && step.waits_for.index() >= program_.size()) {
      return fail(ErrorKind::input, "step {} waits for a step that does not exist", program_.pool_.strings[step.name]);
    }
  }
  return std::move(program_);
}

namespace {

// Everything that a program says, in one order: the base of equality and digest.
template <class Sink>
class Walk {
 public:
  Walk(const Program& program, Sink& sink) : program_(program), sink_(sink) {}

  void all() {
    sink_.text(program_.name());
    number(program_.groups().size());
    for (const Group& group : program_.groups()) {
      sink_.text(group.name);
      number(group.ranks.size());
      for (const Rank rank : group.ranks) sink_.number(rank.value);
    }
    number(program_.buffers().size());
    for (const Buffer& buffer : program_.buffers()) {
      sink_.text(program_.pool().strings[buffer.name]);
      sink_.number(static_cast<std::int64_t>(buffer.home));
      sink_.number(buffer.group.value);
      sink_.text(program_.device(buffer.device));
      dim(buffer.bytes);
      sink_.number(buffer.placed_at);
    }
    number(program_.size());
    for (std::size_t i = 0; i < program_.size(); ++i) step(StepId(i));
    operands(program_.results());
  }

 private:
  void number(std::size_t value) { sink_.number(static_cast<std::int64_t>(value)); }
  void dim(Dim dim) {
    if (dim.is_static()) sink_.number(dim.value());
    else sink_.text(program_.symbols().to_string(dim));
  }
  void operand(OperandId id) {
    sink_.number(program_.operand(id).buffer.value);
    const TypeView type = program_.type(id);
    sink_.number(static_cast<std::int64_t>(type.dtype));
    for (const Dims dims : {type.shape, type.strides}) {
      number(dims.size());
      for (const Dim size : dims) dim(size);
    }
    dim(type.offset);
  }
  void operands(std::span<const OperandId> list) {
    number(list.size());
    for (const OperandId id : list) operand(id);
  }
  void arg(const Arg& arg) {
    const ArgPool& pool = program_.pool();
    sink_.number(static_cast<std::int64_t>(arg.kind()));
    switch (arg.kind()) {
      case ArgKind::none: break;
      case ArgKind::boolean: sink_.number(arg.as_bool() ? 1 : 0); break;
      case ArgKind::integer: sink_.number(arg.as_integer()); break;
      case ArgKind::real: sink_.number(std::bit_cast<std::int64_t>(arg.as_real())); break;
      case ArgKind::symbolic: dim(arg.as_symbolic()); break;
      case ArgKind::value: operand(arg.as_operand()); break;
      case ArgKind::group: sink_.number(arg.as_group().value); break;
      case ArgKind::dtype: sink_.number(static_cast<std::int64_t>(arg.as_dtype())); break;
      case ArgKind::string:
      case ArgKind::device:
      case ArgKind::layout:
      case ArgKind::memory_format:
      case ArgKind::json: sink_.text(pool.text(arg)); break;
      case ArgKind::list:
      case ArgKind::dict:
        number(pool.elements(arg).size());
        for (const Arg& element : pool.elements(arg)) this->arg(element);
        break;
    }
  }
  void step(StepId id) {
    const Step& step = program_.step(id);
    sink_.text(program_.name(id));
    sink_.text(program_.op_name(id));
    sink_.number((step.gemm ? 1 : 0) + (step.has_integer ? 2 : 0));
    sink_.number(step.integer);
    number(program_.args(id).size());
    for (const Arg& positional : program_.args(id)) arg(positional);
    number(program_.keywords(id).size());
    for (const Keyword& keyword : program_.keywords(id)) {
      sink_.text(program_.pool().strings[keyword.key]);
      arg(keyword.value);
    }
    operands(program_.reads(id));
    operands(program_.writes(id));
    sink_.number(step.waits_for.value);
    if (const Collective* c = program_.collective(id)) {
      sink_.number(static_cast<std::int64_t>(c->kind));
      sink_.number(c->group.value);
      sink_.number(c->bytes_in.count);
      sink_.number(c->bytes_out.count);
    } else {
      sink_.number(-1);
    }
    for (const std::int64_t fact :
         {step.measured.picoseconds, step.measured.flops, step.measured.read, step.measured.written})
      sink_.number(fact);
  }

  const Program& program_;
  Sink& sink_;
};

struct DigestSink {
  Digester digester;
  void number(std::int64_t value) { digester.add(value); }
  void text(std::string_view value) { digester.add(value); }
};

struct RecordSink {
  std::string record;
  void number(std::int64_t value) { record.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    record.append(value);
  }
};

}  // namespace

Digest Program::digest() const {
  DigestSink sink;
  Walk(*this, sink).all();
  return sink.digester.finish();
}

bool operator==(const Program& a, const Program& b) {
  RecordSink in_a;
  RecordSink in_b;
  Walk(a, in_a).all();
  Walk(b, in_b).all();
  return in_a.record == in_b.record;
}

}  // namespace hocket
