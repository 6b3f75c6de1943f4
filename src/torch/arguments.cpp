#include "torch/arguments.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>

#include <array>
#include <utility>
#include <vector>

#include "torch/schema.h"

namespace hocket {

namespace {

constexpr std::pair<at::ScalarType, Dtype> dtypes[] = {
    {at::kDouble, Dtype::f64},
    {at::kFloat, Dtype::f32},
    {at::kHalf, Dtype::f16},
    {at::kBFloat16, Dtype::bf16},
    {at::kFloat8_e4m3fn, Dtype::f8e4m3},
    {at::kFloat8_e5m2, Dtype::f8e5m2},
    {at::kLong, Dtype::i64},
    {at::kInt, Dtype::i32},
    {at::kShort, Dtype::i16},
    {at::kChar, Dtype::i8},
    {at::kUInt64, Dtype::u64},
    {at::kUInt32, Dtype::u32},
    {at::kUInt16, Dtype::u16},
    {at::kByte, Dtype::u8},
    {at::kBool, Dtype::boolean},
    {at::kComplexFloat, Dtype::c64},
    {at::kComplexDouble, Dtype::c128},
};
static_assert(std::size(dtypes) == dtype_count);

constexpr std::pair<at::MemoryFormat, std::string_view> memory_formats[] = {
    {at::MemoryFormat::Contiguous, "contiguous_format"},
    {at::MemoryFormat::Preserve, "preserve_format"},
    {at::MemoryFormat::ChannelsLast, "channels_last"},
    {at::MemoryFormat::ChannelsLast3d, "channels_last_3d"},
};

constexpr std::pair<at::Layout, std::string_view> layouts[] = {
    {at::kStrided, "strided"}, {at::kSparse, "sparse_coo"}, {at::kSparseCsr, "sparse_csr"}, {at::kMkldnn, "_mkldnn"}};

template <class Key, std::size_t n>
Result<std::string_view> name_in(const std::pair<Key, std::string_view> (&names)[n], Key key, std::string_view what) {
  for (const auto& [known, name] : names) {
    if (known == key) return name;
  }
  return fail(ErrorKind::input, "{} number {} has no name in a graph", what, static_cast<int>(key));
}

template <class Key, std::size_t n>
Result<c10::IValue> key_in(const std::pair<Key, std::string_view> (&names)[n], std::string_view name,
                           std::string_view what) {
  for (const auto& [key, known] : names) {
    if (known == name) return c10::IValue(static_cast<std::int64_t>(key));
  }
  return fail(ErrorKind::input, "libtorch has no {} {}", what, name);
}

c10::TypePtr unwrapped(c10::TypePtr type) {
  while (type->kind() == c10::TypeKind::OptionalType) type = type->castRaw<c10::OptionalType>()->getElementType();
  return type;
}

Result<Arg> number_arg(const at::Scalar& number) {
  if (number.isBoolean()) return Arg::boolean(number.toBool());
  if (number.isIntegral(false)) return Arg::integer(number.toLong());
  if (number.isFloatingPoint()) return Arg::real(number.toDouble());
  return fail(ErrorKind::input, "a complex number, which graphs don't hold as a constant");
}

bool is_wrapped_number(const at::Tensor& tensor) {
  return tensor.dim() == 0 && tensor.is_cpu() && tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

// The data of a wrapped number, without an operator that would be captured.
Result<Arg> wrapped_number_arg(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble: return Arg::real(*tensor.const_data_ptr<double>());
    case at::kLong: return Arg::integer(*tensor.const_data_ptr<std::int64_t>());
    case at::kBool: return Arg::boolean(*tensor.const_data_ptr<bool>());
    default: return fail(ErrorKind::input, "a number of type {} as a tensor", c10::toString(tensor.scalar_type()));
  }
}

// An integer may stand for a dtype, a layout or a memory format: the schema's real type tells.
Result<Arg> integer_arg(std::int64_t value, const c10::TypePtr& type, const ArgWriter& writer) {
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType: {
      const auto dtype = dtype_of(static_cast<at::ScalarType>(value));
      if (!dtype) return fail(ErrorKind::input, "dtype {}", c10::toString(static_cast<at::ScalarType>(value)));
      return Arg::dtype(*dtype);
    }
    case c10::TypeKind::LayoutType: {
      HOCKET_TRY(const std::string_view name, name_in(layouts, static_cast<at::Layout>(value), "layout"));
      return Arg::text(ArgKind::layout, writer.pool.strings.add(name));
    }
    case c10::TypeKind::MemoryFormatType: {
      HOCKET_TRY(const std::string_view name,
                 name_in(memory_formats, static_cast<at::MemoryFormat>(value), "memory format"));
      return Arg::text(ArgKind::memory_format, writer.pool.strings.add(name));
    }
    default: return Arg::integer(value);
  }
}

Result<Arg> value_arg(const c10::IValue& value, const c10::TypePtr& declared, const ArgWriter& writer) {
  const c10::TypePtr type = unwrapped(declared);
  if (value.isNone()) return Arg::none();
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return Arg::none();
    if (is_wrapped_number(tensor)) return wrapped_number_arg(tensor);
    HOCKET_TRY(const NodeId node, writer.node_of(tensor));
    return Arg::value(node);
  }
  if (value.isInt()) return integer_arg(value.toInt(), type, writer);
  if (value.isDouble()) return Arg::real(value.toDouble());
  if (value.isBool()) return Arg::boolean(value.toBool());
  if (value.isScalar()) return number_arg(value.toScalar());
  if (value.isString()) return Arg::text(ArgKind::string, writer.pool.strings.add(value.toStringRef()));
  if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    return Arg::text(ArgKind::device, writer.pool.strings.add(device.is_meta() ? writer.device : device.str()));
  }
  if (value.isList()) {
    const c10::TypePtr element_type = type->kind() == c10::TypeKind::ListType
                                          ? type->castRaw<c10::ListType>()->getElementType()
                                          : c10::TypePtr(c10::AnyType::get());
    std::vector<Arg> elements;
    for (const c10::IValue& element : value.toListRef()) {
      HOCKET_TRY(const Arg arg, value_arg(element, element_type, writer));
      elements.push_back(arg);
    }
    return Arg::list(writer.pool.add(elements));
  }
  return fail(ErrorKind::input, "a value of type {}, which graphs don't hold", value.tagKind());
}

