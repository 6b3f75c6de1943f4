#include "torch/recorder.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "torch/run_op.h"
#include "torch/schema.h"

namespace hocket {

namespace {

std::vector<Dim> to_dims(at::IntArrayRef sizes) { return {sizes.begin(), sizes.end()}; }

bool returns_tensors(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  return returns.empty() || std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
           return is_tensor(result.type()) || is_tensor_list(result.type());
         });
}

// reshape of real tensors calls an operator of its own where it could call view, as it does on meta and in captures from
// Python: they get one name. What is left out of the call, the strides, follows from the sizes.
void call_it_view(Record& record) {
  if (record.op != "aten._reshape_alias.default") return;
  record.op = "aten.view.default";
  record.args.resize(2);
}

// Real data for the result of a collective that was not carried out: as if every rank held what this one holds.
at::Tensor stand_in(const at::Tensor& input, at::Tensor result) {
  const at::Tensor data = input.reshape({-1});
  const std::int64_t count = result.numel();
  if (data.numel() == 0 || count == 0) return result.zero_();
  const std::int64_t copies = (count + data.numel() - 1) / data.numel();
  result.copy_(data.repeat({copies}).narrow(0, 0, count).view(result.sizes()));
  return result;
}

}  // namespace

// A call on its way: arguments are resolved before it runs, results after.
struct Recorder::CallRecord {
  Record record;
  std::vector<std::pair<const c10::StorageImpl*, NodeId>> tensors;  // of the arguments, in their order
};

Recorder::Recorder(const CaptureOptions& options) : options_(options), groups_(options) {}

Status Recorder::add_input(const std::string& name, const at::Tensor& tensor) {
  if (name.empty()) return fail(ErrorKind::usage, "an input of the step has an empty name");
  if (!tensor.defined()) return fail(ErrorKind::usage, "input {} is an undefined tensor", name);
  auto output = output_spec(tensor);
  if (!output) return fail(ErrorKind::usage, "input {} is {}", name, output.error().message);
  on_meta_ = on_meta_ || tensor.is_meta();
  Record record;
  record.kind = NodeKind::input;
  record.name = name;
  record.outputs.push_back(std::move(*output));
  const NodeId node = recording_.add(std::move(record));
  Memory& memory = values_.find_or_add(tensor);
  memory.from_outside = true;
  TensorLayout layout = TensorLayout::of(tensor);
  if (memory.find(layout) == nullptr) memory.set(std::move(layout), {node});
  note_outside(tensor);
  return {};
}

Result<CapturedGroup> Recorder::resolve(const GroupRef& ref) {
  HOCKET_TRY(CapturedGroup group, groups_.resolve(ref));
  HOCKET_CHECK(recording_.group(group.spec).map([](GroupId) {}));
  return group;
}

void Recorder::give_up(const c10::FunctionSchema& schema, Error error) {
  error.where = graph_name(schema.operator_name());
  if (!error_) error_ = std::move(error);
  throw std::runtime_error(error_->to_string());
}

void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  thrown_by_.clear();
  if (is_composite(op)) {
    op.redispatchBoxed(keys_below_capture(keys), &stack);
    return;
  }
  const auto first = static_cast<std::ptrdiff_t>(stack.size() - schema.arguments().size());
  const std::vector<c10::IValue> args(stack.begin() + first, stack.end());
  if (depends_on_data(op, args)) {
    give_up(schema,
            {ErrorKind::input,
             "the program depends on the values of a tensor here (item(), a bool of a tensor, nonzero() and the "
             "like), so one graph can't stand for it; take it out of the captured step",
             {}});
  }
  if (!returns_tensors(schema)) {  // a question about a tensor's type
    run(op, keys, stack, args, nullptr);
    return;
  }
  if (changes_layout_only(op)) {  // what it leaves behind is found by its new layout
    if (auto known = node_of(args[0].toTensor(), false); !known) give_up(schema, std::move(known).error());
    run(op, keys, stack, args, nullptr);
    return;
  }
  const std::vector<bool> written = written_arguments(schema, args);
  const bool writes = std::find(written.begin(), written.end(), true) != written.end();
  const auto results = [&] { return Args(stack).subspan(static_cast<std::size_t>(first)); };

  if (!writes && is_view(schema)) {
    run(op, keys, stack, args, nullptr);
    if (all_known(results())) return;
    auto record = begin(schema, args, written, false);
    if (!record) give_up(schema, std::move(record).error());
    const auto status = end(schema, args, std::move(*record), results());
    if (!status) give_up(schema, status.error());
    return;
  }
  auto record = begin(schema, args, written, true);
  if (!record) give_up(schema, std::move(record).error());
  if (is_collective(schema)) {
    stack.resize(static_cast<std::size_t>(first));
    run_collective(schema, args, *record, stack);
  } else {
    save_written(args, written);
    run(op, keys, stack, args, &*record);
  }
  const auto status = end(schema, args, std::move(*record), results());
  if (!status) give_up(schema, status.error());
}

