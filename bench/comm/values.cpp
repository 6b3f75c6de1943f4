#include "values.h"

#include <cstring>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

// Compiled with -O3 (cmake/HocketBenchmarks.cmake) and for each generation of processors, so that these loops are limited by
// memory and not by the instructions that an old processor would understand.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HOCKET_BENCH_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HOCKET_BENCH_WIDE
#endif

namespace hocket::comm_bench {

float input_value(std::int32_t rank, std::int64_t index) {
  constexpr std::int64_t period = 251;  // a prime: parts of any usual size begin at another place of it
  constexpr std::int64_t rank_step = 1000;
  return static_cast<float>(index % period + rank_step * (rank + 1));
}

float expected_value(Operator op, std::int32_t rank, std::int32_t ranks, std::int64_t count, std::int64_t index) {
  const auto sum_at = [&](std::int64_t place) {
    float sum = 0;
    for (std::int32_t each = 0; each < ranks; ++each) sum += input_value(each, place);
    return sum;
  };
  switch (op) {
    case Operator::all_reduce: return sum_at(index);
    case Operator::reduce_scatter: return sum_at(rank * count + index);
    case Operator::all_gather: return input_value(static_cast<std::int32_t>(index / count), index % count);
    case Operator::all_to_all:
      return input_value(static_cast<std::int32_t>(index / count), rank * count + index % count);
    case Operator::broadcast: return input_value(0, index);
    case Operator::barrier: break;
  }
  return 0;
}

HOCKET_BENCH_WIDE void fill(float* data, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) data[i] = value;
}

HOCKET_BENCH_WIDE void add_into_both(float* __restrict a, float* __restrict b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  }
}

namespace {

HOCKET_BENCH_WIDE void add_cached(float* __restrict to, const float* __restrict a, const float* __restrict b,
                                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

#if defined(__SSE2__)

constexpr std::int64_t lane = 4;                   // floats of a register
constexpr std::int64_t line = 16;                  // floats of a cache line
constexpr std::int64_t streamed_from = 128 << 10;  // elements; less stays in the caches

bool is_streamed(const float* to, std::int64_t count) {
  return count >= streamed_from && reinterpret_cast<std::uintptr_t>(to) % (line * sizeof(float)) == 0;
}

// value(i) gives four floats. Returns how many elements were written, all but the last few.
template <typename Value>
std::int64_t stream(float* to, std::int64_t count, Value value) {
  std::int64_t i = 0;
  for (; i + line <= count; i += line) {
    for (std::int64_t j = i; j < i + line; j += lane) _mm_stream_ps(to + j, value(j));
  }
  _mm_sfence();
  return i;
}

#endif

}  // namespace

void add(float* to, const float* a, const float* b, std::int64_t count) {
  std::int64_t done = 0;
#if defined(__SSE2__)
  if (is_streamed(to, count))
    done = stream(to, count, [&](std::int64_t i) { return _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i)); });
#endif
  add_cached(to + done, a + done, b + done, count - done);
}

void copy(float* to, const float* from, std::int64_t count) {
  std::int64_t done = 0;
#if defined(__SSE2__)
  if (is_streamed(to, count)) done = stream(to, count, [&](std::int64_t i) { return _mm_loadu_ps(from + i); });
#endif
  std::memcpy(to + done, from + done, static_cast<std::size_t>(count - done) * sizeof(float));
}

}  // namespace hocket::comm_bench
