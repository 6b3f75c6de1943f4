// Operators that move elements without computing: clone, cat, padding, the inverses of views, FSDP's copies.
#include <algorithm>

#include "ir/ops.h"
#include "ir/pointwise.h"
#include "ir/slicing.h"

namespace hocket::ops {

namespace {

Result<Outputs> clone(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::preserve));
  HOCKET_TRY(InferredType type, cloned(call, self, self.dtype, format));
  return one(std::move(type));
}

// With the very strides of the first argument, gaps included, at the start of its storage.
Result<Outputs> restrided(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  return one(typed(self.dtype, copy_of(self.shape), copy_of(self.strides)));
}

// A copy of all that the storage holds, so that the first argument's place in it stays the same; a tensor that repeats
// elements is cloned.
Result<InferredType> storage_copied(const Call& call, const TypeView& self) {
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    if (self.strides[i] == Dim(0) && self.shape[i] != Dim(1)) return cloned(call, self, self.dtype);
  }
  return same(self);
}

Result<Outputs> copy(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(InferredType type, storage_copied(call, self));
  return one(std::move(type));
}

Result<Outputs> to_copy(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::optional<Dtype> dtype, call.dtype_keyword());
  HOCKET_TRY(const MemoryFormat format, memory_format(call, MemoryFormat::preserve));
  HOCKET_TRY(InferredType type, cloned(call, self, dtype.value_or(self.dtype), format));
  return one(std::move(type));
}

// ---- joining

// An empty 1-d tensor joins with anything: a habit from when PyTorch had no other empty tensors.
bool is_skipped_by_cat(const TypeView& type) { return type.shape.size() == 1 && type.shape[0] == Dim(0); }

Result<Outputs> cat(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors({0, "tensors"}));
  HOCKET_TRY(const std::int64_t given, call.integer_or({1, "dim"}, 0));
  if (tensors.empty())
    return fail(ErrorKind::input, "argument 0 (tensors) is an empty list, expected at least one tensor");
  const auto first = std::find_if_not(tensors.begin(), tensors.end(), is_skipped_by_cat);
  const TypeView& model = first == tensors.end() ? tensors[0] : *first;
  if (model.shape.empty()) return fail(ErrorKind::input, "tensors without dims cannot be joined");
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, model.shape.size()));

  Sizes shape = copy_of(model.shape);
  shape[dim] = 0;
  bool all_suggest = true;
  std::vector<Operand> operands;
  for (const TypeView& tensor : tensors) {
    operands.push_back({tensor, tensor.dtype});
    all_suggest = all_suggest && suggests_channels_last(tensor);
    if (is_skipped_by_cat(tensor)) continue;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool fits = tensor.shape.size() == shape.size() && (i == dim || tensor.shape[i] == shape[i]);
      if (!fits) {
        return fail(ErrorKind::input, "shapes {} and {} cannot be joined along dim {}: they differ in another dim",
                    to_string(call, model.shape), to_string(call, tensor.shape), dim);
      }
    }
    HOCKET_TRY(shape[dim], plus(call, shape[dim], tensor.shape[dim]));
  }
  HOCKET_TRY(Sizes strides, all_suggest ? channels_last(call, shape) : contiguous(call, shape));
  return one(typed(common_dtype(operands), std::move(shape), std::move(strides)));
}

Result<Outputs> stack(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors({0, "tensors"}));
  HOCKET_TRY(const std::int64_t given, call.integer_or({1, "dim"}, 0));
  if (tensors.empty())
    return fail(ErrorKind::input, "argument 0 (tensors) is an empty list, expected at least one tensor");
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, tensors[0].shape.size() + 1));
  std::vector<Operand> operands;
  if (suggests_channels_last(tensors[0]))
    return fail(cannot_infer("the layout of stacked channels-last tensors is not known"));
  for (const TypeView& tensor : tensors) {
    if (copy_of(tensor.shape) != copy_of(tensors[0].shape)) {
      return fail(ErrorKind::input, "shapes {} and {} cannot be stacked: they differ",
                  to_string(call, tensors[0].shape), to_string(call, tensor.shape));
    }
    operands.push_back({tensor, tensor.dtype});
  }
  Sizes shape = copy_of(tensors[0].shape);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Dim(static_cast<std::int64_t>(tensors.size())));
  HOCKET_TRY(InferredType type, dense(call, common_dtype(operands), std::move(shape)));
  return one(std::move(type));
}