Result<c10::IValue> number_ivalue(const Arg& arg, const c10::TypePtr& type) {
  at::Scalar number;
  if (arg.is(ArgKind::boolean)) number = arg.as_bool();
  if (arg.is(ArgKind::integer)) number = arg.as_integer();
  if (arg.is(ArgKind::real)) number = arg.as_real();
  if (is_tensor(type)) {
    at::Tensor tensor = c10::scalar_to_tensor(number);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return c10::IValue(tensor);
  }
  if (type->kind() == c10::TypeKind::FloatType) return c10::IValue(number.toDouble());
  return c10::IValue(number);
}

Result<c10::IValue> list_ivalue(const Arg& arg, const c10::TypePtr& type, const ArgReader& reader) {
  if (type->kind() != c10::TypeKind::ListType)
    return fail(ErrorKind::input, "a list where {} is expected", type->str());
  c10::TypePtr element_type = type->castRaw<c10::ListType>()->getElementType();
  if (element_type->kind() == c10::TypeKind::SymIntType) element_type = c10::IntType::get();
  c10::impl::GenericList list(element_type);
  for (const Arg& element : reader.pool.elements(arg)) {
    HOCKET_TRY(const c10::IValue value, to_ivalue(element, element_type, reader));
    list.push_back(value);
  }
  return c10::IValue(list);
}

}  // namespace

std::optional<Dtype> dtype_of(at::ScalarType type) {
  for (const auto& [torch, ours] : dtypes) {
    if (torch == type) return ours;
  }
  return std::nullopt;
}

