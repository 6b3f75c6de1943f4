#include "torch/out_variant.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "torch/schema.h"

namespace hocket {

namespace {

// The names of all overloads by the name that they share.
const std::map<std::string, std::vector<c10::OperatorName>>& overloads() {
  static const auto all = [] {
    std::map<std::string, std::vector<c10::OperatorName>> by_name;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      by_name[name.name].push_back(name);
    }
    for (auto& [name, list] : by_name) {
      std::sort(list.begin(), list.end(),
                [](const auto& a, const auto& b) { return a.overload_name < b.overload_name; });
    }
    return by_name;
  }();
  return all;
}

bool returns_fresh_tensors(const c10::FunctionSchema& schema) {
  return !schema.returns().empty() &&
         std::all_of(schema.returns().begin(), schema.returns().end(),
                     [](const auto& one) { return is_tensor(one.type()) && one.alias_info() == nullptr; });
}

bool writes_arguments(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(),
                     [](const auto& one) { return one.alias_info() != nullptr && one.alias_info()->isWrite(); });
}

bool is_out_form(const c10::FunctionSchema& form, const c10::FunctionSchema& of) {
  const auto& arguments = of.arguments();
  const auto& all = form.arguments();
  if (all.size() != arguments.size() + of.returns().size()) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (all[i].name() != arguments[i].name() || *all[i].type() != *arguments[i].type()) return false;
  }
  return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(arguments.size()), all.end(),
                     [](const auto& one) { return one.is_out() && is_tensor(one.type()); });
}

}  // namespace

std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (!returns_fresh_tensors(schema) || writes_arguments(schema)) return std::nullopt;
  const auto found = overloads().find(op.operator_name().name);
  if (found == overloads().end()) return std::nullopt;
  for (const c10::OperatorName& name : found->second) {
    auto candidate = c10::Dispatcher::singleton().findSchema(name);
    if (candidate && is_out_form(candidate->schema(), schema)) return candidate;
  }
  return std::nullopt;
}

}  // namespace hocket
