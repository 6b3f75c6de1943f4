// Operators whose results share the storage of their first argument.
#include <algorithm>

#include "ir/ops.h"
#include "ir/pointwise.h"
#include "ir/slicing.h"

namespace hocket::ops {

namespace {

// ---- other shapes over the same elements

Result<Outputs> viewed_as(const Call& call, const TypeView& self, Sizes shape) {
  HOCKET_TRY(auto strides, viewed_strides(call, self, shape));
  if (!strides) {
    return fail(ErrorKind::input,
                "a tensor of shape {} and strides {} has no view of shape {}; use reshape, which copies",
                to_string(call, self.shape), to_string(call, self.strides), to_string(call, shape));
  }
  return one(typed(self.dtype, std::move(shape), std::move(*strides), self.offset));
}

Result<Outputs> reshaped_to(const Call& call, const TypeView& self, Sizes shape) {
  HOCKET_TRY(auto strides, viewed_strides(call, self, shape));
  if (strides) return one(typed(self.dtype, std::move(shape), std::move(*strides), self.offset));
  HOCKET_TRY(InferredType copy, dense(call, self.dtype, std::move(shape)));
  copy.copied = true;
  return one(std::move(copy));
}

Result<Sizes> shape_argument(const Call& call, const TypeView& self) {
  HOCKET_TRY(const Dim elements, product(call, self.shape));
  return wanted_shape(call, {1, "size"}, elements);
}

Result<Outputs> view_shape(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, shape_argument(call, self));
  return viewed_as(call, self, std::move(shape));
}

Result<Outputs> view_as(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView other, call.tensor(1));
  return viewed_as(call, self, copy_of(other.shape));
}

Result<Outputs> reshape(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, shape_argument(call, self));
  return reshaped_to(call, self, std::move(shape));
}

// Dims from `first` to `last` in one.
Result<Sizes> flattened(const Call& call, Dims shape, std::size_t first, std::size_t last) {
  if (shape.empty()) return Sizes{Dim(1)};
  if (first > last) return fail(ErrorKind::input, "cannot flatten from dim {} to dim {}", first, last);
  Sizes flat = copy_of(shape.first(first));
  HOCKET_TRY(const Dim joined, product(call, shape.subspan(first, last - first + 1)));
  flat.push_back(joined);
  const Sizes rest = copy_of(shape.subspan(last + 1));
  flat.insert(flat.end(), rest.begin(), rest.end());
  return flat;
}

Result<Outputs> flatten(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t start, call.integer_or({1, "start_dim"}, 0));
  HOCKET_TRY(const std::int64_t end, call.integer_or({2, "end_dim"}, -1));
  HOCKET_TRY(const std::size_t first, wrap_dim(start, self.shape.size()));
  HOCKET_TRY(const std::size_t last, wrap_dim(end, self.shape.size()));
  HOCKET_TRY(Sizes shape, flattened(call, self.shape, first, last));
  return reshaped_to(call, self, std::move(shape));
}

Result<Outputs> contiguous_shape(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::contiguous));
  const bool fits = format == MemoryFormat::contiguous ? is_contiguous(call, self) : is_channels_last(call, self);
  if (fits) return one(same(self));
  HOCKET_TRY(InferredType copy, cloned(call, self, self.dtype, format));
  copy.copied = true;
  return one(std::move(copy));
}

// A copy only if the dtype changes or it is asked for.
Result<Outputs> to_dtype(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Dtype dtype, dtype_argument(call, {1, "dtype"}));
  HOCKET_TRY(const bool copies, call.boolean_or({3, "copy"}, false));
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::preserve));
  if (dtype == self.dtype && !copies && format == MemoryFormat::preserve) return one(same(self));
  HOCKET_TRY(InferredType copy, cloned(call, self, dtype, format));
  copy.copied = true;
  return one(std::move(copy));
}

// ---- dims in another order, added or removed

Result<Outputs> with_dims(const TypeView& self, std::span<const std::size_t> dims) {
  Sizes shape;
  Sizes strides;
  for (const std::size_t dim : dims) {
    shape.push_back(self.shape[dim]);
    strides.push_back(self.strides[dim]);
  }
  return one(typed(self.dtype, std::move(shape), std::move(strides), self.offset));
}

Result<Outputs> permute(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::vector<std::int64_t> dims, call.integers({1, "dims"}));
  if (dims.size() != self.shape.size()) {
    return fail(ErrorKind::input, "argument 1 (dims) names {} dims, but the tensor has {}", dims.size(),
                self.shape.size());
  }
  HOCKET_TRY(const std::vector<std::size_t> order, wrap_dims(dims, self.shape.size()));
  return with_dims(self, order);
}

