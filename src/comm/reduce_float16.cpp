#include "comm/reduce_kernels.h"
#include "comm/reduce_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce_float16.cpp"
#include <hwy/foreach_target.h>
// after the line above
#include <hwy/highway.h>

#include "comm/reduce_tree_inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {

void float16_of_target(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                       std::size_t count) {
  reduce_floating<Float16>(reduction, {sources, first, output, count});
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(float16_of_target);

void reduce_float16(const Reduction& reduction, Sources sources, std::size_t first, std::byte* output,
                    std::size_t count) {
  HWY_DYNAMIC_DISPATCH(float16_of_target)(reduction, sources, first, output, count);
}

}  // namespace hocket
#endif
