#include "hocket/lower/emitter.h"

#include <algorithm>

#include "ir/effects.h"
#include "lower/storage_use.h"

namespace hocket {

namespace {

constexpr std::int64_t number_bytes = 8;
// A multiple of every element's size: tensors of all dtypes can lie at such a distance.
constexpr std::int64_t element_alignment = 16;

bool is_empty(Dims shape) { return std::find(shape.begin(), shape.end(), Dim(0)) != shape.end(); }

}  // namespace

Emitter::Emitter(const Graph& graph, const LowerOptions& options)
    : graph_(graph),
      options_(options),
      builder_(std::string(graph.name()), graph.op_table()),
      use_(std::make_unique<StorageUse>(graph)),
      kept_ordinary_(graph.storages().size()),
      places_(graph.storages().size()),
      detached_(graph.size()),
      numbers_(graph.size()),
      collectives_(graph.size()) {
  // Texts, symbols and groups keep their ids, so that arguments can be taken over as they are.
  builder_.tables().pool().strings = graph.pool().strings;
  builder_.tables().symbols() = graph.symbols();
  for (const Group& group : graph.groups()) {
    builder_.group(group.name, group.ranks);
    const auto& ordinary = options.ordinary_groups;
    ordinary_groups_.push_back(std::find(ordinary.begin(), ordinary.end(), group.name) != ordinary.end());
  }
  std::size_t outputs = 0;
  for (const Node& node : graph.nodes()) {
    outputs = std::max<std::size_t>(outputs, node.outputs.begin + node.outputs.count);
    node_names_.insert(graph.pool().strings[node.name]);
  }
  operands_.resize(outputs);
}

Emitter::~Emitter() = default;

// ---- values

OperandId Emitter::operand(NodeId node, std::size_t output) {
  OperandId& cached = operands_[graph_.node(node).outputs.begin + output];
  if (cached.valid()) return cached;
  const Output& out = graph_.outputs(node)[output];
  const BufferId detached = detached_[node.index()];
  const Place place = detached.valid() ? Place{detached, 0} : place_of(out.storage);
  const TypeView type = graph_.type(out);
  const Dim shift(place.base / size_of(type.dtype));
  const Dim offset = shift == Dim(0) ? out.offset : *builder_.tables().symbols().add(out.offset, shift);
  cached = *builder_.operand(place.buffer, type.dtype, type.shape, type.strides, offset);
  return cached;
}

Home Emitter::home_of(StorageId storage) const {
  switch (use_->made_by(storage)) {
    case NodeKind::input: return Home::input;
    // An attribute that the program writes is state that the caller keeps.
    case NodeKind::attribute: return use_->is_written(storage) ? Home::input : Home::constant;
    default: return Home::arena;
  }
}

Emitter::Place Emitter::place_of(StorageId storage) {
  Place& place = places_[storage.index()];
  if (place.buffer.valid()) return place;
  const Storage& record = graph_.storage(storage);
  const auto outputs = graph_.outputs(record.allocated_by);
  const auto made =
      std::find_if(outputs.begin(), outputs.end(), [&](const Output& output) { return output.storage == storage; });
  std::string name(graph_.name(record.allocated_by));
  if (outputs.size() > 1) name += fmt::format(".{}", made - outputs.begin());
  place.buffer = add_buffer({.name = std::move(name),
                             .home = home_of(storage),
                             .bytes = record.bytes,
                             .device = made->device,
                             .last_use = use_->last_use(storage),
                             .kept_ordinary = kept_ordinary_[storage.index()]},
                            outputs.size() > 1 ? NameKind::derived : NameKind::own);
  return place;
}

std::optional<OperandId> Emitter::detach(NodeId view) {
  const Output& output = graph_.outputs(view)[0];
  if (use_->is_written(output.storage)) return std::nullopt;
  detached_[view.index()] = add_buffer({.name = std::string(graph_.name(view)),
                                        .bytes = graph_.storage(output.storage).bytes,
                                        .device = output.device,
                                        .last_use = use_->last_use(output.storage),
                                        .kept_ordinary = kept_ordinary_[output.storage.index()]},
                                       NameKind::own);
  return operand(view);
}

void Emitter::follow_view(NodeId node) {
  const NodeId source = graph_.node(node).view_of;
  if (!source.valid() || !detached_[source.index()].valid()) return;
  const auto outputs = graph_.outputs(node);
  const StorageId viewed = graph_.outputs(source)[0].storage;
  if (!outputs.empty() && outputs[0].storage == viewed) detached_[node.index()] = detached_[source.index()];
}

bool Emitter::place(NodeId node, std::size_t output, OperandId where) {
  const Output& out = graph_.outputs(node)[output];
  const Operand& target = program().operand(where);
  const BufferRecord& buffer = buffers_[target.buffer.index()];
  const Dim bytes = graph_.storage(out.storage).bytes;
  Place& place = places_[out.storage.index()];
  if (place.buffer.valid() || kept_ordinary_[out.storage.index()] != buffer.kept_ordinary) return false;
  std::int64_t base = 0;
  if (target.offset != out.offset) {
    if (!target.offset.is_static() || !out.offset.is_static()) return false;
    const std::int64_t apart = target.offset.value() - out.offset.value();
    if (__builtin_mul_overflow(apart, size_of(graph_.type(out).dtype), &base)) return false;
  }
  if (base < 0 || base % element_alignment != 0) return false;
  const bool both_static = bytes.is_static() && buffer.bytes.is_static();
  const bool fits =
      both_static ? units::add(base, bytes.value()) <= buffer.bytes.value() : base == 0 && bytes == buffer.bytes;
  if (!fits) return false;
  place = {target.buffer, base};
  NodeId& last_use = buffers_[target.buffer.index()].last_use;
  last_use = std::max(last_use, use_->last_use(out.storage));
  return true;
}

OperandId Emitter::number(NodeId node) {
  OperandId& cell = numbers_[node.index()];
  if (cell.valid()) return cell;
  const NodeKind kind = graph_.node(node).kind;
  const Home home = kind == NodeKind::input ? Home::input : kind == NodeKind::attribute ? Home::constant : Home::arena;
  const BufferId buffer =
      add_buffer({.name = std::string(graph_.name(node)), .home = home, .bytes = Dim(number_bytes)}, NameKind::own);
  cell = *builder_.operand(buffer, Dtype::i64, {});
  return cell;
}

bool Emitter::is_known_number(NodeId node) const { return use_->is_known_number(node); }

Arg Emitter::argument(const Arg& arg) {
  if (arg.is(ArgKind::list) || arg.is(ArgKind::dict)) {
    std::vector<Arg> elements;
    for (const Arg& element : graph_.pool().elements(arg)) elements.push_back(argument(element));
    const Range range = builder_.tables().pool().add(elements);
    return arg.is(ArgKind::list) ? Arg::list(range) : Arg::dict(range);
  }
  if (!arg.is(ArgKind::value)) return arg;
  const NodeId node = arg.as_node();
  const std::size_t outputs = graph_.outputs(node).size();
  if (outputs == 0) return is_known_number(node) ? Arg::integer(*graph_.integer(node)) : Arg::value(number(node));
  if (outputs == 1 && !graph_.node(node).multi) return Arg::value(operand(node));
  std::vector<Arg> elements;
  for (std::size_t k = 0; k < outputs; ++k) elements.push_back(Arg::value(operand(node, k)));
  return list(elements);
}

std::vector<Arg> Emitter::arguments(NodeId node) {
  std::vector<Arg> mapped;
  for (const Arg& arg : graph_.args(node)) mapped.push_back(argument(arg));
  return mapped;
}

std::vector<Keyword> Emitter::keywords(NodeId node) {
  std::vector<Keyword> mapped;
  for (const Keyword& keyword : graph_.keywords(node)) mapped.push_back({keyword.key, argument(keyword.value)});
  return mapped;
}

// ---- memory

BufferId Emitter::add_buffer(BufferRecord record, NameKind kind) {
  record.name = unique_name(record.name, kind, buffer_names_);
  buffers_.push_back(std::move(record));
  return BufferId(buffers_.size() - 1);
}

bool Emitter::is_contiguous(OperandId operand) {
  const TypeView type = this->type(operand);
  return is_empty(type.shape) || hocket::is_contiguous(type, builder_.tables().symbols());
}

bool Emitter::same_layout(OperandId operand, const Output& output) const {
  const TypeView here = type(operand);
  const TypeView there = graph_.type(output);
  if (here.dtype != there.dtype || !std::ranges::equal(here.shape, there.shape)) return false;
  if (is_empty(here.shape)) return true;
  for (std::size_t i = 0; i < here.shape.size(); ++i) {
    if (here.shape[i] != Dim(1) && here.strides[i] != there.strides[i]) return false;
  }
  return true;
}

bool Emitter::is_owned(OperandId operand) const {
  const Home home = buffers_[program().operand(operand).buffer.index()].home;
  return home != Home::input && home != Home::constant;
}

bool Emitter::dies_at(OperandId operand, NodeId node) const {
  const BufferRecord& buffer = buffers_[program().operand(operand).buffer.index()];
  return is_owned(operand) && buffer.flights == 0 && (!buffer.last_use.valid() || buffer.last_use <= node);
}

std::optional<OrdinaryReason> Emitter::can_realize(OperandId operand, GroupId group) const {
  const BufferRecord& buffer = buffers_[program().operand(operand).buffer.index()];
  if (!options_.symmetric || ordinary_groups_[group.index()]) return OrdinaryReason::no_symmetric;
  if (!is_owned(operand)) return OrdinaryReason::not_owned;
  if (!buffer.bytes.is_static()) return OrdinaryReason::symbolic_size;
  if (buffer.kept_ordinary) return buffer.kept_ordinary;
  if (buffer.home == Home::symmetric && buffer.group != group) return OrdinaryReason::other_group;
  return std::nullopt;
}

std::optional<OrdinaryReason> Emitter::realize(OperandId operand, GroupId group) {
  if (const auto reason = can_realize(operand, group)) return reason;
  BufferRecord& buffer = buffers_[program().operand(operand).buffer.index()];
  buffer.home = Home::symmetric;
  buffer.group = group;
  return std::nullopt;
}

OperandId Emitter::temporary(std::string_view name, OperandId like) {
  const TypeView type = this->type(like);
  const std::vector<Dim> shape(type.shape.begin(), type.shape.end());
  SymbolTable& symbols = builder_.tables().symbols();
  Dim bytes = size_of(type.dtype);
  for (const Dim size : shape) bytes = symbols.multiply(bytes, size).value_or(Dim(Dim::max));
  const DeviceId device = buffers_[program().operand(like).buffer.index()].device;
  const BufferId buffer = add_buffer({.name = std::string(name), .bytes = bytes, .device = device}, NameKind::derived);
  // Sizes whose product has no representation keep their strides: the verifier says that the buffer is too small.
  const auto dense = contiguous_strides(shape, symbols);
  const std::vector<Dim> strides = dense ? dense->dims : std::vector<Dim>(type.strides.begin(), type.strides.end());
  return *builder_.operand(buffer, type.dtype, shape, strides);
}

// ---- names

std::string Emitter::unique_name(std::string_view wanted, NameKind kind, Names& names) {
  std::string name(wanted);
  // A name that a node has is kept for that node.
  const bool kept = kind == NameKind::derived && node_names_.contains(wanted);
  if (!kept && names.taken.insert(name).second) return name;
  int& last = names.last_number[name];
  do name = fmt::format("{}_{}", wanted, ++last);
  while (node_names_.contains(name) || !names.taken.insert(name).second);
  return name;
}

// ---- the beginning and the end

void Emitter::keep_ordinary(NodeId node, OrdinaryReason reason) {
  const auto keep = [&](NodeId id) {
    for (const Output& output : graph_.outputs(id)) kept_ordinary_[output.storage.index()] = reason;
  };
  keep(node);
  for (const NodeId input : graph_.inputs(node)) keep(input);
}

void Emitter::add_inputs() {
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const NodeKind kind = graph_.node(NodeId(i)).kind;
    if (kind != NodeKind::input && kind != NodeKind::attribute) continue;
    const auto outputs = graph_.outputs(NodeId(i));
    // Its operand says what the caller has to bring, even where no step reads it.
    if (!outputs.empty()) inputs_.push_back(program().operand(operand(NodeId(i))).buffer);
    else if (use_->is_used(NodeId(i))) inputs_.push_back(program().operand(number(NodeId(i))).buffer);
    else inputs_.push_back(BufferId::none());
  }
}

void Emitter::add_results(NodeId output) {
  std::vector<OperandId> results;
  const auto add = [&](const Arg& value) {
    const NodeId node = value.as_node();
    const std::size_t outputs = graph_.outputs(node).size();
    for (std::size_t k = 0; k < outputs; ++k) results.push_back(operand(node, k));
    if (outputs == 0) results.push_back(number(node));
  };
  for (const Arg& arg : graph_.args(output)) graph_.pool().for_each_value(arg, add);
  for (const Keyword& keyword : graph_.keywords(output)) graph_.pool().for_each_value(keyword.value, add);
  builder_.results(results);
}

Result<Lowered> Emitter::finish() {
  for (const BufferRecord& buffer : buffers_) {
    const std::string_view device = buffer.device.valid() ? graph_.device(buffer.device) : host_device;
    builder_.buffer(buffer.name, buffer.home, buffer.bytes, buffer.group, device);
  }
  HOCKET_TRY(Program program, builder_.finish());
  return Lowered{std::move(program), std::move(report_), std::move(inputs_)};
}

}  // namespace hocket