Result<Outputs> swapped(const TypeView& self, std::int64_t dim0, std::int64_t dim1) {
  HOCKET_TRY(const std::size_t a, wrap_dim(dim0, self.shape.size()));
  HOCKET_TRY(const std::size_t b, wrap_dim(dim1, self.shape.size()));
  InferredType type = same(self);
  if (self.shape.empty()) return one(std::move(type));
  std::swap(type.shape.dims[a], type.shape.dims[b]);
  std::swap(type.strides.dims[a], type.strides.dims[b]);
  return one(std::move(type));
}

Result<Outputs> transpose(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t dim0, call.integer({1, "dim0"}));
  HOCKET_TRY(const std::int64_t dim1, call.integer({2, "dim1"}));
  return swapped(self, dim0, dim1);
}

Result<Outputs> transpose_matrix(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  if (self.shape.size() > 2)
    return fail(ErrorKind::input, "t expects at most 2 dims, got shape {}", to_string(call, self.shape));
  return self.shape.size() < 2 ? Result<Outputs>(one(same(self))) : swapped(self, 0, 1);
}

Result<Outputs> transpose_last(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return self.shape.empty() ? Result<Outputs>(one(same(self))) : swapped(self, -2, -1);
}

Result<Outputs> unsqueeze(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t dim, call.integer({1, "dim"}));
  HOCKET_TRY(const std::size_t at, wrap_dim(dim, self.shape.size() + 1));
  InferredType type = same(self);
  Dim step = 1;
  if (at < self.shape.size()) {
    HOCKET_TRY(step, times(call, self.shape[at], self.strides[at]));
  }
  type.shape.dims.insert(type.shape.dims.begin() + static_cast<std::ptrdiff_t>(at), Dim(1));
  type.strides.dims.insert(type.strides.dims.begin() + static_cast<std::ptrdiff_t>(at), step);
  return one(std::move(type));
}

// Without those of the named dims that have size 1; without all of size 1 where none is named.
Result<Outputs> squeeze(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  std::vector<std::size_t> named(self.shape.size());
  for (std::size_t i = 0; i < named.size(); ++i) named[i] = i;
  if (call.has({1, "dim"})) {
    HOCKET_TRY(const std::vector<std::int64_t> dims, call.integers({1, "dim"}));
    HOCKET_TRY(named, wrap_dims(dims, self.shape.size()));
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    const bool goes = self.shape[i] == Dim(1) && std::find(named.begin(), named.end(), i) != named.end();
    if (!goes) kept.push_back(i);
  }
  return with_dims(self, kept);
}

Result<Outputs> expanded_to(const Call& call, const TypeView& self, const std::vector<std::optional<Dim>>& sizes) {
  if (sizes.size() < self.shape.size()) {
    return fail(ErrorKind::input, "cannot expand {} dims to {}", self.shape.size(), sizes.size());
  }
  const std::size_t added = sizes.size() - self.shape.size();
  Sizes shape(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i] && i < added)
      return fail(ErrorKind::input, "size {} of the expanded shape is -1, but the tensor has no such dim", i);
    const Dim own = i < added ? Dim(1) : self.shape[i - added];
    shape[i] = sizes[i].value_or(own);
    if (shape[i] == own || own == Dim(1)) continue;
    if (!own.is_static() || !shape[i].is_static()) {
      return fail(cannot_infer(fmt::format("dim {} of size {} is expanded", i, call.symbols().to_string(own))));
    }
    return fail(ErrorKind::input, "dim {} of size {} cannot be expanded to {}: only size 1 can", i, own.value(),
                shape[i].value());
  }
  HOCKET_TRY(Sizes strides, expanded_strides(call, self, shape));
  return one(typed(self.dtype, std::move(shape), std::move(strides), self.offset));
}

Result<Outputs> expand(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  const Arg* list = call.find({1, "size"});
  if (list == nullptr || !list->is(ArgKind::list))
    return fail(ErrorKind::input, "argument 1 (size) is missing or no list of sizes");
  std::vector<std::optional<Dim>> sizes;
  for (const Arg& element : call.pool().elements(*list)) {
    if (element.is(ArgKind::integer) && element.as_integer() == -1) {
      sizes.emplace_back(std::nullopt);
      continue;
    }
    HOCKET_TRY(const Dim size, call.dim(element, fmt::format("element {} of argument 1 (size)", sizes.size())));
    sizes.emplace_back(size);
  }
  return expanded_to(call, self, sizes);
}

