#include <algorithm>

#include "hocket/ir/op_table.h"

namespace hocket {

namespace {

std::int64_t multiply_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

// Elements that are really in memory: a dim of stride 0 repeats one.
Bytes bytes_in_memory(const TypeView& type) {
  std::int64_t bytes = size_of(type.dtype);
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (!type.shape[i].is_static()) return Bytes(0);
    const bool repeats = i < type.strides.size() && type.strides[i] == Dim(0) && type.shape[i].value() > 0;
    if (!repeats) bytes = multiply_saturating(bytes, type.shape[i].value());
  }
  return Bytes(bytes);
}

// The tensors of an argument, each value once in a call.
class TensorSum {
 public:
  explicit TensorSum(const Call& call) : call_(call) {}

  void add(const Arg& arg) {
    call_.pool().for_each_value(arg, [&](const Arg& value) {
      if (std::find(seen_.begin(), seen_.end(), value.as_node()) != seen_.end()) return;
      seen_.push_back(value.as_node());
      for (std::size_t i = 0; i < call_.values().output_count(value); ++i)
        total_ += bytes_in_memory(call_.values().output(value, i));
    });
  }
  Bytes total() const { return total_; }

 private:
  const Call& call_;
  std::vector<NodeId> seen_;
  Bytes total_;
};

Bytes read_by(const OpSpec& spec, const Call& call) {
  TensorSum read(call);
  for (const Arg& arg : call.args()) read.add(arg);
  for (const Keyword& keyword : call.keywords()) {
    const bool only_written = spec.effects.mutates_out && call.pool().strings[keyword.key] == "out";
    if (!only_written) read.add(keyword.value);
  }
  return read.total();
}

Bytes written_by(const OpSpec& spec, const Call& call, std::span<const TypeView> outputs) {
  TensorSum written(call);
  for (std::size_t i = 0; i < call.args().size() && i < 32; ++i) {
    if ((spec.effects.mutates >> i & 1U) != 0) written.add(call.args()[i]);
  }
  const Arg* out = call.keyword("out");
  if (spec.effects.mutates_out && out != nullptr) written.add(*out);
  Bytes total = written.total();
  const bool fresh =
      spec.effects.alias == Alias::fresh || (spec.effects.alias == Alias::either && spec.effects.mutates == 0);
  if (fresh) {
    for (const TypeView& output : outputs) total += tensor_bytes(output);
  }
  return total;
}

// A view, or what may be a view and is one here.
bool is_view(const OpSpec& spec, const Call& call) {
  const Effects& effects = spec.effects;
  if (effects.mutates != 0 || effects.mutates_out || effects.comm) return false;
  if (effects.alias == Alias::first) return true;
  if (effects.alias != Alias::either || spec.shape == nullptr) return false;
  const Result<Outputs> inferred = spec.shape(call);
  return inferred && !inferred->empty() && !inferred->front().copied;
}

}  // namespace

Result<OpWork> work_of(const OpSpec& spec, const Call& call, std::span<const TypeView> outputs) {
  OpWork work;
  if (spec.flops != nullptr) {
    HOCKET_TRY(work.flops, spec.flops(call, outputs));
  }
  if (spec.metadata_only || spec.effects.waits || is_view(spec, call)) return work;
  work.read = read_by(spec, call);
  work.written = written_by(spec, call, outputs);
  return work;
}

Bytes tensor_bytes(const TypeView& type) {
  std::int64_t bytes = size_of(type.dtype);
  for (const Dim size : type.shape) {
    if (!size.is_static()) return Bytes(0);
    bytes = multiply_saturating(bytes, size.value());
  }
  return Bytes(bytes);
}

std::optional<Dim> extent_bytes(const TypeView& type, SymbolTable& symbols) {
  std::optional<Dim> reach = symbols.add(type.offset, Dim(1));
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    const Dim size = type.shape[i];
    if (size == Dim(0)) return Dim(0);
    std::optional<Dim> steps;  // from the first element to the last
    if (size.is_static()) steps = Dim(size.value() - 1);
    else if (const auto parsed = symbols.parse(symbols.to_string(size) + " - 1")) steps = *parsed;
    const std::optional<Dim> distance = steps ? symbols.multiply(*steps, type.strides[i]) : std::nullopt;
    reach = reach && distance ? symbols.add(*reach, *distance) : std::nullopt;
  }
  return reach ? symbols.multiply(*reach, Dim(size_of(type.dtype))) : std::nullopt;
}

}  // namespace hocket
