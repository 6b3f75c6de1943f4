#include "comm/reduce_kernels.h"
#include "comm/reduce_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce_integers.cpp"
#include <hwy/foreach_target.h>
// after the line above
#include <hwy/highway.h>

#include "comm/reduce_tree_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

// The same bits with a sign and without.
template <class Unsigned>
void reduce_wrapping(const Reduction& reduction, const Range& range) {
  using Format = Plain<Unsigned>;
  switch (reduction.op) {
    case ReduceOp::product: return reduce_by<Format>(Product(), range);
    case ReduceOp::band: return reduce_by<Format>(BitAnd(), range);
    case ReduceOp::bor: return reduce_by<Format>(BitOr(), range);
    case ReduceOp::bxor: return reduce_by<Format>(BitXor(), range);
    case ReduceOp::premul_sum: {
      const auto factor = static_cast<Unsigned>(integer_factor(reduction.factor));
      return reduce_by<Format>(ScaledSum<Unsigned>(factor), range);
    }
    default: return reduce_by<Format>(Sum(), range);
  }
}

void reduce_boolean(const Reduction& reduction, const Range& range) {
  using Format = Plain<std::uint8_t>;
  switch (reduction.op) {
    case ReduceOp::product:
    case ReduceOp::min:
    case ReduceOp::band: return reduce_by<Format>(Logical<BitAnd>(), range);
    case ReduceOp::bxor: return reduce_by<Format>(Logical<BitXor>(), range);
    default: return reduce_by<Format>(Logical<BitOr>(), range);
  }
}

void integers_of_target(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                        std::size_t count) {
  const Range range{sources, first, output, count};
  switch (reduction.dtype) {
    case Dtype::i64:
    case Dtype::u64: return reduce_wrapping<std::uint64_t>(reduction, range);
    case Dtype::i32:
    case Dtype::u32: return reduce_wrapping<std::uint32_t>(reduction, range);
    case Dtype::i16:
    case Dtype::u16: return reduce_wrapping<std::uint16_t>(reduction, range);
    case Dtype::i8:
    case Dtype::u8: return reduce_wrapping<std::uint8_t>(reduction, range);
    default: return reduce_boolean(reduction, range);
  }
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(integers_of_target);

void reduce_integers(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                     std::size_t count) {
  HWY_DYNAMIC_DISPATCH(integers_of_target)(reduction, sources, first, output, count);
}

}  // namespace hocket
#endif
