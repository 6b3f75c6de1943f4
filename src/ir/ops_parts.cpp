// Views of a part of a tensor, and views that take it apart: slice, select, split.
#include "ir/ops.h"
#include "ir/slicing.h"

namespace hocket::ops {

namespace {

// Dim `dim` removed at `index`.
Result<InferredType> selected(const Call& call, const TypeView& self, std::size_t dim, std::int64_t index) {
  HOCKET_TRY(InferredType part, strided_part(call, self, dim, Dim(index), Dim(1)));
  part.shape.dims.erase(part.shape.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  part.strides.dims.erase(part.strides.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return part;
}

Result<std::size_t> dim_argument(const Call& call, Dims shape, Param param, std::int64_t fallback) {
  HOCKET_TRY(const std::int64_t dim, call.integer_or(param, fallback));
  if (shape.empty()) return fail(ErrorKind::input, "a tensor without dims cannot be taken apart");
  return wrap_dim(dim, shape.size());
}

Result<Outputs> slice(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Slice part, slice_of(call, self.shape, 1));
  HOCKET_TRY(InferredType type, strided_part(call, self, part.dim, part.start, part.length, part.step));
  return one(std::move(type));
}

Result<Outputs> select(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {1, "dim"}, 0));
  HOCKET_TRY(const std::int64_t given, call.integer({2, "index"}));
  HOCKET_TRY(const std::int64_t index, wrap_index(given, self.shape[dim]));
  HOCKET_TRY(InferredType type, selected(call, self, dim, index));
  return one(std::move(type));
}

Result<Outputs> narrow(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {1, "dim"}, 0));
  HOCKET_TRY(std::int64_t start, call.integer({2, "start"}));
  HOCKET_TRY(const Dim length, call.dim({3, "length"}));
  const Dim size = self.shape[dim];
  if (start < 0 && !size.is_static()) return fail(cannot_infer("it narrows a symbolic size from its end"));
  if (start < 0) start += size.value();
  if (start < 0 ||
      (size.is_static() && (start > size.value() || (length.is_static() && length.value() > size.value() - start)))) {
    return fail(ErrorKind::input, "{} elements from {} on are out of range for dim {} of shape {}",
                call.symbols().to_string(length), start, dim, to_string(call, self.shape));
  }
  HOCKET_TRY(InferredType type, strided_part(call, self, dim, Dim(start), length));
  return one(std::move(type));
}

// Parts of these sizes, one after the other.
Result<Outputs> parts(const Call& call, const TypeView& self, std::size_t dim, Dims sizes) {
  Outputs outputs;
  Dim start = 0;
  for (const Dim size : sizes) {
    HOCKET_TRY(InferredType part, strided_part(call, self, dim, start, size));
    outputs.push_back(std::move(part));
    HOCKET_TRY(start, plus(call, start, size));
  }
  if (start != self.shape[dim]) {
    if (!start.is_static() || !self.shape[dim].is_static()) return fail(cannot_infer("split sizes are symbolic"));
    return fail(ErrorKind::input, "split sizes add up to {}, but dim {} has size {}", start.value(), dim,
                self.shape[dim].value());
  }
  return outputs;
}

// More parts than this are a mistake, not a program.
constexpr std::int64_t max_parts = 1 << 16;

// Parts of `size` elements, the last one what is left; at least one part.
Result<Outputs> equal_parts(const Call& call, const TypeView& self, std::size_t dim, std::int64_t size) {
  if (!self.shape[dim].is_static()) return fail(cannot_infer(fmt::format("it splits dim {} of symbolic size", dim)));
  std::int64_t left = self.shape[dim].value();
  if (size < 0 || (size == 0 && left != 0))
    return fail(ErrorKind::input, "a dim of size {} cannot be split into parts of {}", left, size);
  if (size > 0 && left / size > max_parts) return fail(ErrorKind::input, "a split into {} parts", left / size);
  Sizes sizes;
  do {
    sizes.emplace_back(std::min(left, size));
    left -= sizes.back().value();
  } while (left > 0);
  return parts(call, self, dim, sizes);
}

Result<Outputs> split(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {2, "dim"}, 0));
  const Arg* size_arg = call.find({1, "split_size"});
  if (size_arg != nullptr && size_arg->is(ArgKind::symbolic) && size_arg->as_symbolic() == self.shape[dim])
    return one(same(self));
  HOCKET_TRY(const std::int64_t size, call.integer({1, "split_size"}));
  return equal_parts(call, self, dim, size);
}

Result<Outputs> split_with_sizes(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Sizes sizes, call.dims({1, "split_sizes"}));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {2, "dim"}, 0));
  return parts(call, self, dim, sizes);
}