at::ScalarType scalar_type_of(Dtype dtype) {
  for (const auto& [torch, ours] : dtypes) {
    if (ours == dtype) return torch;
  }
  return at::ScalarType::Undefined;
}

Result<Arg> to_arg(const c10::IValue& value, const c10::Argument& argument, const ArgWriter& writer) {
  if (argument.name() == "group_name" && value.isString()) {
    HOCKET_TRY(const GroupId group, writer.group_of(value.toStringRef()));
    return Arg::group(group);
  }
  auto arg = value_arg(value, argument.real_type(), writer);
  if (!arg) {
    Error error = std::move(arg).error();
    error.message = fmt::format("argument {} is {}", argument.name(), error.message);
    return fail(std::move(error));
  }
  return *arg;
}

bool is_default(const c10::IValue& value, const c10::Argument& argument) {
  if (!argument.default_value()) return false;
  const c10::IValue& fallback = *argument.default_value();
  const bool absent = value.isNone() || (value.isTensor() && !value.toTensor().defined());
  if (absent || fallback.isNone()) return absent && fallback.isNone();
  if (value.isTensor()) return false;
  return value == fallback;
}

Result<c10::IValue> to_ivalue(const Arg& arg, const c10::TypePtr& declared, const ArgReader& reader) {
  const c10::TypePtr type = unwrapped(declared);
  switch (arg.kind()) {
    case ArgKind::none:
      return declared->kind() == c10::TypeKind::TensorType ? c10::IValue(at::Tensor()) : c10::IValue();
    case ArgKind::boolean:
    case ArgKind::integer:
    case ArgKind::real: return number_ivalue(arg, type);
    case ArgKind::string: return c10::IValue(std::string(reader.pool.text(arg)));
    case ArgKind::value: {
      HOCKET_TRY(at::Tensor tensor, reader.tensor_of(arg.as_node()));
      return c10::IValue(std::move(tensor));
    }
    case ArgKind::dtype: return c10::IValue(static_cast<std::int64_t>(scalar_type_of(arg.as_dtype())));
    case ArgKind::device: return c10::IValue(c10::Device(std::string(reader.pool.text(arg))));
    case ArgKind::layout: return key_in(layouts, reader.pool.text(arg), "layout");
    case ArgKind::memory_format: return key_in(memory_formats, reader.pool.text(arg), "memory format");
    case ArgKind::list: return list_ivalue(arg, type, reader);
    default: return fail(ErrorKind::input, "an argument of a kind that libtorch does not take");
  }
}

const Arg* find_keyword(const ArgPool& pool, std::span<const Keyword> keywords, std::string_view name) {
  for (const Keyword& keyword : keywords) {
    if (pool.strings[keyword.key] == name) return &keyword.value;
  }
  return nullptr;
}

Result<std::vector<c10::IValue>> call_arguments(const c10::FunctionSchema& schema, std::span<const Arg> args,
                                                std::span<const Keyword> keywords, const ArgReader& reader) {
  std::vector<c10::IValue> values;
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Arg* const arg = i < args.size() ? &args[i] : find_keyword(reader.pool, keywords, arguments[i].name());
    if (arg != nullptr) {
      HOCKET_TRY(c10::IValue value, to_ivalue(*arg, arguments[i].real_type(), reader));
      values.push_back(std::move(value));
    } else if (arguments[i].default_value()) {
      values.push_back(*arguments[i].default_value());
    } else {
      return fail(ErrorKind::input, "argument {} of {} is missing", arguments[i].name(),
                  graph_name(schema.operator_name()));
    }
  }
  return values;
}

Result<std::vector<std::int64_t>> numbers_of(Dims dims) {
  std::vector<std::int64_t> values;
  for (const Dim dim : dims) {
    if (!dim.is_static()) return fail(ErrorKind::input, "a symbolic size: a program that runs has numbers");
    values.push_back(dim.value());
  }
  return values;
}

}  // namespace hocket
