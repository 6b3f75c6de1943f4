#include <string>

#include "hocket/ir/op_table.h"

namespace hocket {

namespace {

// The start of the message of every cannot_infer error, and of no other.
constexpr std::string_view not_known_here = "the result's type is not known: ";

std::string name_of(Param param) {
  if (param.name.empty()) return fmt::format("argument {}", param.index);
  return fmt::format("argument {} ({})", param.index, param.name);
}

std::string element_name(Param param, std::size_t element) {
  return fmt::format("element {} of {}", element, name_of(param));
}

// An argument as a message shows it.
std::string describe(const Arg& arg, const Call& call) {
  switch (arg.kind()) {
    case ArgKind::none: return "none";
    case ArgKind::boolean: return arg.as_bool() ? "true" : "false";
    case ArgKind::integer: return fmt::format("the integer {}", arg.as_integer());
    case ArgKind::real: return fmt::format("the number {}", arg.as_real());
    case ArgKind::symbolic: return fmt::format("the size {}", call.symbols().to_string(arg.as_symbolic()));
    case ArgKind::string: return fmt::format("the string '{}'", call.pool().text(arg));
    case ArgKind::value: {
      const std::size_t outputs = call.values().output_count(arg);
      if (outputs == 0) return "a value that is no tensor";
      return outputs == 1 ? "a tensor" : fmt::format("a list of {} tensors", outputs);
    }
    case ArgKind::group: return "a group";
    case ArgKind::dtype: return fmt::format("the dtype {}", short_name(arg.as_dtype()));
    case ArgKind::device: return "a device";
    case ArgKind::layout: return "a layout";
    case ArgKind::memory_format: return "a memory format";
    case ArgKind::list: return fmt::format("a list of {}", arg.as_range().count);
    case ArgKind::dict: return "a dict";
    case ArgKind::json: return "a value of unknown kind";
  }
  return "something unknown";
}

tl::unexpected<Error> expected(std::string_view what, const Arg* arg, std::string_view expectation, const Call& call) {
  if (arg == nullptr) return fail(ErrorKind::input, "{} is missing, expected {}", what, expectation);
  return fail(ErrorKind::input, "{} is {}, expected {}", what, describe(*arg, call), expectation);
}

Result<std::int64_t> integer_of(const Arg& arg, const std::string& what, const Call& call) {
  if (arg.is(ArgKind::integer)) return arg.as_integer();
  if (arg.is(ArgKind::symbolic)) {
    return fail(cannot_infer(fmt::format("{} is {}", what, call.symbols().to_string(arg.as_symbolic()))));
  }
  if (arg.is(ArgKind::value) && call.values().output_count(arg) == 0) {
    if (const auto known = call.values().integer(arg)) return *known;
    return fail(cannot_infer(fmt::format("{} is computed at run time", what)));
  }
  return expected(what, &arg, "an integer", call);
}

// Shape functions rely on as many strides as sizes.
Result<TypeView> with_strides(const TypeView& type, std::string_view what) {
  if (type.strides.size() == type.shape.size()) return type;
  return fail(
      cannot_infer(fmt::format("{} has {} sizes and {} strides", what, type.shape.size(), type.strides.size())));
}

// The elements of a list argument; a lone element counts as a list of one, as PyTorch has it for sizes and dims.
Result<std::span<const Arg>> elements_of(const Call& call, Param param, std::string_view expectation) {
  const Arg* arg = call.find(param);
  if (arg == nullptr) return expected(name_of(param), arg, expectation, call);
  if (arg->is(ArgKind::list)) return call.pool().elements(*arg);
  return std::span<const Arg>(arg, 1);
}

}  // namespace

Error cannot_infer(std::string why) { return {ErrorKind::input, std::string(not_known_here) + std::move(why), {}}; }

bool is_cannot_infer(const Error& error) { return error.message.starts_with(not_known_here); }

const Arg* Call::keyword(std::string_view key) const {
  for (const Keyword& keyword : keywords_) {
    if (pool_.strings[keyword.key] == key) return &keyword.value;
  }
  return nullptr;
}

const Arg* Call::find(Param param) const {
  const Arg* arg = nullptr;
  if (param.index < args_.size()) arg = &args_[param.index];
  else if (!param.name.empty()) arg = keyword(param.name);
  return arg != nullptr && arg->is(ArgKind::none) ? nullptr : arg;
}

Result<TypeView> Call::tensor(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr) return expected(name_of(param), arg, "a tensor", *this);
  return tensor(*arg, name_of(param));
}

