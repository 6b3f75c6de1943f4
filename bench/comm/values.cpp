#include "values.h"

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

}  // namespace hocket::comm_bench
