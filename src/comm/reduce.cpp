#include "comm/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "comm/reduce_kernels.h"

namespace hocket {

namespace {

using Kernel = void (*)(const Reduction&, Sources, std::size_t, std::byte*, std::size_t);

bool orders(ReduceOp op) { return op == ReduceOp::min || op == ReduceOp::max || op == ReduceOp::avg; }

Kernel kernel_of(const Reduction& reduction) {
  switch (reduction.dtype) {
    case Dtype::f64:
    case Dtype::f32: return reduce_floats;
    case Dtype::f16: return reduce_float16;
    case Dtype::bf16: return reduce_bfloat16;
    case Dtype::boolean: return reduce_integers;
    default: return orders(reduction.op) ? reduce_ordered : reduce_integers;
  }
}

// A single source comes out as it is. (Booleans become 0 and 1.)
bool only_copies(const Reduction& reduction, Sources sources) {
  return sources.size() == 1 && reduction.dtype != Dtype::boolean && reduction.op != ReduceOp::avg &&
         reduction.op != ReduceOp::premul_sum;
}

constexpr std::size_t line_bytes = 64;
constexpr std::size_t block_bytes = 8192;  // stays in the first-level cache, next to the sources' lines

// Block by block into the cache, and from there past it: the copy costs little next to memory, and lets whole lines be
// written whatever the output's alignment.
void reduce_streaming(const Reduction& reduction, Sources sources, std::byte* output, std::size_t count) {
  const auto element_bytes = static_cast<std::size_t>(size_of(reduction.dtype));
  const Kernel kernel = kernel_of(reduction);
  alignas(line_bytes) std::array<std::byte, block_bytes> block;
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(output) % line_bytes;
  std::size_t now = (block_bytes - past_line) / element_bytes;  // later blocks begin with a line
  for (std::size_t done = 0; done < count; done += now, now = block_bytes / element_bytes) {
    now = std::min(now, count - done);
    kernel(reduction, sources, done, block.data(), now);
    stream_copy(block.data(), output + done * element_bytes, now * element_bytes);
  }
  stream_fence();
}

}  // namespace

std::uint64_t integer_factor(double factor) {
  if (factor >= 0x1p64) return std::numeric_limits<std::uint64_t>::max();
  if (factor >= 0x1p63) return static_cast<std::uint64_t>(factor);
  if (factor >= -0x1p63) return static_cast<std::uint64_t>(static_cast<std::int64_t>(factor));
  return factor < 0 ? std::uint64_t{1} << 63U : 0;
}

void reduce(const Reduction& reduction, std::span<const std::byte* const> sources, std::byte* output,
            std::int64_t count, bool streaming) {
  const auto elements = static_cast<std::size_t>(count);
  if (only_copies(reduction, sources)) {
    const std::size_t bytes = elements * static_cast<std::size_t>(size_of(reduction.dtype));
    if (output == sources[0] || bytes == 0) return;
    if (streaming) return copy_streaming(sources[0], output, static_cast<std::int64_t>(bytes));
    std::memcpy(output, sources[0], bytes);
    return;
  }
  if (streaming) return reduce_streaming(reduction, sources, output, elements);
  kernel_of(reduction)(reduction, sources, 0, output, elements);
}

}  // namespace hocket