void Recorder::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack, Args args,
                   const CallRecord* record) {
  InferTypes infer;
  if (record != nullptr) {
    infer = [this, &call = record->record] { return recording_.infer(call.op, call.args, call.keywords); };
  }
  try {
    run_below_capture(op, keys, stack, args, infer);
  } catch (...) {
    thrown_by_ = graph_name(op.operator_name());
    throw;
  }
}

void Recorder::run_collective(const c10::FunctionSchema& schema, Args args, const CallRecord& record,
                              torch::jit::Stack& stack) {
  const c10::impl::ExcludeDispatchKeyGuard not_captured(c10::DispatchKey::Fake);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::Argument& result = schema.returns().at(0);
  if (const auto returned = returned_argument(schema)) {
    stack.push_back(args[*returned]);
    return;
  }
  const Result<Outputs> types = recording_.infer(record.record.op, record.record.args, record.record.keywords);
  if (!types) give_up(schema, types.error());
  std::vector<at::Tensor> inputs;
  const bool is_batch = schema.name() == "_c10d_functional::batch_p2p_ops";
  for_each_tensor(args[is_batch ? 3 : 0], [&](const at::Tensor& input) { inputs.push_back(input); });
  if (inputs.size() != types->size())
    give_up(schema, {ErrorKind::internal, "one result for each input was expected", {}});
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_batch && args[0].toListRef()[i].toStringRef() == "irecv") {
      results.push_back(inputs[i]);
      continue;
    }
    at::Tensor memory = make_tensor((*types)[i], inputs[i].device());
    results.push_back(inputs[i].is_meta() ? memory : stand_in(inputs[i], memory));
  }
  if (is_tensor_list(result.type())) {
    stack.emplace_back(results);
  } else {
    stack.emplace_back(results.at(0));
  }
}

Result<Recorder::CallRecord> Recorder::begin(const c10::FunctionSchema& schema, Args args,
                                             const std::vector<bool>& written, bool reads) {
  CallRecord call;
  Record& record = call.record;
  record.op = graph_name(schema.operator_name());
  std::vector<NodeId> mutates;
  bool reads_this = reads;
  bool writes_this = false;
  const ArgWriter writer{recording_.pool(), options_.device,
                         [&](const at::Tensor& tensor) -> Result<NodeId> {
                           HOCKET_TRY(const NodeId node, node_of(tensor, reads_this));
                           call.tensors.emplace_back(tensor.storage().unsafeGetStorageImpl(), node);
                           const bool is_new = std::find(mutates.begin(), mutates.end(), node) == mutates.end();
                           if (writes_this && is_new) mutates.push_back(node);
                           return node;
                         },
                         [&](std::string_view name) { return recording_.find_group(name); }};

  const auto& arguments = schema.arguments();
  std::size_t positional = 0;
  while (positional < args.size() && !arguments[positional].kwarg_only()) ++positional;
  std::size_t given = positional;
  while (given > 0 && is_default(args[given - 1], arguments[given - 1])) --given;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i >= given && (i < positional || is_default(args[i], arguments[i]))) continue;
    writes_this = written[i];
    reads_this = reads && !(written[i] && (arguments[i].is_out() || (i == 0 && overwrites_first(schema))));
    HOCKET_TRY(const Arg arg, to_arg(args[i], arguments[i], writer));
    if (i < positional) {
      record.args.push_back(arg);
    } else {
      record.keywords.push_back({recording_.pool().strings.add(arguments[i].name()), arg});
    }
  }
  if (!is_collective(schema)) record.mutates = std::move(mutates);
  call_it_view(record);
  return call;
}

