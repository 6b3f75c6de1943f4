// Every operator, dtype, reduce operation, size, layout, memory, algorithm and block size, on threads and processes, bit for bit.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <limits>

#include "collective_case.h"
#include "comm/rounds.h"
#include "support/random.h"

namespace hocket {
namespace {

constexpr Operator operators[] = {Operator::all_reduce, Operator::reduce_scatter, Operator::all_gather,
                                  Operator::all_to_all, Operator::broadcast};
constexpr Dtype dtypes[] = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2,
                            Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,     Dtype::boolean};
const std::vector<CollectiveAlgorithm> algorithms = {CollectiveAlgorithm::automatic, CollectiveAlgorithm::one_shot,
                                                     CollectiveAlgorithm::two_shot, CollectiveAlgorithm::symmetric,
                                                     CollectiveAlgorithm::reading};
constexpr std::int64_t largest_bytes = (std::int64_t{1} << 20) + 4;

// Nothing, single ones, primes, around a page, around what fits beside a flag, around the largest single round, and more.
std::vector<std::int64_t> counts_of(Dtype dtype) {
  const std::int64_t size = size_of(dtype);
  std::vector<std::int64_t> counts = {0, 1, 7, 31, 127, 1021};
  for (const std::int64_t bytes :
       {Rounds::one_line_bytes, Rounds::two_lines_bytes, std::int64_t{4} << 10, std::int64_t{128} << 10}) {
    const std::int64_t around = bytes / size;
    counts.insert(counts.end(), {around - 1, around, around + 1});
  }
  counts.push_back(largest_bytes / size);
  return counts;
}

std::vector<CollectiveCase> kinds_of_call() {
  std::vector<CollectiveCase> kinds;
  for (const Operator op : operators) {
    for (const Dtype dtype : dtypes) {
      for (int i = 0; i < (reduces(op) ? reduce_op_count : 1); ++i) {
        const auto reduce = static_cast<ReduceOp>(i);
        if (reduces(op) && !check_reducible(dtype, reduce)) continue;
        CollectiveCase kind;
        kind.op = op;
        kind.dtype = dtype;
        kind.reduce = reduce;
        kinds.push_back(kind);
      }
    }
  }
  return kinds;
}

// Only where it could be asked for: see host_transport.cpp.
bool can_be(const CollectiveCase& one) {
  if (one.algorithm == CollectiveAlgorithm::symmetric && one.memory != Memory::symmetric) return false;
  if (one.algorithm == CollectiveAlgorithm::symmetric && one.op == Operator::all_to_all)
    return one.layout != Layout::in_place;
  if (one.algorithm == CollectiveAlgorithm::reading)
    return one.op == Operator::all_to_all && one.layout != Layout::in_place;
  return one.op == Operator::all_reduce || one.algorithm != CollectiveAlgorithm::two_shot;
}

CollectiveCase varied(CollectiveCase one, std::int32_t ranks, Random& random) {
  do {
    one.layout = random.pick({Layout::apart, Layout::in_place, Layout::off_by_a_byte});
    one.memory = random.pick({Memory::own, Memory::own, Memory::symmetric, Memory::mixed});
    one.algorithm = random.pick(algorithms);
  } while (!can_be(one));
  // Small blocks of large buffers would be thousands of rounds.
  const bool large = one.count * size_of(one.dtype) > 16 << 10;
  one.block = large ? random.pick<std::int64_t>({0, 65536, 1 << 30}) : random.pick<std::int64_t>({0, 1, 1000, 4096});
  one.blocking = random.chance(50);
  one.source = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(ranks)));
  return one;
}

// Buffers come and go with each case. Where free() gives them back to the system, half of the time goes to fresh pages.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
}

void run_all(std::int32_t ranks, const std::vector<PreparedCase>& cases) {
  keep_freed_memory();
  std::int64_t largest = 0;
  for (const PreparedCase& one : cases) {
    const std::int64_t elements = std::max(one.input_elements(), one.output_elements());
    largest = std::max(largest, elements * size_of(one.facts.dtype));
  }
  for (const Kind kind : both_kinds) {
    expect_well(kind, ranks, [&](World& world, Complaints& complaints) {
      CaseRunner runner(group_of(world), largest, complaints);
      for (const PreparedCase& one : cases) {
        if (complaints.none()) runner.run(one);
      }
    });
  }
}

class Matrix : public testing::TestWithParam<std::int32_t> {};

