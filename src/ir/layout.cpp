#include "ir/layout.h"

#include <algorithm>
#include <numeric>

namespace hocket::ops {

namespace {

// -1: a varies faster than b; 1: the other way round; 0: no opinion.
int compare_strides(Dim stride_a, Dim stride_b, Dim size_a, Dim size_b) {
  const std::int64_t a = stride_a.value();
  const std::int64_t b = stride_b.value();
  if (a == 0 || b == 0) return 0;
  if (a != b) return a < b ? -1 : 1;
  return size_a.is_static() && size_b.is_static() && size_a.value() > size_b.value() ? 1 : 0;
}

bool same_dims(Dims a, Dims b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

Result<MemoryFormat> memory_format(const Call& call, MemoryFormat fallback) {
  const Arg* arg = call.keyword("memory_format");
  if (arg == nullptr || arg->is(ArgKind::none)) return fallback;
  if (!arg->is(ArgKind::memory_format))
    return fail(ErrorKind::input, "keyword argument memory_format is no memory format");
  const std::string_view name = call.pool().text(*arg);
  if (name.ends_with("preserve_format")) return MemoryFormat::preserve;
  if (name.ends_with("contiguous_format")) return MemoryFormat::contiguous;
  if (name.ends_with("channels_last")) return MemoryFormat::channels_last;
  if (name.ends_with("channels_last_3d")) return MemoryFormat::channels_last_3d;
  return fail(ErrorKind::input, "unknown memory format '{}'", name);
}

Result<Sizes> contiguous(const Call& call, Dims shape) {
  auto strides = contiguous_strides(shape, call.symbols());
  if (!strides) return fail(cannot_infer(fmt::format("shape {} has no representable strides", to_string(call, shape))));
  return std::move(strides->dims);
}

Result<Sizes> channels_last(const Call& call, Dims shape) {
  if (shape.size() != 4 && shape.size() != 5) {
    return fail(ErrorKind::input, "a channels-last layout needs 4 or 5 dims, got shape {}", to_string(call, shape));
  }
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return strides_in_order(call, shape, order);
}

namespace {

// Dims of size 1 may have any stride.
bool has_strides(const TypeView& type, Dims strides) {
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i] != Dim(1) && type.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

bool is_contiguous(const Call& call, const TypeView& type) {
  if (is_empty(type.shape)) return true;
  const auto strides = contiguous_strides(type.shape, call.symbols());
  return strides && has_strides(type, strides->dims);
}

bool is_channels_last(const Call& call, const TypeView& type) {
  if (type.shape.size() != 4) return false;
  const auto strides = channels_last(call, type.shape);
  return strides && has_strides(type, *strides);
}

bool suggests_channels_last(const TypeView& type) {
  if (type.shape.size() != 4 || !all_static(type.shape) || !all_static(type.strides) || is_empty(type.shape))
    return false;
  if (type.strides[1] == Dim(0)) return false;
  std::int64_t least = 0;
  for (const std::size_t dim : {1U, 3U, 2U, 0U}) {  // from fastest to slowest
    const std::int64_t stride = type.strides[dim].value();
    if (stride < least) return false;
    if (dim == 0 && least == type.strides[1].value()) return false;  // one channel of one element: contiguous
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(type.shape[dim].value(), 1), &least)) return false;
  }
  return true;
}

Result<bool> is_dense(const Call& call, const TypeView& type) {
  if (is_contiguous(call, type)) return true;
  if (!all_static(type.strides)) {
    return fail(cannot_infer(fmt::format("strides {} cannot be ranked", to_string(call, type.strides))));
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i] != Dim(1)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return type.strides[a].value() < type.strides[b].value(); });
  Dim expected = 1;
  for (const std::size_t i : order) {
    if (type.strides[i] != expected) return false;
    HOCKET_TRY(expected, times(call, expected, type.shape[i]));
  }
  return true;
}

Result<std::vector<std::size_t>> slowest_first(const Call& call, Dims shape, std::span<const Sizes> operand_strides) {
  for (const Sizes& strides : operand_strides) {
    if (!all_static(strides))
      return fail(cannot_infer(fmt::format("strides {} cannot be ranked", to_string(call, strides))));
  }
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const Sizes& strides : operand_strides) {
      if (const int order = compare_strides(strides[a], strides[b], shape[a], shape[b])) return order;
    }
    return 0;
  };
  // Insertion sort from the fastest dim. A pair without opinion neither swaps nor stops the search, so the order of
  // comparisons matters: any other sort would give other results on partial orders.
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t at = i;
    for (std::size_t j = i; j-- > 0;) {
      const int comparison = compare(order[j], order[at]);
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(order[j], order[at]);
        at = j;
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Result<Sizes> strides_in_order(const Call& call, Dims shape, std::span<const std::size_t> slowest_first) {
  Sizes sorted;
  for (const std::size_t dim : slowest_first) sorted.push_back(shape[dim]);
  HOCKET_TRY(const Sizes sorted_strides, contiguous(call, sorted));
  Sizes strides(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) strides[slowest_first[i]] = sorted_strides[i];
  return strides;
}

Result<Sizes> expanded_strides(const Call& call, const TypeView& type, Dims shape) {
  const std::size_t missing = shape.size() - type.shape.size();
  Sizes strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const Dim size = i < missing ? Dim(1) : type.shape[i - missing];
    if (size != shape[i]) {
      strides[i] = 0;
    } else if (i >= missing) {
      strides[i] = type.strides[i - missing];
    } else {  // a new dim of size 1 steps over the next one
      strides[i] = 1;
      if (i + 1 < shape.size()) {
        HOCKET_TRY(strides[i], times(call, shape[i + 1], strides[i + 1]));
      }
    }
  }
  return strides;
}

