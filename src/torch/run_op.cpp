#include "torch/run_op.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "torch/arguments.h"
#include "torch/schema.h"

namespace hocket {

namespace {

std::vector<std::int64_t> numbers(const std::vector<Dim>& dims) {
  std::vector<std::int64_t> values;
  for (const Dim dim : dims) values.push_back(dim.value());
  return values;
}

// Which results a call leaves undefined: some backward operators are told by an argument `output_mask`.
std::vector<bool> wanted_results(const c10::FunctionSchema& schema, std::span<const c10::IValue> args) {
  std::vector<bool> wanted(schema.returns().size(), true);
  const auto position = schema.argumentIndexWithName("output_mask");
  if (!position) return wanted;
  const auto mask = args[static_cast<std::size_t>(*position)].toListRef();
  for (std::size_t i = 0; i < mask.size() && i < wanted.size(); ++i) wanted[i] = mask[i].toBool();
  return wanted;
}

// The results that the operator table foresees, if their number fits the schema.
bool push_inferred(const c10::FunctionSchema& schema, std::span<const c10::IValue> args, const InferTypes& infer,
                   torch::jit::Stack& stack) {
  if (!infer) return false;
  for (const c10::Argument& result : schema.returns()) {
    if (!is_tensor(result.type()) || result.alias_info() != nullptr) return false;
  }
  const Result<Outputs> types = infer();
  if (!types) return false;
  std::vector<bool> wanted = wanted_results(schema, args);
  if (types->size() == wanted.size()) wanted.assign(wanted.size(), true);
  if (types->size() != static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), true))) return false;
  std::size_t next = 0;
  for (const bool is_wanted : wanted) {
    stack.emplace_back(is_wanted ? make_tensor((*types)[next++], at::kMeta) : at::Tensor());
  }
  return true;
}

// An operator that only changes its argument leaves its type as it was.
bool push_changed_argument(const c10::FunctionSchema& schema, std::span<const c10::IValue> args,
                           torch::jit::Stack& stack) {
  if (schema.returns().size() != 1) return false;
  const c10::AliasInfo* result = schema.returns()[0].alias_info();
  if (result == nullptr || !result->isWrite()) return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || alias->beforeSets() != result->beforeSets()) continue;
    stack.push_back(args[i]);
    return true;
  }
  return false;
}

// Runs the CPU kernel on zeros in place of meta tensors, and gives meta tensors for its results.
class ScratchRun {
 public:
  ScratchRun(const c10::OperatorHandle& op, std::span<const c10::IValue> args) : op_(op), args_(args) {}

  void push_results(torch::jit::Stack& stack) {
    torch::jit::Stack scratch;
    for (const c10::IValue& arg : args_) scratch.push_back(on_cpu(arg));
    op_.callBoxed(scratch);
    for (const c10::IValue& result : scratch) stack.push_back(on_meta(result));
  }

 private:
  c10::IValue on_cpu(const c10::IValue& value) {
    if (value.isTensor()) return on_cpu(value.toTensor());
    if (value.isDevice()) return value.toDevice().is_meta() ? c10::IValue(c10::Device(at::kCPU)) : value;
    if (!value.isList() || value.toListRef().empty()) return value;
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& element : value.toListRef()) list.push_back(on_cpu(element));
    return list;
  }

  at::Tensor on_cpu(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_meta()) return tensor;
    const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
    used_ += bytes;
    TORCH_CHECK(used_ <= max_scratch_bytes, graph_name(op_.operator_name()),
                " has no kernel for meta tensors and no shape function in the operator table, and its arguments of ",
                used_, " bytes are too large to try it on memory; add a shape function to its row");
    const at::Tensor memory = at::zeros({bytes}, at::kByte);
    at::Tensor scratch = at::empty({0}, tensor.options().device(at::kCPU))
                             .set_(memory.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
    pairs_.emplace_back(tensor, scratch);
    return scratch;
  }

  c10::IValue on_meta(const c10::IValue& value) {
    if (value.isTensor()) return on_meta(value.toTensor());
    if (!value.isTensorList()) return value;
    std::vector<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(on_meta(tensor));
    return list;
  }

  at::Tensor on_meta(const at::Tensor& result) {
    if (!result.defined()) return result;
    for (const auto& [tensor, scratch] : pairs_) {
      if (result.is_same(scratch)) return tensor;
      if (result.is_alias_of(scratch))
        return tensor.as_strided(result.sizes(), result.strides(), result.storage_offset());
    }
    return at::empty_strided(result.sizes(), result.strides(), result.options().device(at::kMeta));
  }

  const c10::OperatorHandle& op_;
  std::span<const c10::IValue> args_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;  // meta, scratch
  std::int64_t used_ = 0;
};

}  // namespace

c10::DispatchKeySet keys_below_capture(c10::DispatchKeySet keys) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake);
}

bool is_on_meta(std::span<const c10::IValue> args) {
  bool found = false;
  for (const c10::IValue& arg : args) {
    found = found || (arg.isDevice() && arg.toDevice().is_meta());
    for_each_tensor(arg, [&](const at::Tensor& tensor) { found = found || tensor.is_meta(); });
  }
  return found;
}

at::Tensor make_tensor(const InferredType& type, c10::Device device) {
  return at::empty_strided(numbers(type.shape.dims), numbers(type.strides.dims),
                           at::TensorOptions(scalar_type_of(type.dtype)).device(device));
}

namespace {

// Does the operator have a kernel for these arguments? Then it has run.
bool run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack,
                std::span<const c10::IValue> args) {
  try {
    op.redispatchBoxed(keys_below_capture(keys), &stack);
    return true;
  } catch (const c10::NotImplementedError&) {
    if (!is_on_meta(args)) throw;
    return false;
  }
}

}  // namespace

void run_below_capture(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack& stack,
                       std::span<const c10::IValue> args, const InferTypes& infer) {
  const c10::impl::ExcludeDispatchKeyGuard not_captured(c10::DispatchKey::Fake);
  const std::size_t first = stack.size() - args.size();
  if (run_kernel(op, keys, stack, args)) return;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  stack.resize(first);
  if (push_inferred(op.schema(), args, infer, stack)) return;
  if (push_changed_argument(op.schema(), args, stack)) return;
  ScratchRun(op, args).push_results(stack);
}

}  // namespace hocket