// Each tensor padded to a multiple of `chunks` along dim, cut into chunks, flattened; chunk i of all beside each other.
Result<Outputs> chunk_cat(const Call& call) {
  HOCKET_TRY(const std::vector<TypeView> tensors, call.tensors({0, "tensors"}));
  HOCKET_TRY(const std::int64_t dim, call.integer({1, "dim"}));
  HOCKET_TRY(const std::int64_t chunks, call.integer({2, "num_chunks"}));
  if (tensors.empty() || chunks <= 0)
    return fail(ErrorKind::input, "chunk_cat needs tensors and a positive number of chunks");
  HOCKET_TRY(const std::size_t cut, wrap_dim(dim, tensors[0].shape.size()));
  Dim columns = 0;
  for (const TypeView& tensor : tensors) {
    if (cut >= tensor.shape.size())
      return fail(ErrorKind::input, "dim {} is out of range for shape {}", dim, to_string(call, tensor.shape));
    if (!tensor.shape[cut].is_static()) return fail(cannot_infer("it cuts a dim of symbolic size into chunks"));
    const std::int64_t size = tensor.shape[cut].value();
    const std::int64_t rows = size / chunks + (size % chunks == 0 ? 0 : 1);
    HOCKET_TRY(const Dim rest, product(call, tensor.shape.subspan(cut + 1)));
    HOCKET_TRY(const Dim width, times(call, Dim(rows), rest));
    HOCKET_TRY(columns, plus(call, columns, width));
  }
  Sizes shape = copy_of(tensors[0].shape.first(cut));
  shape.emplace_back(chunks);
  shape.push_back(columns);
  HOCKET_TRY(InferredType type, dense(call, tensors[0].dtype, std::move(shape)));
  return one(std::move(type));
}

// ---- repeating, padding

Result<Outputs> repeat(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const Sizes repeats, call.dims({1, "repeats"}));
  if (repeats.size() < self.shape.size()) {
    return fail(ErrorKind::input, "argument 1 (repeats) has {} numbers for a tensor of {} dims", repeats.size(),
                self.shape.size());
  }
  Sizes shape = repeats;
  const std::size_t added = repeats.size() - self.shape.size();
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    HOCKET_TRY(shape[added + i], times(call, repeats[added + i], self.shape[i]));
  }
  HOCKET_TRY(InferredType type, dense(call, self.dtype, std::move(shape)));
  return one(std::move(type));
}

// pad lists (before, after) from the last dim on; negative numbers cut.
Result<Outputs> constant_pad(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const std::vector<std::int64_t> pad, call.integers({1, "pad"}));
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.shape.size()) {
    return fail(ErrorKind::input,
                "argument 1 (pad) has {} numbers for a tensor of {} dims, expected a pair for each padded dim",
                pad.size(), self.shape.size());
  }
  Sizes shape = copy_of(self.shape);
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& size = shape[shape.size() - 1 - i];
    for (const std::int64_t amount : {pad[2 * i], pad[2 * i + 1]}) {
      if (amount > Dim::max || amount < -Dim::max)
        return fail(ErrorKind::input, "argument 1 (pad) has the number {}", amount);
      HOCKET_TRY(size, amount >= 0 ? plus(call, size, Dim(amount)) : minus(call, size, Dim(-amount)));
    }
  }
  HOCKET_TRY(InferredType type, in_format_of(call, self, self.dtype, std::move(shape)));
  return one(std::move(type));
}

