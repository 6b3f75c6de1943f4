#include "ir/slicing.h"

#include <algorithm>

namespace hocket::ops {

Result<InferredType> strided_part(const Call& call, const TypeView& type, std::size_t dim, Dim start, Dim length,
                                  std::int64_t step) {
  InferredType part = same(type);
  HOCKET_TRY(const Dim skipped, times(call, start, type.strides[dim]));
  HOCKET_TRY(part.offset, plus(call, type.offset, skipped));
  part.shape.dims[dim] = length;
  HOCKET_TRY(part.strides.dims[dim], times(call, type.strides[dim], Dim(step)));
  return part;
}

namespace {

// A bound of a slice: a static integer, a size expression, or absent.
struct Bound {
  std::optional<std::int64_t> integer;
  std::optional<Dim> symbolic;
};

Result<Bound> bound_of(const Call& call, Param param) {
  const Arg* arg = call.find(param);
  Bound bound;
  if (arg == nullptr) return bound;
  if (arg->is(ArgKind::symbolic)) {
    bound.symbolic = arg->as_symbolic();
  } else {
    HOCKET_TRY(bound.integer, call.integer(param));
  }
  return bound;
}

std::int64_t cut(std::int64_t bound, std::int64_t size) {
  return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

// Of a dim with a symbolic size only the whole, or the whole without a known beginning, has a known length.
Result<Slice> slice_of_symbolic(const Call& call, Slice slice, Dim size, const Bound& start, const Bound& end) {
  const bool to_the_end = (!end.integer && !end.symbolic) || end.integer >= Dim::max || end.symbolic == size;
  const bool from_the_front = !start.symbolic && start.integer.value_or(0) == 0;
  if (!to_the_end || !from_the_front || slice.step != 1) {
    return fail(cannot_infer(fmt::format("it slices a dim of size {}", call.symbols().to_string(size))));
  }
  slice.length = size;
  return slice;
}

}  // namespace

Result<Slice> slice_of(const Call& call, Dims shape, std::size_t first) {
  if (shape.empty()) return fail(ErrorKind::input, "a tensor without dims cannot be sliced");
  HOCKET_TRY(const std::int64_t dim, call.integer_or({first, "dim"}, 0));
  Slice slice;
  HOCKET_TRY(slice.dim, wrap_dim(dim, shape.size()));
  HOCKET_TRY(slice.step, call.integer_or({first + 3, "step"}, 1));
  if (slice.step <= 0)
    return fail(ErrorKind::input, "argument {} (step) is {}, expected a positive step", first + 3, slice.step);
  HOCKET_TRY(const Bound start, bound_of(call, {first + 1, "start"}));
  HOCKET_TRY(const Bound end, bound_of(call, {first + 2, "end"}));
  const Dim size = shape[slice.dim];
  if (!size.is_static() || start.symbolic || end.symbolic) return slice_of_symbolic(call, slice, size, start, end);

  const std::int64_t begin = cut(start.integer.value_or(0), size.value());
  const std::int64_t stop = std::max(begin, cut(end.integer.value_or(size.value()), size.value()));
  slice.start = Dim(begin);
  slice.length = Dim((stop - begin) / slice.step + ((stop - begin) % slice.step == 0 ? 0 : 1));
  return slice;
}

Result<std::int64_t> wrap_index(std::int64_t index, Dim size) {
  if (!size.is_static()) {
    if (index >= 0) return index;
    return fail(cannot_infer("an index counts from the end of a symbolic size"));
  }
  if (index < -size.value() || index >= size.value()) {
    return fail(ErrorKind::input, "index {} is out of range for a dim of size {}", index, size.value());
  }
  return index < 0 ? index + size.value() : index;
}

Result<Diagonal> diagonal_of(const Call& call, Dims shape, std::size_t first) {
  Diagonal diagonal;
  HOCKET_TRY(diagonal.offset, call.integer_or({first, "offset"}, 0));
  HOCKET_TRY(const std::int64_t dim1, call.integer_or({first + 1, "dim1"}, 0));
  HOCKET_TRY(const std::int64_t dim2, call.integer_or({first + 2, "dim2"}, 1));
  HOCKET_TRY(diagonal.dim1, wrap_dim(dim1, shape.size()));
  HOCKET_TRY(diagonal.dim2, wrap_dim(dim2, shape.size()));
  if (shape.size() < 2 || diagonal.dim1 == diagonal.dim2)
    return fail(ErrorKind::input, "a diagonal needs two different dims, got {} and {}", dim1, dim2);
  if (!all_static(shape)) return fail(cannot_infer("it is the diagonal of a symbolic shape"));
  const std::int64_t rows = shape[diagonal.dim1].value() + std::min<std::int64_t>(diagonal.offset, 0);
  const std::int64_t columns = shape[diagonal.dim2].value() - std::max<std::int64_t>(diagonal.offset, 0);
  diagonal.length = std::max<std::int64_t>(std::min(rows, columns), 0);
  return diagonal;
}

Result<Sizes> wanted_shape(const Call& call, Param param, Dim elements) {
  const Arg* arg = call.find(param);
  if (arg == nullptr) return fail(ErrorKind::input, "argument {} is missing, expected a list of sizes", param.index);
  const std::span<const Arg> list = arg->is(ArgKind::list) ? call.pool().elements(*arg) : std::span<const Arg>(arg, 1);
  Sizes shape;
  std::optional<std::size_t> open;  // where the -1 stands
  Dim known = 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is(ArgKind::integer) && list[i].as_integer() == -1) {
      if (open) return fail(ErrorKind::input, "argument {} has more than one size of -1", param.index);
      open = i;
      shape.emplace_back(1);
      continue;
    }
    HOCKET_TRY(const Dim size, call.dim(list[i], fmt::format("element {} of argument {}", i, param.index)));
    HOCKET_TRY(known, times(call, known, size));
    shape.push_back(size);
  }
  if (open) {
    if (known == elements) return shape;
    if (!known.is_static()) return fail(cannot_infer("the size of -1 depends on the relation of symbols"));
    HOCKET_TRY(shape[*open], divided(call, elements, known.value(), "the number of elements"));
  } else if (known != elements) {
    if (!known.is_static() || !elements.is_static()) {
      return fail(cannot_infer(fmt::format("{} and {} elements may or may not be equal",
                                           call.symbols().to_string(elements), call.symbols().to_string(known))));
    }
    return fail(ErrorKind::input, "shape {} has {} elements, but the tensor has {}", to_string(call, shape),
                known.value(), elements.value());
  }
  return shape;
}

}  // namespace hocket::ops
