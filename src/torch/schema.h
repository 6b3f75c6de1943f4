// What an operator's schema says about a call, corrected where schemas are known not to tell the truth.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"

namespace hocket {

// "aten.mm.default", as captured graphs call it, and back.
std::string graph_name(const c10::OperatorName& name);
Result<c10::OperatorHandle> find_operator(std::string_view graph_name);

// One entry for each argument: does this call write it?
std::vector<bool> written_arguments(const c10::FunctionSchema& schema, std::span<const c10::IValue> args);

// Is every tensor that it returns a view of an argument, or possibly one (reshape)?
bool is_view(const c10::FunctionSchema& schema);

// Does it return memory that nobody has written yet?
bool returns_uninitialised(const c10::FunctionSchema& schema);

// Does it overwrite its first argument without reading it?
bool overwrites_first(const c10::FunctionSchema& schema);

// Written in terms of other operators, which are captured instead?
bool is_composite(const c10::OperatorHandle& op);

// Does a program that calls it depend on what is in the tensors, so that one capture can't stand for all data?
bool depends_on_data(const c10::OperatorHandle& op, std::span<const c10::IValue> args);

// Does it change how its argument lies in memory, and not what is in it (t_, squeeze_)?
bool changes_layout_only(const c10::OperatorHandle& op);

// One of the collectives, which captures don't carry out.
bool is_collective(const c10::FunctionSchema& schema);

// The argument that a collective returns, changed or waited for; nothing if its result is fresh.
std::optional<std::size_t> returned_argument(const c10::FunctionSchema& schema);

bool is_tensor_list(const c10::TypePtr& type);
bool is_tensor(const c10::TypePtr& type);

// Calls visit(tensor) for every defined tensor in a value, also inside lists.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

}  // namespace hocket
