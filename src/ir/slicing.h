// Views that select a part of a tensor along one dim, and what their inverse operators share with them.
#pragma once

#include "ir/layout.h"

namespace hocket::ops {

// The view with `length` elements of `dim` from `start` on, `step` apart.
Result<InferredType> strided_part(const Call& call, const TypeView& type, std::size_t dim, Dim start, Dim length,
                                  std::int64_t step = 1);

// A slice as Python means it: bounds count from the end if negative, and are cut to the tensor.
struct Slice {
  std::size_t dim = 0;
  Dim start = 0;
  Dim length = 0;
  std::int64_t step = 1;
};
// Of a call whose parameters dim, start, end, step begin at position `first`.
Result<Slice> slice_of(const Call& call, Dims shape, std::size_t first);

// An index into a dim, counted from the end if negative.
Result<std::int64_t> wrap_index(std::int64_t index, Dim size);

// The diagonal of two dims.
struct Diagonal {
  std::size_t dim1 = 0;
  std::size_t dim2 = 1;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};
Result<Diagonal> diagonal_of(const Call& call, Dims shape, std::size_t first);

// The shape that a call asks for at `param`, where one size may be -1, for a tensor of `elements` elements.
Result<Sizes> wanted_shape(const Call& call, Param param, Dim elements);

}  // namespace hocket::ops
