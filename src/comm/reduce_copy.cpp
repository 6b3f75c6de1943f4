#include "comm/reduce_kernels.h"
#include "comm/reduce_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce_copy.cpp"
#include <hwy/foreach_target.h>
// after the line above
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whole lines only: a line that is written in part has to be read first, which is what streaming wants to avoid.
inline constexpr std::size_t line_bytes = 64;

void stream_lines(const std::byte* input, std::byte* output, std::size_t bytes) {
  const hn::CappedTag<std::uint8_t, line_bytes> d;
  const auto* from = reinterpret_cast<const std::uint8_t*>(input);
  auto* to = reinterpret_cast<std::uint8_t*>(output);
  for (std::size_t i = 0; i < bytes; i += line_bytes) {
    for (std::size_t j = 0; j < line_bytes; j += hn::Lanes(d)) hn::Stream(hn::LoadU(d, from + i + j), d, to + i + j);
  }
}

void copy_of_target(const std::byte* input, std::byte* output, std::size_t bytes) {
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(output) % line_bytes;
  const std::size_t head = std::min(bytes, (line_bytes - past_line) % line_bytes);
  const std::size_t lines = (bytes - head) / line_bytes * line_bytes;
  std::memcpy(output, input, head);
  stream_lines(input + head, output + head, lines);
  std::memcpy(output + head + lines, input + head + lines, bytes - head - lines);
}

}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {

HWY_EXPORT(copy_of_target);

void stream_copy(const std::byte* input, std::byte* output, std::size_t bytes) {
  if (bytes > 0) HWY_DYNAMIC_DISPATCH(copy_of_target)(input, output, bytes);
}

void stream_fence() { hwy::FlushStream(); }

void copy_streaming(const std::byte* input, std::byte* output, std::int64_t bytes) {
  stream_copy(input, output, static_cast<std::size_t>(bytes));
  stream_fence();
}

}  // namespace hocket
#endif