Result<Outputs> expand_as(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView other, call.tensor(1));
  return expanded_to(call, self, std::vector<std::optional<Dim>>(other.shape.begin(), other.shape.end()));
}

// prims: dim i of the argument becomes dim broadcast_dimensions[i]; all others repeat it.
Result<Outputs> broadcast_in_dim(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, call.dims({1, "shape"}));
  HOCKET_TRY(const std::vector<std::int64_t> places, call.integers({2, "broadcast_dimensions"}));
  if (places.size() != self.shape.size())
    return fail(ErrorKind::input, "argument 2 names {} dims for a tensor of {}", places.size(), self.shape.size());
  HOCKET_TRY(const std::vector<std::size_t> dims, wrap_dims(places, shape.size()));
  Sizes strides(shape.size(), Dim(0));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (self.shape[i] == shape[dims[i]]) strides[dims[i]] = self.strides[i];
    else if (self.shape[i] != Dim(1))
      return fail(ErrorKind::input, "dim {} of shape {} does not broadcast", i, to_string(call, self.shape));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {  // an added dim of size 1 steps over the argument's next one
    if (std::find(dims.begin(), dims.end(), i) != dims.end() || shape[i] != Dim(1)) continue;
    const auto next = std::find_if(dims.begin(), dims.end(), [&](std::size_t dim) { return dim > i; });
    strides[i] = 1;
    if (next != dims.end()) {
      const auto own = static_cast<std::size_t>(next - dims.begin());
      HOCKET_TRY(strides[i], times(call, self.shape[own], self.strides[own]));
    }
  }
  return one(typed(self.dtype, std::move(shape), std::move(strides), self.offset));
}

// ---- other elements of the same storage

Result<Outputs> as_strided(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(Sizes shape, call.dims({1, "size"}));
  HOCKET_TRY(Sizes strides, call.dims({2, "stride"}));
  if (shape.size() != strides.size())
    return fail(ErrorKind::input, "{} sizes but {} strides", shape.size(), strides.size());
  Dim offset = self.offset;
  if (call.has({3, "storage_offset"})) {
    HOCKET_TRY(offset, call.dim({3, "storage_offset"}));
  }
  return one(typed(self.dtype, std::move(shape), std::move(strides), offset));
}

Result<Outputs> view_as_real(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  if (!is_complex(self.dtype))
    return fail(ErrorKind::input, "argument 0 is {}, expected a complex tensor", short_name(self.dtype));
  InferredType type = same(self);
  type.dtype = result_dtype(ResultDtype::magnitude, self.dtype);
  for (Dim& stride : type.strides.dims) {
    HOCKET_TRY(stride, times(call, stride, Dim(2)));
  }
  type.shape.dims.emplace_back(2);
  type.strides.dims.emplace_back(1);
  HOCKET_TRY(type.offset, times(call, self.offset, Dim(2)));
  return one(std::move(type));
}

Result<Outputs> view_as_complex(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  if (self.shape.empty() || self.shape.back() != Dim(2) || self.strides.back() != Dim(1)) {
    return fail(ErrorKind::input,
                "view_as_complex needs a last dim of size 2 and stride 1, got shape {} and strides {}",
                to_string(call, self.shape), to_string(call, self.strides));
  }
  InferredType type = same(self);
  type.dtype = result_dtype(ResultDtype::complex, self.dtype);
  type.shape.dims.pop_back();
  type.strides.dims.pop_back();
  for (Dim& stride : type.strides.dims) {
    HOCKET_TRY(stride, divided(call, stride, 2, "a stride of the tensor to view as complex"));
  }
  HOCKET_TRY(type.offset, divided(call, self.offset, 2, "the offset of the tensor to view as complex"));
  return one(std::move(type));
}

template <std::int64_t part>  // 0: real, 1: imaginary
Result<Outputs> part_of_complex(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  if (!is_complex(self.dtype)) return one(same(self));
  HOCKET_TRY(Outputs pairs, view_as_real(call));
  pairs[0].shape.dims.pop_back();
  pairs[0].strides.dims.pop_back();
  HOCKET_TRY(pairs[0].offset, plus(call, pairs[0].offset, Dim(part)));
  return pairs;
}

