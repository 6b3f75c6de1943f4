// What the algorithms need to move memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "comm/reduce.h"

namespace hocket {

inline constexpr std::int64_t cache_line = 64;

inline std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count); }

// Takes a line away from the caches that have read it, without waiting for that. __builtin_prefetch does this only for processors
// that all have the instruction; those that don't take it for no operation.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const std::byte*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// What is streamed needs a stream_fence() behind it.
inline void copy_unfenced(const std::byte* from, std::byte* to, std::int64_t count, bool streaming) {
  if (streaming) stream_copy(from, to, bytes(count));
  else std::memcpy(to, from, bytes(count));
}

inline void copy(const std::byte* from, std::byte* to, std::int64_t count, bool streaming) {
  if (streaming) copy_streaming(from, to, count);
  else std::memcpy(to, from, bytes(count));
}

// The places that a reduction reads, one for each rank; few ranks need no memory of the heap.
class SourceList {
 public:
  explicit SourceList(std::int32_t size) : size_(static_cast<std::size_t>(size)) {
    if (size_ > few) many_ = std::make_unique<const std::byte*[]>(size_);
  }
  const std::byte*& operator[](std::int32_t place) { return begin()[place]; }
  std::span<const std::byte* const> span() { return {begin(), size_}; }

 private:
  static constexpr std::size_t few = 16;
  const std::byte** begin() { return many_ ? many_.get() : few_; }
  std::size_t size_;
  const std::byte* few_[few];
  std::unique_ptr<const std::byte*[]> many_;
};

}  // namespace hocket
