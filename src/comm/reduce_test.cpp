#include "comm/reduce.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/naive_reduce.h"

namespace hocket {
namespace {

using naive::Buffer;
using naive::fill;

const std::vector<Dtype> reducible = {Dtype::f64, Dtype::f32, Dtype::f16,    Dtype::bf16, Dtype::i64,
                                      Dtype::i32, Dtype::i16, Dtype::i8,     Dtype::u64,  Dtype::u32,
                                      Dtype::u16, Dtype::u8,  Dtype::boolean};

std::vector<ReduceOp> operations_of(Dtype dtype) {
  std::vector<ReduceOp> operations;
  for (int i = 0; i < reduce_op_count; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    if (check_reducible(dtype, op)) operations.push_back(op);
  }
  return operations;
}

Reduction reduction_of(Dtype dtype, ReduceOp op, std::size_t sources) {
  Reduction reduction;
  reduction.dtype = dtype;
  reduction.op = op;
  reduction.factor = is_floating(dtype) ? 0.7 : 3.9;
  reduction.ranks = static_cast<std::int32_t>(sources);
  return reduction;
}

// Runs the body with each instruction set that this machine has.
template <class Body>
void for_each_target(Body body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Sources and an output, each with room around it that nobody may touch, and each off by `shift` bytes.
class Case {
 public:
  Case(Reduction reduction, std::size_t sources, std::size_t count, std::size_t shift, std::uint64_t seed)
      : reduction_(reduction),
        count_(count),
        bytes_(count * static_cast<std::size_t>(size_of(reduction.dtype))),
        shift_(shift) {
    std::mt19937_64 random(seed);
    for (std::size_t k = 0; k < sources; ++k) {
      originals_.emplace_back(bytes_ + 2 * margin);
      fill(random, reduction.dtype, start(originals_.back()), count);
    }
    std::vector<const std::byte*> pointers;
    for (Buffer& original : originals_) pointers.push_back(start(original));
    expected_ = naive::reduce(reduction, pointers, count);
  }

  // Into a buffer of its own.
  void apart(bool streaming) {
    std::vector<Buffer> sources = originals_;
    Buffer output(bytes_ + 2 * margin, std::byte{0xa5});
    run(sources, start(output), streaming);
    check(output, std::byte{0xa5});
    EXPECT_EQ(sources, originals_);
  }

  void in_place(std::size_t place, bool streaming) {
    std::vector<Buffer> sources = originals_;
    run(sources, start(sources[place]), streaming);
    check(sources[place], std::byte{0});
    sources[place] = originals_[place];
    EXPECT_EQ(sources, originals_);
  }

 private:
  static constexpr std::size_t margin = 96;

  std::byte* start(Buffer& buffer) const { return buffer.data() + margin / 2 + shift_; }

  void run(std::vector<Buffer>& sources, std::byte* output, bool streaming) const {
    std::vector<const std::byte*> pointers;
    for (Buffer& source : sources) pointers.push_back(start(source));
    reduce(reduction_, pointers, output, static_cast<std::int64_t>(count_), streaming);
  }

  void check(Buffer& output, std::byte around) {
    const std::byte* const begin = start(output);
    const auto wrong = std::mismatch(expected_.begin(), expected_.end(), begin).first - expected_.begin();
    EXPECT_EQ(wrong, std::ssize(expected_)) << "first wrong byte";
    const auto untouched = [&](const std::byte& byte) { return byte == around; };
    EXPECT_TRUE(std::all_of(std::as_const(output).data(), begin, untouched)) << "wrote before the output";
    EXPECT_TRUE(std::all_of(begin + bytes_, std::as_const(output).data() + output.size(), untouched))
        << "wrote behind the output";
  }

  Reduction reduction_;
  std::size_t count_;
  std::size_t bytes_;
  std::size_t shift_;
  std::vector<Buffer> originals_;
  Buffer expected_;
};

class ReduceEach : public testing::TestWithParam<Dtype> {};

TEST_P(ReduceEach, gives_the_bits_of_the_tree_on_every_instruction_set) {
  const Dtype dtype = GetParam();
  std::uint64_t seed = 1;
  for (const ReduceOp op : operations_of(dtype)) {
    for (const std::size_t sources : {1U, 2U, 3U, 4U, 5U, 8U, 17U}) {
      for (const std::size_t count : {0U, 1U, 7U, 63U, 64U, 65U, 1000U, 4099U}) {
        const auto element = static_cast<std::size_t>(size_of(dtype));
        const std::size_t shift = std::array<std::size_t, 3>{0, 1, element}[seed % 3];
        SCOPED_TRACE(fmt::format("{} {} of {} sources, {} elements, off by {} bytes, seed {}", short_name(dtype),
                                 name_of(op), sources, count, shift, seed));
        Case one(reduction_of(dtype, op, sources), sources, count, shift, seed++);
        for_each_target([&] {
          one.apart(false);
          one.apart(true);
          one.in_place(0, false);
          one.in_place(sources - 1, seed % 2 == 0);
        });
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtype, ReduceEach, testing::ValuesIn(reducible),
                         [](const auto& each) { return std::string(short_name(each.param)); });

TEST(Reduce, every_f16_and_bf16_survives_and_every_sum_with_a_small_one_is_rounded_to_nearest_even) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    for (const int small : {0x0000, 0x0001, 0x0400, 0x0c00, 0x1001, 0x3c00, 0x3c01, 0x7bff, 0x8001, 0xbc00}) {
      const auto other = static_cast<std::uint16_t>(small);
      const std::vector<std::uint16_t> others(all.size(), other);
      const std::vector<const std::byte*> sources = {reinterpret_cast<const std::byte*>(all.data()),
                                                     reinterpret_cast<const std::byte*>(others.data())};
      const Reduction reduction = reduction_of(dtype, ReduceOp::sum, 2);
      const Buffer expected = naive::reduce(reduction, sources, all.size());
      for_each_target([&] {
        Buffer output(expected.size());
        reduce(reduction, sources, output.data(), std::ssize(all));
        EXPECT_TRUE(output == expected) << short_name(dtype) << " plus " << other;
      });
    }
  }
}

template <class T>
T reduce_two(Reduction reduction, T a, T b) {
  const std::vector<const std::byte*> sources = {reinterpret_cast<const std::byte*>(&a),
                                                 reinterpret_cast<const std::byte*>(&b)};
  T output{};
  reduce(reduction, sources, reinterpret_cast<std::byte*>(&output), 1);
  return output;
}

TEST(Reduce, special_values_come_out_as_written_here_by_hand) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const auto sum = reduction_of(Dtype::f32, ReduceOp::sum, 2);
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for_each_target([&] {
    EXPECT_EQ(bits(reduce_two(sum, infinite, -infinite)), 0x7fc0'0000U);
    EXPECT_EQ(bits(reduce_two(sum, std::bit_cast<float>(0xffc1'2345U), 1.0F)), 0x7fc0'0000U);
    EXPECT_EQ(bits(reduce_two(sum, -0.0F, -0.0F)), 0x8000'0000U);
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      const auto least = reduction_of(Dtype::f32, op, 2);
      EXPECT_EQ(bits(reduce_two(least, nan, 1.0F)), 0x7fc0'0000U);
      EXPECT_EQ(bits(reduce_two(least, 1.0F, nan)), 0x7fc0'0000U);
      EXPECT_EQ(bits(reduce_two(least, 0.0F, -0.0F)), bits(0.0F));
      EXPECT_EQ(bits(reduce_two(least, -0.0F, 0.0F)), bits(-0.0F));
    }
    const auto half = reduction_of(Dtype::f16, ReduceOp::sum, 2);
    EXPECT_EQ(reduce_two<std::uint16_t>(half, 0x7bff, 0x7bff), 0x7c00);  // 65504 twice: infinite
    EXPECT_EQ(reduce_two<std::uint16_t>(half, 0x7bff, 0x4b80), 0x7bff);  // and 15 more: rounds down
    EXPECT_EQ(reduce_two<std::uint16_t>(half, 0x7bff, 0x4c00), 0x7c00);  // and 16 more: the tie rounds to infinity
    EXPECT_EQ(reduce_two<std::uint16_t>(half, 0x0001, 0x0001), 0x0002);  // subnormal
    const auto brain = reduction_of(Dtype::bf16, ReduceOp::sum, 2);
    EXPECT_EQ(reduce_two<std::uint16_t>(brain, 0x7f7f, 0x7f7f), 0x7f80);
    EXPECT_EQ(reduce_two<std::uint16_t>(brain, 0x3f80, 0x3b80), 0x3f80);  // 1 + 2^-8: the tie rounds to even
    EXPECT_EQ(reduce_two<std::uint16_t>(brain, 0x3f81, 0x3b80), 0x3f82);
  });
}

TEST(Reduce, integers_wrap_around_and_averages_round_towards_zero) {
  for_each_target([] {
    EXPECT_EQ(reduce_two<std::int8_t>(reduction_of(Dtype::i8, ReduceOp::sum, 2), 100, 100), -56);
    EXPECT_EQ(reduce_two<std::int32_t>(reduction_of(Dtype::i32, ReduceOp::avg, 2), -3, -4), -3);
    EXPECT_EQ(reduce_two<std::uint64_t>(reduction_of(Dtype::u64, ReduceOp::avg, 2), ~0ULL, 0), ~0ULL / 2);
    auto many = reduction_of(Dtype::i8, ReduceOp::avg, 2);
    many.ranks = 300;  // no i8
    EXPECT_EQ(reduce_two<std::int8_t>(many, 60, 60), 0);
    auto scaled = reduction_of(Dtype::i32, ReduceOp::premul_sum, 2);
    scaled.factor = -2.9;
    EXPECT_EQ(reduce_two<std::int32_t>(scaled, 5, 1), -12);
    scaled.factor = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(reduce_two<std::int32_t>(scaled, 5, 1), 0);
    auto wide = reduction_of(Dtype::u64, ReduceOp::premul_sum, 2);
    wide.factor = 0x1p63;
    EXPECT_EQ(reduce_two<std::uint64_t>(wide, 1, 0), 1ULL << 63U);
    wide.factor = 1e300;
    EXPECT_EQ(reduce_two<std::uint64_t>(wide, 1, 0), ~0ULL);
    wide.factor = -1e300;
    EXPECT_EQ(reduce_two<std::uint64_t>(wide, 1, 0), 1ULL << 63U);
  });
}

TEST(Reduce, a_power_of_two_of_neighbours_may_be_combined_first) {
  constexpr std::size_t count = 500;
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Reduction reduction = reduction_of(dtype, ReduceOp::sum, 11);
    std::mt19937_64 random(7);
    std::vector<Buffer> buffers(11, Buffer(count * 8));
    for (Buffer& buffer : buffers) fill(random, dtype, buffer.data(), count);
    std::vector<const std::byte*> all;
    for (const Buffer& buffer : buffers) all.push_back(buffer.data());
    Buffer at_once(count * 8);
    reduce(reduction, all, at_once.data(), count);
    for (const std::size_t group : {1U, 2U, 4U, 8U}) {
      std::vector<Buffer> parts;
      for (std::size_t k = 0; k < all.size(); k += group) {
        const auto some = std::span(all).subspan(k, std::min(group, all.size() - k));
        reduce(reduction, some, parts.emplace_back(count * 8).data(), count);
      }
      std::vector<const std::byte*> sources;
      for (const Buffer& part : parts) sources.push_back(part.data());
      Buffer in_steps(count * 8);
      reduce(reduction, sources, in_steps.data(), count);
      EXPECT_EQ(in_steps, at_once) << "groups of " << group;
    }
  }
}

TEST(Reduce, hundreds_of_sources_fit) {
  constexpr std::size_t count = 3000;
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::i16}) {
    Case many(reduction_of(dtype, ReduceOp::avg, 300), 300, count, 1, 3);
    many.apart(false);
    many.apart(true);
    many.in_place(150, false);
  }
}

TEST(CopyStreaming, copies_every_size_and_alignment_and_nothing_else) {
  std::mt19937_64 random(5);
  Buffer input(70000);
  fill(random, Dtype::u8, input.data(), input.size());
  for_each_target([&] {
    for (const std::size_t bytes : {0U, 1U, 15U, 63U, 64U, 65U, 127U, 128U, 1000U, 4096U, 65536U}) {
      for (const std::size_t from : {0U, 1U, 33U}) {
        for (const std::size_t to : {0U, 1U, 16U, 63U}) {
          Buffer output(bytes + 256, std::byte{0x77});
          Buffer expected = output;
          copy_streaming(input.data() + from, output.data() + to, static_cast<std::int64_t>(bytes));
          std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                      expected.begin() + static_cast<std::ptrdiff_t>(to));
          ASSERT_TRUE(output == expected) << bytes << " bytes from +" << from << " to +" << to;
        }
      }
    }
  });
}

}  // namespace
}  // namespace hocket