// The same bytes read as another dtype: the last dim grows or shrinks with the element's size.
Result<Outputs> view_dtype(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Dtype dtype, dtype_argument(call, {1, "dtype"}));
  InferredType type = same(self);
  type.dtype = dtype;
  const int from = size_of(self.dtype);
  const int to = size_of(type.dtype);
  if (from == to) return one(std::move(type));
  if (self.shape.empty() || self.strides.back() != Dim(1)) {
    return fail(ErrorKind::input, "a view as a dtype of another size needs a last dim of stride 1, got strides {}",
                to_string(call, self.strides));
  }
  const auto scaled = [&](Dim dim, std::string_view what) -> Result<Dim> {
    return from > to ? times(call, dim, Dim(from / to)) : divided(call, dim, to / from, what);
  };
  HOCKET_TRY(type.shape.dims.back(), scaled(self.shape.back(), "the last dim"));
  for (std::size_t i = 0; i + 1 < self.strides.size(); ++i) {
    HOCKET_TRY(type.strides.dims[i], scaled(self.strides[i], "a stride"));
  }
  HOCKET_TRY(type.offset, scaled(self.offset, "the offset"));
  return one(std::move(type));
}

// prims: the dims from start to end in one.
Result<Outputs> collapse_view(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::int64_t start, call.integer({1, "start"}));
  HOCKET_TRY(const std::int64_t end, call.integer({2, "end"}));
  HOCKET_TRY(const std::size_t first, wrap_dim(start, self.shape.size()));
  HOCKET_TRY(const std::size_t last, wrap_dim(end, self.shape.size()));
  HOCKET_TRY(Sizes shape, flattened(call, self.shape, first, last));
  return viewed_as(call, self, std::move(shape));
}

}  // namespace

void add_view_ops(OpTable& table) {
  add_aten(table, {"view", "_unsafe_view"}, view(view_shape));
  add_aten(table, {"view_as"}, view(view_as));
  add_aten(table, {"reshape"}, view_or_copy(reshape));
  add_aten(table, {"flatten.using_ints"}, view_or_copy(flatten));
  add_aten(table, {"contiguous"}, view_or_copy(contiguous_shape));
  add_aten(table, {"to.dtype"}, view_or_copy(to_dtype));
  add_aten(table, {"to.device", "to.dtype_layout", "to.other", "resolve_conj", "resolve_neg", "reshape_as"},
           view_or_copy(nullptr));
  add_aten(table, {"alias", "detach", "lift_fresh", "lift", "_conj", "_neg_view", "positive"}, view(unchanged));
  add_aten(table, {"permute"}, view(permute));
  add_aten(table, {"transpose.int", "swapaxes", "swapdims"}, view(transpose));
  add_aten(table, {"t"}, view(transpose_matrix));
  add_aten(table, {"mT"}, view(transpose_last));
  add_aten(table, {"unsqueeze"}, view(unsqueeze));
  add_aten(table, {"squeeze", "squeeze.dim", "squeeze.dims"}, view(squeeze));
  add_aten(table, {"expand"}, view(expand));
  add_aten(table, {"expand_as"}, view(expand_as));
  add_aten(table, {"as_strided", "_reshape_alias"}, view(as_strided));
  add_aten(table, {"view_as_real"}, view(view_as_real));
  add_aten(table, {"view_as_complex"}, view(view_as_complex));
  add_aten(table, {"real"}, view(part_of_complex<0>));
  add_aten(table, {"imag"}, view(part_of_complex<1>));
  add_aten(table, {"view.dtype"}, view(view_dtype));
  add_aten(table, {"movedim.int", "movedim.intlist", "unflatten.int", "adjoint", "_nested_view_from_jagged"},
           view(nullptr));

  add_rows(table, "prims", {"transpose"}, view(permute));
  add_rows(table, "prims", {"squeeze"}, view(squeeze));
  add_rows(table, "prims", {"broadcast_in_dim"}, view(broadcast_in_dim));
  add_rows(table, "prims", {"view_of", "conj"}, view(unchanged));
  add_rows(table, "prims", {"view_of_dtype"}, view(view_dtype));
  add_rows(table, "prims", {"collapse_view"}, view(collapse_view));
  add_rows(table, "prims", {"split_dim", "as_strided"}, view(nullptr));
  add_rows(table, "inductor", {"_reinterpret_tensor", "_alloc_from_pool"}, view(nullptr));

  // They change what their argument is, not what it holds: nothing that reads it may move across.
  add_aten(table, {"squeeze_", "squeeze_.dim", "squeeze_.dims"}, with_side_effect(in_place(squeeze)));
  add_aten(table, {"unsqueeze_"}, with_side_effect(in_place(unsqueeze)));
  add_aten(table, {"transpose_"}, with_side_effect(in_place(transpose)));
  add_aten(table, {"t_"}, with_side_effect(in_place(transpose_matrix)));
  add_aten(table, {"as_strided_"}, with_side_effect(in_place(as_strided)));
  add_aten(table, {"detach_"}, with_side_effect(in_place()));
}

}  // namespace hocket::ops