Result<TypeView> Call::tensor(const Arg& arg, std::string_view what) const {
  if (!arg.is(ArgKind::value) || values_.output_count(arg) != 1) return expected(what, &arg, "a tensor", *this);
  return with_strides(values_.output(arg, 0), what);
}

Result<std::vector<TypeView>> Call::tensors(Param param) const {
  const Arg* arg = find(param);
  std::vector<TypeView> types;
  if (arg != nullptr && arg->is(ArgKind::value) && values_.output_count(*arg) > 0) {  // a node that results in a list
    for (std::size_t i = 0; i < values_.output_count(*arg); ++i) {
      HOCKET_TRY(const TypeView type, with_strides(values_.output(*arg, i), element_name(param, i)));
      types.push_back(type);
    }
    return types;
  }
  if (arg == nullptr || !arg->is(ArgKind::list)) return expected(name_of(param), arg, "a list of tensors", *this);
  const std::span<const Arg> elements = pool_.elements(*arg);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    HOCKET_TRY(const TypeView type, tensor(elements[i], element_name(param, i)));
    types.push_back(type);
  }
  return types;
}

Result<std::int64_t> Call::integer(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr) return expected(name_of(param), arg, "an integer", *this);
  return integer_of(*arg, name_of(param), *this);
}

Result<std::int64_t> Call::integer_or(Param param, std::int64_t fallback) const {
  return has(param) ? integer(param) : Result<std::int64_t>(fallback);
}

Result<bool> Call::boolean_or(Param param, bool fallback) const {
  const Arg* arg = find(param);
  if (arg == nullptr) return fallback;
  if (arg->is(ArgKind::boolean)) return arg->as_bool();
  if (arg->is(ArgKind::integer)) return arg->as_integer() != 0;
  return expected(name_of(param), arg, "true or false", *this);
}

Result<Dim> Call::dim(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr) return expected(name_of(param), arg, "a size", *this);
  return dim(*arg, name_of(param));
}

Result<Dim> Call::dim(const Arg& arg, std::string_view what) const {
  if (arg.is(ArgKind::symbolic)) return arg.as_symbolic();
  HOCKET_TRY(const std::int64_t size, integer_of(arg, std::string(what), *this));
  if (size < 0) return fail(ErrorKind::input, "{} is {}, expected a size of 0 or more", what, size);
  if (size > Dim::max) return fail(ErrorKind::input, "{} is {}, larger than any tensor", what, size);
  return Dim(size);
}

Result<std::vector<std::int64_t>> Call::integers(Param param) const {
  HOCKET_TRY(const std::span<const Arg> elements, elements_of(*this, param, "a list of integers"));
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    HOCKET_TRY(const std::int64_t value, integer_of(elements[i], element_name(param, i), *this));
    list.push_back(value);
  }
  return list;
}

Result<std::vector<Dim>> Call::dims(Param param) const {
  HOCKET_TRY(const std::span<const Arg> elements, elements_of(*this, param, "a list of sizes"));
  std::vector<Dim> list;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    HOCKET_TRY(const Dim size, dim(elements[i], element_name(param, i)));
    list.push_back(size);
  }
  return list;
}

Result<std::int64_t> Call::group_size(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr || !arg->is(ArgKind::group)) return expected(name_of(param), arg, "a group of the program", *this);
  if (arg->as_group().index() >= values_.group_count()) {
    return fail(ErrorKind::input, "{} is group number {}, but the program has {} groups", name_of(param),
                arg->as_group().index(), values_.group_count());
  }
  const std::int64_t members = values_.group_size(arg->as_group());
  if (members == 0) return fail(ErrorKind::input, "{} is a group without ranks", name_of(param));
  return members;
}

Result<std::string_view> Call::string(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr || !arg->is(ArgKind::string)) return expected(name_of(param), arg, "a string", *this);
  return pool_.text(*arg);
}

Result<std::optional<Dtype>> Call::dtype_keyword(std::string_view key) const {
  const Arg* arg = keyword(key);
  if (arg == nullptr || arg->is(ArgKind::none)) return std::nullopt;
  if (!arg->is(ArgKind::dtype)) return expected(fmt::format("keyword argument {}", key), arg, "a dtype", *this);
  return arg->as_dtype();
}

bool Call::is_number(Param param) const {
  const Arg* arg = find(param);
  if (arg == nullptr) return false;
  switch (arg->kind()) {
    case ArgKind::boolean:
    case ArgKind::integer:
    case ArgKind::real:
    case ArgKind::symbolic: return true;
    case ArgKind::value: return values_.output_count(*arg) == 0;
    default: return false;
  }
}

}  // namespace hocket
