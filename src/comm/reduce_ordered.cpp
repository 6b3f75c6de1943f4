#include "comm/reduce_kernels.h"
#include "comm/reduce_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce_ordered.cpp"
#include <hwy/foreach_target.h>
// after the line above
#include <hwy/highway.h>

#include "comm/reduce_tree_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

template <class Integer>
void reduce_integer(const Reduction& reduction, const Range& range) {
  using Format = Plain<Integer>;
  switch (reduction.op) {
    case ReduceOp::min: return reduce_by<Format>(Min(), range);
    case ReduceOp::max: return reduce_by<Format>(Max(), range);
    default: return reduce_by<Format>(IntegerAverage(reduction.ranks), range);
  }
}

void ordered_of_target(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                       std::size_t count) {
  const Range range{sources, first, output, count};
  switch (reduction.dtype) {
    case Dtype::i64: return reduce_integer<std::int64_t>(reduction, range);
    case Dtype::i32: return reduce_integer<std::int32_t>(reduction, range);
    case Dtype::i16: return reduce_integer<std::int16_t>(reduction, range);
    case Dtype::i8: return reduce_integer<std::int8_t>(reduction, range);
    case Dtype::u64: return reduce_integer<std::uint64_t>(reduction, range);
    case Dtype::u32: return reduce_integer<std::uint32_t>(reduction, range);
    case Dtype::u16: return reduce_integer<std::uint16_t>(reduction, range);
    default: return reduce_integer<std::uint8_t>(reduction, range);
  }
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(ordered_of_target);

void reduce_ordered(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                    std::size_t count) {
  HWY_DYNAMIC_DISPATCH(ordered_of_target)(reduction, sources, first, output, count);
}

}  // namespace hocket
#endif