// ---- what was a view, written back

// The gradient of a view: zeros of `input_sizes` with the gradient in its place.
Result<Outputs> view_backward(const Call& call) {
  HOCKET_TRY(const TypeView grad, call.tensor(0));
  HOCKET_TRY(Sizes shape, call.dims({1, "input_sizes"}));
  HOCKET_TRY(InferredType type, dense(call, grad.dtype, std::move(shape)));
  return one(std::move(type));
}

Status check_fits(const Call& call, const TypeView& source, Dims place) {
  if (copy_of(source.shape) == copy_of(place) || !all_static(source.shape) || !all_static(place)) return {};
  HOCKET_TRY(const Sizes common, broadcast(call, source.shape, place));
  if (common == copy_of(place)) return {};
  return fail(ErrorKind::input, "a source of shape {} does not fit into a place of shape {}",
              to_string(call, source.shape), to_string(call, place));
}

Result<Outputs> slice_scatter(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView source, call.tensor(1));
  const auto slice = slice_of(call, self.shape, 2);
  if (slice) {
    Sizes place = copy_of(self.shape);
    place[slice->dim] = slice->length;
    HOCKET_CHECK(check_fits(call, source, place));
  } else if (!is_cannot_infer(slice.error())) {
    return fail(slice.error());
  }
  HOCKET_TRY(InferredType type, storage_copied(call, self));
  return one(std::move(type));
}

Result<Outputs> select_scatter(const Call& call) {
  HOCKET_TRY(const TypeView self, call.tensor(0));
  HOCKET_TRY(const TypeView source, call.tensor(1));
  HOCKET_TRY(const std::int64_t given, call.integer({2, "dim"}));
  HOCKET_TRY(const std::size_t dim, wrap_dim(given, self.shape.size()));
  Sizes place = copy_of(self.shape);
  if (!place.empty()) place.erase(place.begin() + static_cast<std::ptrdiff_t>(dim));
  HOCKET_CHECK(check_fits(call, source, place));
  HOCKET_TRY(InferredType type, storage_copied(call, self));
  return one(std::move(type));
}

// ---- FSDP

// Copies this rank's inputs to their place in the gathered buffer; gives that place and the buffer.
Result<Outputs> all_gather_copy_in(const Call& call) {
  HOCKET_TRY(const TypeView buffer, call.tensor({1, "all_gather_output"}));
  HOCKET_TRY(const Dim elements, call.dim({3, "all_gather_input_numel"}));
  HOCKET_TRY(const Dim rank, call.dim({4, "rank"}));
  if (buffer.shape.size() != 1)
    return fail(ErrorKind::input, "argument 1 (all_gather_output) has shape {}, expected one dim",
                to_string(call, buffer.shape));
  HOCKET_TRY(const Dim start, times(call, elements, rank));
  HOCKET_TRY(InferredType own, strided_part(call, buffer, 0, start, elements));
  Outputs outputs = one(std::move(own));
  outputs.push_back(same(buffer));
  return outputs;
}

void add_fsdp(OpTable& table) {
  OpSpec copy_in = fresh(all_gather_copy_in);
  copy_in.effects.alias = Alias::first;
  copy_in.effects.alias_arg = 1;
  copy_in.effects.mutates = 1U << 1;
  add_rows(table, "fsdp", {"all_gather_copy_in"}, copy_in);

  OpSpec into_out = fresh(no_tensors);
  into_out.effects.mutates_out = true;
  add_rows(table, "fsdp", {"split_with_sizes_copy", "chunk_cat"}, into_out);
  add_aten(table, {"split_with_sizes_copy.out"}, into_out);

  OpSpec copy = fresh(no_tensors);
  copy.effects.mutates = 1;
  add_rows(table, "fsdp", {"copy_"}, copy);

  OpSpec resize = with_side_effect(fresh(no_tensors));
  resize.effects.mutates = 1;
  resize.metadata_only = true;
  add_rows(table, "inductor", {"resize_storage_bytes_"}, resize);
}

