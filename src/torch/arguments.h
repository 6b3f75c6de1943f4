// Arguments of operators, between libtorch's IValue and the graph's Arg, and the names of their kinds.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/ir/arg.h"

namespace hocket {

std::optional<Dtype> dtype_of(at::ScalarType type);  // nothing for types that graphs don't have
at::ScalarType scalar_type_of(Dtype dtype);

// What the conversion to the graph asks its caller.
struct ArgWriter {
  ArgPool& pool;
  std::string device;                                        // what the device meta is called in the graph
  std::function<Result<NodeId>(const at::Tensor&)> node_of;  // the node of a tensor
  std::function<Result<GroupId>(std::string_view)> group_of;
};

// The graph's form of one argument. A number that libtorch has wrapped into a 0-d tensor becomes a number again.
Result<Arg> to_arg(const c10::IValue& value, const c10::Argument& argument, const ArgWriter& writer);

// Is it what the schema says when nothing is given?
bool is_default(const c10::IValue& value, const c10::Argument& argument);

// What the conversion from the graph asks its caller.
struct ArgReader {
  const ArgPool& pool;
  std::function<Result<at::Tensor>(NodeId)> tensor_of;
};

// libtorch's form of one argument, of the type that the schema wants.
Result<c10::IValue> to_ivalue(const Arg& arg, const c10::TypePtr& type, const ArgReader& reader);

// All arguments of a call, as a schema has them: by position, by keyword, or its default.
Result<std::vector<c10::IValue>> call_arguments(const c10::FunctionSchema& schema, std::span<const Arg> args,
                                                std::span<const Keyword> keywords, const ArgReader& reader);
const Arg* find_keyword(const ArgPool& pool, std::span<const Keyword> keywords, std::string_view name);

// Sizes as libtorch takes them; a symbolic one is an error.
Result<std::vector<std::int64_t>> numbers_of(Dims dims);

}  // namespace hocket