Status Recorder::end(const c10::FunctionSchema& schema, Args args, CallRecord call, Args results) {
  Record& record = call.record;
  record.multi = results.size() > 1 || (results.size() == 1 && results[0].isList());

  // What was written is no longer what earlier nodes resulted in.
  const std::vector<bool> written = written_arguments(schema, args);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!written[i]) continue;
    for_each_tensor(args[i], [&](const at::Tensor& tensor) { values_.find_or_add(tensor).written(); });
  }

  std::vector<std::pair<int, at::Tensor>> tensors;  // position in the result, tensor
  const bool is_list = results.size() == 1 && results[0].isList();
  const auto elements = is_list ? Args(results[0].toListRef().data(), results[0].toListRef().size()) : results;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].isList())
      return fail(ErrorKind::input, "it returns a list inside a tuple, which graphs don't hold");
    if (elements[i].isTensor() && elements[i].toTensor().defined()) {
      tensors.emplace_back(static_cast<int>(i), elements[i].toTensor());
    }
  }
  NodeId view_of = NodeId::none();
  bool only_views = true;
  const bool uninitialised = returns_uninitialised(schema);
  for (const auto& [position, tensor] : tensors) {
    if (uninitialised && tensor.has_storage()) values_.find_or_add(tensor).uninitialised = !tensor.is_meta();
    auto output = output_spec(tensor);
    if (!output) return fail(ErrorKind::input, "its result is {}", output.error().message);
    record.outputs.push_back(std::move(*output));
    const auto shares = [memory = tensor.storage().unsafeGetStorageImpl()](const auto& argument) {
      return argument.first == memory;
    };
    const auto base = std::find_if(call.tensors.begin(), call.tensors.end(), shares);
    only_views = only_views && base != call.tensors.end();
    if (base != call.tensors.end() && !view_of.valid()) view_of = base->second;
  }
  if (is_collective(schema) && !schema.returns()[0].alias_info()) {
    if (view_of.valid()) record.view_of = view_of;  // of a batch of messages, the first that is received
  } else if (!is_collective(schema)) {
    record.view_of = view_of;
    record.only_if_used = record.mutates->empty() && !tensors.empty() && (only_views || uninitialised);
  }
  const bool multi = record.multi;
  const NodeId node = recording_.add(std::move(record));
  for (const auto& [position, tensor] : tensors) {
    values_.find_or_add(tensor).set(TensorLayout::of(tensor), {node, multi ? position : -1});
  }
  return {};
}

bool Recorder::all_known(Args results) {
  bool known = true;
  for (const c10::IValue& result : results) {
    for_each_tensor(result, [&](const at::Tensor& tensor) {
      Memory* memory = tensor.has_storage() ? values_.find(tensor) : nullptr;
      const Value* value = memory == nullptr ? nullptr : memory->find(TensorLayout::of(tensor));
      known = known && value != nullptr && !value->stale;
    });
  }
  return known;
}

Result<NodeId> Recorder::node_of(const at::Tensor& tensor, bool reads) {
  if (!tensor.has_storage())
    return fail(ErrorKind::input, "a tensor without plain memory ({})", c10::str(tensor.layout()));
  Memory& memory = values_.find_or_add(tensor);
  // Memory that was allocated by an operator and filled without one (torch::tensor of a vector) is a constant.
  if (memory.values.empty() || (reads && memory.uninitialised)) return attribute(tensor);
  Value* value = memory.find(TensorLayout::of(tensor));
  if (value == nullptr) return restrided(tensor, memory);
  if (value->element >= 0) *value = {element_node(tensor, TensorLayout::of(tensor), *value), -1, value->stale};
  return value->node;
}

Result<NodeId> Recorder::attribute(const at::Tensor& tensor) {
  HOCKET_TRY(OutputSpec output, output_spec(tensor));
  Record record;
  record.kind = NodeKind::attribute;
  record.name = "attribute";
  record.outputs.push_back(std::move(output));
  record.only_if_used = true;
  record.tensor = tensor.variable_data();
  const NodeId node = recording_.add(std::move(record));
  Memory& memory = values_.find_or_add(tensor);
  memory.values.clear();
  memory.from_outside = true;
  memory.uninitialised = false;
  memory.set(TensorLayout::of(tensor), {node});
  note_outside(tensor);
  return node;
}