// They give a tensor another storage or size: what aliases what is not known afterwards.
void add_storage_changes(OpTable& table) {
  OpSpec row = with_side_effect(in_place());
  row.shape = nullptr;
  row.effects.opaque = true;
  row.metadata_only = true;
  add_aten(table,
           {"set_", "set_.source_Tensor", "set_.source_Storage", "set_.source_Storage_storage_offset",
            "set_.source_Tensor_storage_offset", "resize_", "resize_as_"},
           row);
  add_rows(table, "prims", {"resize"}, row);
  OpSpec accumulate = row;
  accumulate.metadata_only = false;
  add_rows(table, "inductor", {"accumulate_grad_"}, accumulate);
}

}  // namespace

void add_copy_ops(OpTable& table) {
  add_aten(table, {"clone"}, fresh(clone));
  add_rows(table, "prims", {"clone"}, fresh(clone));
  add_aten(table, {"_to_copy"}, fresh(to_copy));
  add_rows(table, "prims", {"device_put"}, fresh(restrided));
  add_aten(table, {"copy"}, fresh(copy));
  add_aten(table, {"fill.Scalar", "fill.Tensor", "zero", "flip"}, fresh(like_first));
  add_aten(table, {"tril", "triu", "roll", "lift_fresh_copy", "alias_copy", "detach_copy"}, fresh(dense_like_first));
  add_aten(table, {"copy_", "fill_.Scalar", "fill_.Tensor", "zero_", "tril_", "triu_"}, in_place());
  add_rows(table, "prims", {"copy_to"}, in_place());

  add_aten(table, {"cat", "concat", "concatenate"}, fresh(cat));
  add_rows(table, "prims", {"cat"}, fresh(cat));
  add_aten(table, {"stack"}, fresh(stack));
  add_aten(table, {"_chunk_cat"}, fresh(chunk_cat));
  add_aten(table, {"repeat"}, fresh(repeat));
  add_aten(table, {"constant_pad_nd"}, fresh(constant_pad));
  add_aten(table, {"slice_scatter"}, fresh(slice_scatter));
  add_aten(table, {"select_scatter"}, fresh(select_scatter));
  add_aten(table, {"diagonal_scatter", "as_strided_scatter"}, fresh(copy));
  add_aten(table, {"select_backward", "slice_backward", "diagonal_backward", "unfold_backward"}, fresh(view_backward));

  // Known effects; their types come from the capture.
  add_aten(table,
           {"view_copy",
            "view_copy.dtype",
            "permute_copy",
            "slice_copy.Tensor",
            "select_copy.int",
            "expand_copy",
            "squeeze_copy",
            "squeeze_copy.dim",
            "squeeze_copy.dims",
            "unsqueeze_copy",
            "transpose_copy.int",
            "t_copy",
            "as_strided_copy",
            "diagonal_copy",
            "unfold_copy",
            "view_as_real_copy",
            "view_as_complex_copy",
            "_conj_copy",
            "_neg_view_copy",
            "pad",
            "reflection_pad1d",
            "reflection_pad2d",
            "reflection_pad2d_backward",
            "reflection_pad3d",
            "replication_pad2d",
            "replication_pad3d",
            "replication_pad2d_backward",
            "tile",
            "repeat_interleave.Tensor",
            "repeat_interleave.self_Tensor",
            "repeat_interleave.self_int",
            "value_selecting_reduction_backward",
            "masked_scatter_backward",
            "type_as",
            "rot90",
            "kron"},
           fresh());
  add_aten(table, {"split_copy.Tensor", "split_with_sizes_copy", "unbind_copy.int"}, listed(fresh()));
  add_rows(table, "prims",
           {"reshape", "rev", "copy_strided", "collapse", "as_strided_scatter", "inductor_force_stride_order"},
           fresh());
  add_fsdp(table);
  add_storage_changes(table);
}

}  // namespace hocket::ops