Result<Sizes> pointwise_strides(const Call& call, Dims shape, std::span<const TypeView> operands) {
  std::vector<Sizes> strides;
  bool all_contiguous = true;
  bool all_channels_last = true;
  for (const TypeView& operand : operands) {
    HOCKET_TRY(Sizes expanded, expanded_strides(call, operand, shape));
    const TypeView seen{operand.dtype, shape, expanded, Dim(0)};
    all_contiguous = all_contiguous && is_contiguous(call, seen);
    all_channels_last = all_channels_last && is_channels_last(call, seen);
    strides.push_back(std::move(expanded));
  }
  if (shape.size() < 2 || (all_contiguous && !all_channels_last)) return contiguous(call, shape);
  if (all_channels_last && !all_contiguous) return channels_last(call, shape);

  // Symbolic strides cannot be ranked, but where all that has the full shape is contiguous they need not be.
  const auto is_plain = [&](const TypeView& operand) {
    return is_contiguous(call, operand) && (operand.shape.size() < shape.size() || same_dims(operand.shape, shape));
  };
  const bool ranked = std::all_of(strides.begin(), strides.end(), [](const Sizes& list) { return all_static(list); });
  if (!ranked && std::all_of(operands.begin(), operands.end(), is_plain)) return contiguous(call, shape);

  HOCKET_TRY(const std::vector<std::size_t> order, slowest_first(call, shape, strides));
  return strides_in_order(call, shape, order);
}

namespace {

// The strides that a memory format prescribes; nothing for one that preserves.
Result<std::optional<Sizes>> prescribed_strides(const Call& call, Dims shape, MemoryFormat format) {
  if (format == MemoryFormat::preserve) return std::nullopt;
  HOCKET_TRY(Sizes strides, format == MemoryFormat::contiguous ? contiguous(call, shape) : channels_last(call, shape));
  return strides;
}

}  // namespace

Result<Sizes> cloned_strides(const Call& call, const TypeView& type, MemoryFormat format) {
  HOCKET_TRY(std::optional<Sizes> prescribed, prescribed_strides(call, type.shape, format));
  if (prescribed) return std::move(*prescribed);
  HOCKET_TRY(const bool dense, is_dense(call, type));
  if (dense) return copy_of(type.strides);
  const Sizes strides = copy_of(type.strides);
  HOCKET_TRY(const std::vector<std::size_t> order, slowest_first(call, type.shape, std::span(&strides, 1)));
  return strides_in_order(call, type.shape, order);
}

// ---- results

InferredType typed(Dtype dtype, Sizes shape, Sizes strides, Dim offset) {
  InferredType type;
  type.dtype = dtype;
  type.shape.dims = std::move(shape);
  type.strides.dims = std::move(strides);
  type.offset = offset;
  return type;
}

InferredType same(const TypeView& type) {
  return typed(type.dtype, copy_of(type.shape), copy_of(type.strides), type.offset);
}

Result<InferredType> dense(const Call& call, Dtype dtype, Sizes shape) {
  HOCKET_TRY(Sizes strides, contiguous(call, shape));
  return typed(dtype, std::move(shape), std::move(strides));
}

Result<InferredType> like(const Call& call, const TypeView& type, Dtype dtype, MemoryFormat format) {
  HOCKET_TRY(std::optional<Sizes> strides, prescribed_strides(call, type.shape, format));
  if (!strides) {
    HOCKET_TRY(strides, pointwise_strides(call, type.shape, std::span(&type, 1)));
  }
  return typed(dtype, copy_of(type.shape), std::move(*strides));
}

Result<InferredType> cloned(const Call& call, const TypeView& type, Dtype dtype, MemoryFormat format) {
  HOCKET_TRY(Sizes strides, cloned_strides(call, type, format));
  return typed(dtype, copy_of(type.shape), std::move(strides));
}

Result<InferredType> made_contiguous(const Call& call, InferredType type) {
  const TypeView view{type.dtype, type.shape.dims, type.strides.dims, type.offset};
  if (!is_contiguous(call, view)) {
    HOCKET_TRY(type.strides.dims, contiguous(call, type.shape.dims));
  }
  return type;
}

Result<InferredType> in_format_of(const Call& call, const TypeView& model, Dtype dtype, Sizes shape) {
  const bool last = suggests_channels_last(model) && shape.size() == 4;
  HOCKET_TRY(Sizes strides, last ? channels_last(call, shape) : contiguous(call, shape));
  return typed(dtype, std::move(shape), std::move(strides));
}

}  // namespace hocket::ops
