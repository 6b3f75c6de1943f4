#include "engine.h"

#include <cstdlib>

namespace hocket::comm_bench {

Result<Memory> Engine::allocate(std::int64_t elements, BufferKind kind) {
  if (kind == BufferKind::symmetric_memory) return fail(ErrorKind::usage, "has no symmetric memory");
  constexpr std::size_t page = 4096;
  const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(float) + page) / page * page;
  auto* data = static_cast<float*>(std::aligned_alloc(page, bytes));
  if (data == nullptr) return fail(ErrorKind::system, "no memory for a buffer of {} bytes", bytes);
  return Memory(data, [](float* memory) { std::free(memory); });
}

}  // namespace hocket::comm_bench
