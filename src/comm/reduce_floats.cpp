#include "comm/reduce_kernels.h"
#include "comm/reduce_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce_floats.cpp"
#include <hwy/foreach_target.h>
// after the line above
#include <hwy/highway.h>

#include "comm/reduce_tree_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

void floats_of_target(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                      std::size_t count) {
  const Range range{sources, first, output, count};
  if (reduction.dtype == Dtype::f32) return reduce_floating<Plain<float>>(reduction, range);
  return reduce_floating<Plain<double>>(reduction, range);
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(floats_of_target);

void reduce_floats(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                   std::size_t count) {
  HWY_DYNAMIC_DISPATCH(floats_of_target)(reduction, sources, first, output, count);
}

}  // namespace hocket
#endif
