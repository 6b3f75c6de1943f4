#include <algorithm>

#include "ir/layout.h"

namespace hocket::ops {

namespace {

// Walks from the fastest dims: a run of old dims that steps over memory evenly is one chunk; new dims must fill chunks exactly.
Result<std::optional<Sizes>> strides_by_chunks(const Call& call, const TypeView& type, Dims shape) {
  Sizes strides(shape.size(), Dim(1));
  std::size_t next = shape.size();  // new dims from here on have their strides
  for (std::size_t end = type.shape.size(); end > 0;) {
    std::size_t begin = end - 1;
    Dim chunk = type.shape[begin];
    const Dim step = type.strides[begin];
    while (begin > 0) {
      HOCKET_TRY(const Dim reach, times(call, chunk, step));
      if (type.shape[begin - 1] != Dim(1) && type.strides[begin - 1] != reach) break;
      HOCKET_TRY(chunk, times(call, chunk, type.shape[begin - 1]));
      --begin;
    }
    Dim filled = 1;
    while (next > 0 && (filled != chunk || shape[next - 1] == Dim(1))) {
      HOCKET_TRY(strides[next - 1], times(call, filled, step));
      HOCKET_TRY(filled, times(call, filled, shape[next - 1]));
      --next;
      if (filled.is_static() && chunk.is_static() && filled.value() > chunk.value()) return std::nullopt;
    }
    if (filled != chunk) return std::nullopt;
    end = begin;
  }
  if (next != 0) return std::nullopt;
  return strides;
}

// The same strides, but for dims of size 1, where any stride would do: there captures show what PyTorch's tracing gives,
// which goes from the slowest dim on, keeps each dim that has the wanted size already, and else joins and splits.
std::optional<Sizes> strides_as_traced(const TypeView& type, Dims shape) {
  struct Piece {
    std::int64_t size;
    std::int64_t stride;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < type.shape.size(); ++i)
    pieces.push_back({type.shape[i].value(), type.strides[i].value()});
  Sizes strides;
  std::size_t next = 0;
  for (const Dim wanted : shape) {
    if (next == pieces.size()) {  // only dims of size 1 are left to make
      strides.emplace_back(pieces.back().stride);
      continue;
    }
    Piece piece = pieces[next++];
    while (piece.size % wanted.value() != 0) {
      if (next == pieces.size()) return std::nullopt;
      const Piece joined = pieces[next++];
      if (piece.size == 1) piece.stride = joined.stride;
      else if (joined.size != 1) piece.stride = std::min(piece.stride, joined.stride);
      if (__builtin_mul_overflow(piece.size, joined.size, &piece.size)) return std::nullopt;
    }
    const std::int64_t inner = piece.size / wanted.value();
    std::int64_t outer_stride = 0;
    if (__builtin_mul_overflow(piece.stride, inner, &outer_stride)) return std::nullopt;
    strides.emplace_back(outer_stride);
    if (inner != 1) pieces[--next] = {inner, piece.stride};
  }
  return strides;
}

}  // namespace

Result<std::optional<Sizes>> viewed_strides(const Call& call, const TypeView& type, Dims shape) {
  const bool one_flat = (shape.size() == 1 && type.shape.size() > 1) || (shape.size() == 2 && type.shape.size() == 1);
  const bool symbolic = !all_static(type.shape) || !all_static(shape);
  if (is_empty(type.shape) || type.shape.empty() || ((one_flat || symbolic) && is_contiguous(call, type))) {
    HOCKET_TRY(Sizes strides, contiguous(call, shape));
    return strides;
  }
  HOCKET_TRY(auto strides, strides_by_chunks(call, type, shape));
  if (!strides || !all_static(type.shape) || !all_static(type.strides) || !all_static(shape)) return strides;
  auto traced = strides_as_traced(type, shape);
  return traced ? std::move(traced) : std::move(strides);
}

}  // namespace hocket::ops