// A tensor on known memory that no operator made: a view from before the step, for example.
Result<NodeId> Recorder::restrided(const at::Tensor& tensor, Memory& memory) {
  const auto same_dtype = [&](const auto& entry) { return entry.first.dtype == tensor.scalar_type(); };
  const auto fresh = [&](const auto& entry) { return same_dtype(entry) && !entry.second.stale; };
  auto base = std::find_if(memory.values.begin(), memory.values.end(), fresh);
  if (base == memory.values.end()) base = std::find_if(memory.values.begin(), memory.values.end(), same_dtype);
  if (base == memory.values.end()) {
    return fail(ErrorKind::input,
                "a tensor that shares memory with a tensor of another dtype, not made by an operator");
  }
  auto& [layout, value] = *base;
  if (value.element >= 0) value = {element_node(tensor, layout, value), -1, value.stale};
  const NodeId base_node = value.node;
  const auto integers = [&](at::IntArrayRef numbers) {
    std::vector<Arg> list;
    for (const std::int64_t number : numbers) list.push_back(Arg::integer(number));
    return Arg::list(recording_.pool().add(list));
  };
  HOCKET_TRY(OutputSpec output, output_spec(tensor));
  Record record;
  record.op = "aten.as_strided.default";
  record.args = {Arg::value(base_node), integers(tensor.sizes()), integers(tensor.strides()),
                 Arg::integer(tensor.storage_offset())};
  record.outputs.push_back(std::move(output));
  record.only_if_used = true;
  record.view_of = base_node;
  record.mutates.emplace();
  const NodeId node = recording_.add(std::move(record));
  memory.set(TensorLayout::of(tensor), {node});
  return node;
}

// `tensor` is any on the element's memory.
NodeId Recorder::element_node(const at::Tensor& tensor, const TensorLayout& layout, const Value& list) {
  OutputSpec output = *output_spec(tensor);
  output.shape = to_dims(layout.sizes);
  output.strides = to_dims(layout.strides);
  output.offset = layout.offset;
  Record record;
  record.op = "getitem";
  record.args = {Arg::value(list.node), Arg::integer(list.element)};
  record.only_if_used = true;
  record.outputs.push_back(std::move(output));
  return recording_.add(std::move(record));
}

Result<OutputSpec> Recorder::output_spec(const at::Tensor& tensor) {
  if (!tensor.has_storage())
    return fail(ErrorKind::input, "a tensor without plain memory ({})", c10::str(tensor.layout()));
  const auto dtype = dtype_of(tensor.scalar_type());
  if (!dtype)
    return fail(ErrorKind::input, "a tensor of dtype {}, which graphs don't have", c10::toString(tensor.scalar_type()));
  OutputSpec output;
  output.dtype = *dtype;
  output.shape = to_dims(tensor.sizes());
  output.strides = to_dims(tensor.strides());
  output.offset = tensor.storage_offset();
  output.device = tensor.is_meta() ? options_.device : tensor.device().str();
  output.storage_key = values_.find_or_add(tensor).key;
  output.storage_bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
  return output;
}

void Recorder::note_outside(const at::Tensor& tensor) {
  if (tensor.requires_grad() && tensor.is_leaf()) gradients_.emplace_back(tensor, tensor.grad());
}

void Recorder::save_written(Args args, const std::vector<bool>& written) {
  const c10::impl::ExcludeDispatchKeyGuard not_captured(c10::DispatchKey::Fake);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!written[i]) continue;
    for_each_tensor(args[i], [&](const at::Tensor& tensor) {
      const Memory& memory = values_.find_or_add(tensor);
      const auto is_same = [&](const SavedMemory& saved) { return saved.key == memory.key; };
      if (!memory.from_outside || tensor.is_meta() || std::any_of(saved_.begin(), saved_.end(), is_same)) return;
      const at::Tensor bytes = at::empty({0}, tensor.options().dtype(at::kByte)).set_(tensor.storage());
      saved_.push_back({memory.key, bytes, bytes.clone()});
    });
  }
}

Status Recorder::add_results(const std::vector<at::Tensor>& results) {
  Record record;
  record.kind = NodeKind::output;
  record.name = "output";
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) return fail(ErrorKind::usage, "result {} of the step is an undefined tensor", i);
    auto node = node_of(results[i], true);
    if (!node) return fail(ErrorKind::input, "result {} of the step is {}", i, node.error().message);
    record.args.push_back(Arg::value(*node));
  }
  recording_.add(std::move(record));
  return {};
}

bool Recorder::keeps_gradient(const at::Tensor& leaf) const {
  for (const auto& [known, before] : gradients_) {
    if (known.is_same(leaf)) return before.defined() && leaf.grad().is_alias_of(before);
  }
  return false;
}

void Recorder::restore() {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  for (SavedMemory& saved : saved_) {
    if (saved.memory.storage().nbytes() == saved.copy.storage().nbytes()) saved.memory.copy_(saved.copy);
  }
  for (auto& [leaf, gradient] : gradients_) leaf.mutable_grad() = gradient;
}

}  // namespace hocket