Result<Outputs> chunk(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t chunks, call.integer({1, "chunks"}));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {2, "dim"}, 0));
  if (chunks <= 0 || chunks > max_parts)
    return fail(ErrorKind::input, "argument 1 (chunks) is {}, expected a positive number", chunks);
  if (!self.shape[dim].is_static()) return fail(cannot_infer(fmt::format("it splits dim {} of symbolic size", dim)));
  const std::int64_t size = self.shape[dim].value();
  if (size == 0) return parts(call, self, dim, Sizes(static_cast<std::size_t>(chunks), Dim(0)));
  return equal_parts(call, self, dim, size / chunks + (size % chunks == 0 ? 0 : 1));
}

// As even as possible: the first parts are one longer.
Result<Outputs> tensor_split(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t sections, call.integer({1, "sections"}));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {2, "dim"}, 0));
  if (sections <= 0 || sections > max_parts)
    return fail(ErrorKind::input, "argument 1 (sections) is {}, expected a positive number", sections);
  if (!self.shape[dim].is_static()) return fail(cannot_infer(fmt::format("it splits dim {} of symbolic size", dim)));
  const std::int64_t size = self.shape[dim].value();
  Sizes sizes;
  for (std::int64_t i = 0; i < sections; ++i) sizes.emplace_back(size / sections + (i < size % sections ? 1 : 0));
  return parts(call, self, dim, sizes);
}

Result<Outputs> unbind(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::size_t dim, dim_argument(call, self.shape, {1, "dim"}, 0));
  if (!self.shape[dim].is_static())
    return fail(cannot_infer(fmt::format("it takes dim {} of symbolic size apart", dim)));
  if (self.shape[dim].value() > max_parts)
    return fail(ErrorKind::input, "unbind into {} parts", self.shape[dim].value());
  Outputs outputs;
  for (std::int64_t i = 0; i < self.shape[dim].value(); ++i) {
    HOCKET_TRY(InferredType part, selected(call, self, dim, i));
    outputs.push_back(std::move(part));
  }
  return outputs;
}

Result<Outputs> diagonal(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Diagonal part, diagonal_of(call, self.shape, 1));
  Sizes shape;
  Sizes strides;
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    if (i == part.dim1 || i == part.dim2) continue;
    shape.push_back(self.shape[i]);
    strides.push_back(self.strides[i]);
  }
  shape.emplace_back(part.length);
  HOCKET_TRY(const Dim step, plus(call, self.strides[part.dim1], self.strides[part.dim2]));
  strides.push_back(step);
  Dim offset = self.offset;
  if (part.length > 0) {  // an empty diagonal stays where the tensor begins
    const std::int64_t skip = part.offset >= 0 ? part.offset : -part.offset;
    HOCKET_TRY(const Dim skipped, times(call, Dim(skip), self.strides[part.offset >= 0 ? part.dim2 : part.dim1]));
    HOCKET_TRY(offset, plus(call, offset, skipped));
  }
  return one(typed(self.dtype, std::move(shape), std::move(strides), offset));
}

// Windows of `size` elements, `step` apart, as a last dim.
Result<Outputs> unfold(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t given, call.integer({1, "dimension"}));
  HOCKET_TRY(const Dim window, call.dim({2, "size"}));
  HOCKET_TRY(const std::int64_t step, call.integer({3, "step"}));
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, self.shape.size()));
  if (self.shape.empty()) return one(typed(self.dtype, {window}, {Dim(1)}, self.offset));
  if (!self.shape[dim].is_static() || !window.is_static()) return fail(cannot_infer("it unfolds symbolic sizes"));
  const std::int64_t size = window.value();
  const std::int64_t length = self.shape[dim].value();
  if (size > length || step <= 0) {
    return fail(ErrorKind::input, "windows of {} elements, {} apart, do not fit into dim {} of size {}", size, step,
                dim, length);
  }
  HOCKET_TRY(InferredType type, strided_part(call, self, dim, Dim(0), Dim((length - size) / step + 1), step));
  type.shape.dims.emplace_back(size);
  type.strides.dims.push_back(self.strides[dim]);
  return one(std::move(type));
}

}  // namespace

void add_part_ops(OpTable& table) {
  add_aten(table, {"slice.Tensor"}, view(slice));
  add_aten(table, {"select.int"}, view(select));
  add_aten(table, {"narrow"}, view(narrow));
  add_aten(table, {"narrow.Tensor"}, view(nullptr));
  add_aten(table, {"split.Tensor", "unsafe_split.Tensor"}, listed(view(split)));
  add_aten(table, {"split_with_sizes", "split.sizes", "unsafe_split_with_sizes"}, listed(view(split_with_sizes)));
  add_aten(table, {"chunk", "unsafe_chunk"}, listed(view(chunk)));
  add_aten(table, {"tensor_split.sections"}, listed(view(tensor_split)));
  add_aten(table, {"tensor_split.indices"}, listed(view(nullptr)));
  add_aten(table, {"unbind.int"}, listed(view(unbind)));
  add_aten(table, {"diagonal"}, view(diagonal));
  add_aten(table, {"unfold"}, view(unfold));
}

}  // namespace hocket::ops
