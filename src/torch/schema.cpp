#include "torch/schema.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hocket {

namespace {

constexpr std::string_view default_overload = "default";

// Arguments that an operator writes although its schema does not say so.
struct Untold {
  std::string_view op;
  std::array<int, 2> written;
  int only_if_true;  // a boolean argument on which it depends; -1: always
};
constexpr Untold untold_writes[] = {
    // running_mean and running_var, in training
    {"aten::native_batch_norm", {3, 4}, 5},
    {"aten::cudnn_batch_norm", {3, 4}, 5},
    {"aten::miopen_batch_norm", {3, 4}, 5},
    {"aten::batch_norm_update_stats", {1, 2}, -1},
    // what is received, and the buffer that the input is copied to
    {"_c10d_functional::irecv", {0, 0}, -1},
    {"_c10d_functional::batch_p2p_ops", {3, 3}, -1},
    {"symm_mem::one_shot_all_reduce_copy", {0, 0}, -1},
    {"symm_mem::one_shot_all_reduce_copy_out", {0, 0}, -1},
};

constexpr std::string_view uninitialised_results[] = {
    "aten::empty",     "aten::empty_like",        "aten::empty_strided",   "aten::empty_permuted",
    "aten::new_empty", "aten::new_empty_strided", "aten::empty_quantized",
};

constexpr std::string_view overwriting[] = {
    "aten::copy_",    "aten::fill_",      "aten::zero_",        "aten::bernoulli_",
    "aten::uniform_", "aten::normal_",    "aten::exponential_", "aten::random_",
    "aten::cauchy_",  "aten::geometric_", "aten::log_normal_",  "_c10d_functional::irecv",
};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::string graph_name(const c10::OperatorName& name) {
  const std::size_t colons = name.name.find("::");
  return fmt::format("{}.{}.{}", name.name.substr(0, colons), name.name.substr(colons + 2),
                     name.overload_name.empty() ? default_overload : std::string_view(name.overload_name));
}

Result<c10::OperatorHandle> find_operator(std::string_view graph_name) {
  const std::size_t first = graph_name.find('.');
  const std::size_t last = graph_name.rfind('.');
  if (first == std::string_view::npos || first == last) {
    return fail(ErrorKind::input, "{} is no operator of libtorch: expected namespace.name.overload", graph_name);
  }
  const std::string_view overload = graph_name.substr(last + 1);
  const std::string name =
      fmt::format("{}::{}", graph_name.substr(0, first), graph_name.substr(first + 1, last - first - 1));
  const auto found = c10::Dispatcher::singleton().findSchema(
      {name, overload == default_overload ? std::string() : std::string(overload)});
  if (!found) return fail(ErrorKind::input, "libtorch has no operator {}", graph_name);
  return *found;
}

std::vector<bool> written_arguments(const c10::FunctionSchema& schema, std::span<const c10::IValue> args) {
  std::vector<bool> written(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    written[i] = alias != nullptr && alias->isWrite();
  }
  for (const Untold& untold : untold_writes) {
    if (schema.name() != untold.op) continue;
    if (untold.only_if_true >= 0 && !args[static_cast<std::size_t>(untold.only_if_true)].toBool()) continue;
    for (const int index : untold.written) written[static_cast<std::size_t>(index)] = true;
  }
  return written;
}

bool is_view(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  if (returns.empty()) return false;
  return std::all_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
    const c10::AliasInfo* alias = result.alias_info();
    return alias != nullptr && !alias->isWrite();
  });
}

bool returns_uninitialised(const c10::FunctionSchema& schema) { return contains(uninitialised_results, schema.name()); }

bool overwrites_first(const c10::FunctionSchema& schema) { return contains(overwriting, schema.name()); }

bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

bool depends_on_data(const c10::OperatorHandle& op, std::span<const c10::IValue> args) {
  if (op.hasTag(at::Tag::data_dependent_output)) return true;
  if (!op.hasTag(at::Tag::dynamic_output_shape)) return false;
  if (op.schema().name() != "aten::index") return true;
  // Indexing by positions has a known shape; by a mask, a shape that depends on the mask.
  bool has_mask = false;
  for_each_tensor(args[1], [&](const at::Tensor& index) {
    has_mask = has_mask || index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
  });
  return has_mask;
}

bool changes_layout_only(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::inplace_view) && !op.schema().name().starts_with("aten::resize_");
}

bool is_collective(const c10::FunctionSchema& schema) {
  return schema.name().starts_with("_c10d_functional::") || schema.name().starts_with("symm_mem::") ||
         schema.name() == "_dtensor::shard_dim_alltoall";
}

std::optional<std::size_t> returned_argument(const c10::FunctionSchema& schema) {
  if (schema.name() == "_c10d_functional::wait_tensor" || schema.name() == "_c10d_functional::irecv") return 0;
  const c10::AliasInfo* result = schema.returns().at(0).alias_info();
  if (result == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->beforeSets() == result->beforeSets()) return i;
  }
  return std::nullopt;
}

bool is_tensor_list(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType)
    return is_tensor_list(type->castRaw<c10::OptionalType>()->getElementType());
  return type->kind() == c10::TypeKind::ListType && is_tensor(type->castRaw<c10::ListType>()->getElementType());
}

bool is_tensor(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType)
    return is_tensor(type->castRaw<c10::OptionalType>()->getElementType());
  return type->kind() == c10::TypeKind::TensorType;
}

}  // namespace hocket
