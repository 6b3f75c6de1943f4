// Steps of a Program: what they demand of each other follows from the byte ranges of buffers that they read and write.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "hocket/schedule/step_graph.h"
#include "schedule/step_graph_builder.h"

namespace hocket {

namespace {

struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The accesses to one piece of memory so far, and the order that the next one demands:
// a write comes after all accesses since the write before it, a read after that write.
class AccessOrder {
 public:
  void read(StepGraphBuilder& builder, StepIndex step) {
    if (writer_ != no_step) builder.edge(writer_, step);
    readers_.push_back(step);
  }
  void write(StepGraphBuilder& builder, StepIndex step) {
    if (writer_ != no_step) builder.edge(writer_, step);
    for (const StepIndex reader : readers_) builder.edge(reader, step);
    readers_.clear();
    writer_ = step;
  }

 private:
  StepIndex writer_ = no_step;
  std::vector<StepIndex> readers_;
};

// The accesses to the parts of one buffer, cut where ranges begin and end.
class RangeOrder {
 public:
  void read(StepGraphBuilder& builder, StepIndex step, ByteRange range) {
    const auto last = cut(range.end);
    for (auto part = cut(range.begin); part != last; ++part) part->second.read(builder, step);
  }
  void write(StepGraphBuilder& builder, StepIndex step, ByteRange range) {
    const auto last = cut(range.end);
    const auto first = cut(range.begin);
    for (auto part = first; part != last; ++part) part->second.write(builder, step);
    parts_.erase(std::next(first), last);  // all of them now say the same
  }

 private:
  using Parts = std::map<std::int64_t, AccessOrder>;  // by where the part begins; it ends where the next begins

  Parts::iterator cut(std::int64_t at) {
    const auto next = parts_.lower_bound(at);
    if (next != parts_.end() && next->first == at) return next;
    return parts_.emplace_hint(next, at, std::prev(next)->second);
  }

  Parts parts_{{std::numeric_limits<std::int64_t>::min(), AccessOrder()}};
};

class ProgramReader {
 public:
  ProgramReader(const Program& program, std::span<const Nanoseconds> times, const StepGraphOptions& options)
      : program_(program), times_(times), symbols_(program.symbols()), builder_(program.size(), options) {}

  Result<StepGraph> read() {
    make_buffers();
    orders_.resize(program_.buffers().size());
    made_empty_.resize(program_.buffers().size(), no_step);
    for (std::size_t i = 0; i < program_.size(); ++i) HOCKET_CHECK(read_step(StepId(i)));
    for (const OperandId result : program_.results()) {
      const std::uint32_t buffer = buffer_of_[program_.operand(result).buffer.index()];
      if (buffer != is_input) builder_.keep(buffer);
    }
    return builder_.finish();
  }

 private:
  static constexpr std::uint32_t is_input = 0xffffffff;

  void make_buffers() {
    for (const Buffer& buffer : program_.buffers()) {
      const Bytes bytes(buffer.bytes.is_static() ? buffer.bytes.value() : 0);
      const bool planned = buffer.home == Home::arena || buffer.home == Home::symmetric;
      if (!planned) builder_.input_bytes(bytes);
      buffer_of_.push_back(planned ? builder_.buffer(bytes) : is_input);
    }
  }

  ByteRange range_of(const Operand& operand) {
    constexpr ByteRange everything{0, std::numeric_limits<std::int64_t>::max()};
    TypeView type = program_.type(operand.type);
    type.offset = operand.offset;
    const auto end = extent_bytes(type, symbols_);
    if (!end || !end->is_static() || !operand.offset.is_static()) return everything;
    const ByteRange range{operand.offset.value() * static_cast<std::int64_t>(size_of(type.dtype)), end->value()};
    return range.begin < range.end ? range : everything;
  }
  bool is_empty(OperandId id) const {
    const Dims shape = program_.type(id).shape;
    return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_static() && dim.value() == 0; });
  }

  void read(StepIndex step, OperandId id) {
    const Operand& operand = program_.operand(id);
    const StepIndex maker = made_empty_[operand.buffer.index()];
    if (maker != no_step && maker != step) builder_.edge(maker, step);
    orders_[operand.buffer.index()].read(builder_, step, range_of(operand));
  }
  // A tensor without elements changes nothing, but its buffer must be there, and who reads it comes after who made it.
  void write(StepIndex step, OperandId id) {
    const Operand& operand = program_.operand(id);
    if (is_empty(id)) {
      read(step, id);
      made_empty_[operand.buffer.index()] = step;
      return;
    }
    orders_[operand.buffer.index()].write(builder_, step, range_of(operand));
  }
  void touch(StepIndex step, OperandId id) {
    const std::uint32_t buffer = buffer_of_[program_.operand(id).buffer.index()];
    if (buffer != is_input) builder_.touch(step, buffer);
  }

  Status read_step(StepId id) {
    const Step& record = program_.step(id);
    const Collective* collective = program_.collective(id);
    const OpSpec* spec = program_.op_spec(id);
    const bool blocking = is_blocking(spec);
    const bool waits = record.waits_for.valid();
    if (waits && record.waits_for.index() >= id.index()) {
      return fail(Error{ErrorKind::input,
                        fmt::format("waits for {}, which comes later", program_.name(record.waits_for)),
                        fmt::format("step {}", program_.name(id))});
    }
    StepKind kind = StepKind::compute;
    if (collective != nullptr && !blocking) kind = StepKind::collective;
    else if (waits) kind = StepKind::wait;
    const Nanoseconds time = kind == StepKind::wait ? Nanoseconds() : times_[id.index()];
    const StepIndex step =
        builder_.add(kind, time, program_.name(id), record.gemm || (spec != nullptr && spec->effects.gemm));
    access(step, id);
    if (waits) {
      // Until the wait the collective reads its inputs and writes its results.
      access(step, record.waits_for);
      for (const OperandId operand : program_.writes(record.waits_for)) write(step, operand);
      builder_.completes(step, record.waits_for.value);
    }
    if (collective != nullptr) builder_.on_lane(step, builder_.lane(program_.group(collective->group)));
    if (spec == nullptr || spec->effects.opaque) builder_.barrier(step);
    if (spec != nullptr && spec->effects.side_effect) builder_.side_effect(step);
    return {};
  }

  void access(StepIndex step, StepId id) {
    for (const OperandId operand : program_.reads(id)) read(step, operand), touch(step, operand);
    for (const OperandId operand : program_.writes(id)) write(step, operand), touch(step, operand);
  }

  const Program& program_;
  std::span<const Nanoseconds> times_;
  SymbolTable symbols_;
  StepGraphBuilder builder_;
  std::vector<std::uint32_t> buffer_of_;
  std::vector<RangeOrder> orders_;     // by buffer
  std::vector<StepIndex> made_empty_;  // by buffer: the last step that wrote a tensor without elements there
};

}  // namespace

Result<StepGraph> StepGraph::of(const Program& program, std::span<const Nanoseconds> times,
                                const StepGraphOptions& options) {
  if (times.size() != program.size())
    return fail(ErrorKind::internal, "{} times for {} steps", times.size(), program.size());
  return ProgramReader(program, times, options).read();
}

}  // namespace hocket
