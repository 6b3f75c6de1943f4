// Layouts of results: which strides PyTorch gives them, as its tracing does it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/sizes.h"

namespace hocket::ops {

enum class MemoryFormat : std::uint8_t { preserve, contiguous, channels_last, channels_last_3d };
Result<MemoryFormat> memory_format(const Call& call, MemoryFormat fallback);

Result<Sizes> contiguous(const Call& call, Dims shape);
Result<Sizes> channels_last(const Call& call, Dims shape);  // rank 4 or 5: channels vary fastest

bool is_contiguous(const Call& call, const TypeView& type);
bool is_channels_last(const Call& call, const TypeView& type);
// Do the strides rank the dims as a channels-last layout does? Then what is computed from it is laid out so, too.
bool suggests_channels_last(const TypeView& type);

// Is there an order of its dims in which the tensor is contiguous? No answer for symbolic strides that are not contiguous.
Result<bool> is_dense(const Call& call, const TypeView& type);

// Dims from slowest to fastest, as the operands' strides rank them; the first operand with an opinion on two dims wins.
// Strides of 0 are no opinion. Each operand's strides have the rank of `shape`.
Result<std::vector<std::size_t>> slowest_first(const Call& call, Dims shape, std::span<const Sizes> operand_strides);

// Strides of a dense tensor with its dims in that order.
Result<Sizes> strides_in_order(const Call& call, Dims shape, std::span<const std::size_t> slowest_first);

// The tensor's strides as one of the shape that it broadcasts to: 0 for dims that it repeats.
Result<Sizes> expanded_strides(const Call& call, const TypeView& type, Dims shape);

// Strides of what a pointwise operator makes of its operands, which broadcast to `shape`.
Result<Sizes> pointwise_strides(const Call& call, Dims shape, std::span<const TypeView> operands);

// Strides of a clone: the tensor's own where it is dense, else dense in the same order of dims.
Result<Sizes> cloned_strides(const Call& call, const TypeView& type, MemoryFormat format = MemoryFormat::preserve);

// Strides of a view with another shape over the same elements in the same order; nothing where only a copy can have it.
Result<std::optional<Sizes>> viewed_strides(const Call& call, const TypeView& type, Dims shape);

// ---- results

InferredType typed(Dtype dtype, Sizes shape, Sizes strides, Dim offset = 0);
InferredType same(const TypeView& type);  // the argument itself
Result<InferredType> dense(const Call& call, Dtype dtype, Sizes shape);
// With the shape of `type`: in the layout of a pointwise result (empty_like) or of a clone.
// The two differ where dims of size 1 have odd strides: only a clone keeps those.
Result<InferredType> like(const Call& call, const TypeView& type, Dtype dtype,
                          MemoryFormat format = MemoryFormat::preserve);
Result<InferredType> cloned(const Call& call, const TypeView& type, Dtype dtype,
                            MemoryFormat format = MemoryFormat::preserve);
// The same elements, contiguous; strides stay as they are where that is the case already.
Result<InferredType> made_contiguous(const Call& call, InferredType type);
// In the given shape: channels last if `model` suggests it, else contiguous.
Result<InferredType> in_format_of(const Call& call, const TypeView& model, Dtype dtype, Sizes shape);

inline Outputs one(InferredType type) {
  Outputs outputs;
  outputs.push_back(std::move(type));
  return outputs;
}

}  // namespace hocket::ops