// Each kind of call with one large size or a few small ones, so that every size, layout, memory and algorithm meets every operator.
TEST_P(Matrix, gives_the_bits_of_the_reference_whatever_the_way) {
  const std::int32_t ranks = GetParam();
  Random random(static_cast<std::uint64_t>(ranks));
  std::vector<PreparedCase> cases;
  for (CollectiveCase kind : kinds_of_call()) {
    const std::vector<std::int64_t> counts = counts_of(kind.dtype);
    for (int i = 0; i < 2; ++i) {
      kind.count = counts[random.index(counts.size() - 4)];
      cases.emplace_back(varied(kind, ranks, random), ranks, cases.size());
    }
    if (!random.chance(10)) continue;
    kind.count = counts[counts.size() - 1 - random.index(4)];
    cases.emplace_back(varied(kind, ranks, random), ranks, cases.size());
  }
  run_all(ranks, cases);
}

// Every layout, memory, algorithm and block of the operators at sizes where the ways part, for one dtype.
TEST_P(Matrix, every_way_is_gone_at_every_size) {
  const std::int32_t ranks = GetParam();
  std::vector<PreparedCase> cases;
  for (const Operator op : operators) {
    for (const Layout layout : {Layout::apart, Layout::in_place, Layout::off_by_a_byte}) {
      for (const Memory memory : {Memory::own, Memory::symmetric, Memory::mixed}) {
        for (const CollectiveAlgorithm algorithm : algorithms) {
          CollectiveCase one{op, Dtype::bf16, ReduceOp::sum, 0, layout, memory, algorithm, 0, true, ranks - 1};
          if (!can_be(one)) continue;
          for (const std::int64_t count : {0, 3, 21, 5000}) {
            one.count = count;
            one.block = count == 5000 ? 4096 : 0;
            one.blocking = !one.blocking;
            cases.emplace_back(one, ranks, cases.size());
          }
        }
      }
    }
  }
  run_all(ranks, cases);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Matrix, testing::Values(1, 2, 3, 4, 8));

// The largest sizes are those of all that a rank gives: with a part for each of 8 ranks the reference would take minutes for them.
std::int64_t count_for_each(Operator op, std::int64_t count, std::int32_t ranks) {
  constexpr std::int64_t few = 8 << 10;  // elements
  const bool has_parts = op == Operator::reduce_scatter || op == Operator::all_to_all;
  return has_parts && count > few ? count / ranks : count;
}

// The whole product of kinds, sizes, layouts, memories and algorithms.
class LongMatrix : public testing::TestWithParam<std::tuple<std::int32_t, Operator>> {};

TEST_P(LongMatrix, gives_the_bits_of_the_reference_whatever_the_way) {
  const auto [ranks, op] = GetParam();
  Random random(7);
  for (CollectiveCase kind : kinds_of_call()) {
    if (kind.op != op) continue;
    std::vector<PreparedCase> cases;
    for (const Layout layout : {Layout::apart, Layout::in_place, Layout::off_by_a_byte}) {
      for (const Memory memory : {Memory::own, Memory::symmetric, Memory::mixed}) {
        for (const CollectiveAlgorithm algorithm : algorithms) {
          for (const std::int64_t count : counts_of(kind.dtype)) {
            kind.count = count_for_each(op, count, ranks);
            CollectiveCase one = varied(kind, ranks, random);
            one.layout = layout;
            one.memory = memory;
            one.algorithm = algorithm;
            if (can_be(one)) cases.emplace_back(one, ranks, cases.size());
          }
        }
      }
    }
    run_all(ranks, cases);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LongMatrix,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8), testing::ValuesIn(operators)));

TEST(LongHuge, more_than_2_gib_come_through) {
  constexpr std::int64_t count = (std::int64_t{1} << 31) + 4;
  expect_well(Kind::processes, 2, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    std::vector<std::uint8_t> data(static_cast<std::size_t>(count));
    const auto value = [](std::int64_t i, std::int32_t rank) { return static_cast<std::uint8_t>(i % 251 + rank); };
    for (std::int64_t i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = value(i, world.rank());
    const Work work = group.all_reduce(data.data(), data.data(), count, Dtype::u8, ReduceOp::sum);
    if (!complaints.well(work, "all_reduce")) return;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto expected = static_cast<std::uint8_t>(value(i, 0) + value(i, 1));
      if (data[static_cast<std::size_t>(i)] != expected) return complaints.add("element {} is wrong", i);
    }
  });
}

}  // namespace
}  // namespace hocket
