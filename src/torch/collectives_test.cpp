// Every operator of SPEC 1.1 against what plain tensor functions make of the inputs of all ranks.
#include "hocket/torch/collectives.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/torch/classic_collectives.h"
#include "hocket/torch/point_to_point.h"
#include "support/torch_ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr at::ScalarType dtypes[] = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                     at::kInt,    at::kShort, at::kChar, at::kByte,     at::kBool};
constexpr at::ScalarType only_moved[] = {at::kFloat8_e4m3fn, at::kFloat8_e5m2, at::kComplexFloat, at::kUInt32};
constexpr int world_sizes[] = {1, 2, 3};

// What a rank gives: small whole numbers, so that any order of additions gives the same bits.
at::Tensor input_of(int rank, at::IntArrayRef sizes, at::ScalarType dtype, int salt = 0) {
  const std::int64_t count = c10::multiply_integers(sizes);
  const at::Tensor numbers = (at::arange(count) * 7 + rank * 3 + salt * 5).remainder(5).sub(dtype == at::kByte ? 0 : 2);
  if (dtype == at::kBool) return numbers.gt(0).view(sizes);
  return numbers.to(at::kFloat).to(dtype).view(sizes);
}

Tensors inputs_of_all(int ranks, at::IntArrayRef sizes, at::ScalarType dtype, int salt = 0) {
  Tensors inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(rank, sizes, dtype, salt));
  return inputs;
}

at::Tensor reduced(const Tensors& inputs, const ReduceBy& by) {
  const at::ScalarType dtype = inputs[0].scalar_type();
  const auto fold = [&](auto combine) {
    at::Tensor result = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) result = combine(result, inputs[i]);
    return result;
  };
  const at::Tensor wide = at::stack(inputs).to(at::kDouble);
  switch (by.op) {
    case ReduceOp::sum: return dtype == at::kBool ? wide.sum(0).gt(0) : wide.sum(0).to(dtype);
    case ReduceOp::avg: return wide.mean(0).to(dtype);
    case ReduceOp::product: return wide.prod(0).to(dtype);
    case ReduceOp::min: return wide.amin(0).to(dtype);
    case ReduceOp::max: return wide.amax(0).to(dtype);
    case ReduceOp::premul_sum: return (wide * by.factor).sum(0).to(dtype);
    case ReduceOp::band: return fold([](auto a, auto b) { return at::bitwise_and(a, b); });
    case ReduceOp::bor: return fold([](auto a, auto b) { return at::bitwise_or(a, b); });
    case ReduceOp::bxor: return fold([](auto a, auto b) { return at::bitwise_xor(a, b); });
  }
  return {};
}

void expect_same(const at::Tensor& got, const at::Tensor& expected, const std::string& what) {
  EXPECT_EQ(got.scalar_type(), expected.scalar_type()) << what;
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(got.is_contiguous()) << what;
  const auto bytes = [](const at::Tensor& tensor) { return tensor.contiguous().view({-1}).view(at::kByte); };
  if (got.numel() > 0) {
    EXPECT_TRUE(bytes(got).equal(bytes(expected))) << what << "\n" << got << "\nexpected\n" << expected;
  }
}

TEST(Collectives, all_reduce_combines_every_dtype_by_every_operation_it_has) {
  for (const int ranks : world_sizes) {
    on_ranks(ranks, [&](int rank) {
      for (const at::ScalarType dtype : dtypes) {
        const Tensors all = inputs_of_all(ranks, {3, 4}, dtype);
        const at::Tensor& mine = all[static_cast<std::size_t>(rank)];
        for (int number = 0; number < reduce_op_count; ++number) {
          const ReduceBy by(static_cast<ReduceOp>(number), number == static_cast<int>(ReduceOp::premul_sum) ? 2 : 1);
          const std::string what = fmt::format("{} of {} on {} ranks", name_of(by.op), c10::toString(dtype), ranks);
          const bool bits = by.op == ReduceOp::band || by.op == ReduceOp::bor || by.op == ReduceOp::bxor;
          const bool wrong = at::isFloatingType(dtype)
                                 ? bits
                                 : dtype == at::kBool && (by.op == ReduceOp::avg || by.op == ReduceOp::premul_sum);
          if (wrong) {
            EXPECT_THAT(thrown_by([&] { all_reduce(mine, by); }), HasSubstr("all_reduce: can't reduce")) << what;
            continue;
          }
          expect_same(all_reduce(mine, by), reduced(all, by), what);
        }
        expect_same(mine, input_of(rank, {3, 4}, dtype), "the input");
      }
    });
  }
}

TEST(Collectives, the_name_of_an_operation_may_be_written_as_one_likes) {
  on_ranks(2, [](int rank) {
    const at::Tensor x = at::full({2}, rank + 1.0);
    EXPECT_EQ(all_reduce(x, "SUM")[0].item<double>(), 3);
    EXPECT_EQ(all_reduce(x, "Max")[0].item<double>(), 2);
    EXPECT_EQ(all_reduce(x, premul_sum(0.5))[0].item<double>(), 1.5);
    EXPECT_THAT(thrown_by([&] { all_reduce(x, "mean"); }), HasSubstr("unknown reduce operation mean; known: sum"));
    EXPECT_THAT(thrown_by([&] { all_reduce(x, "premul_sum"); }), HasSubstr("premul_sum needs its factor"));
  });
}

TEST(Collectives, move_every_dtype) {
  std::vector<at::ScalarType> all_dtypes;
  for (const at::ScalarType dtype : dtypes) all_dtypes.push_back(dtype);
  for (const at::ScalarType dtype : only_moved) all_dtypes.push_back(dtype);
  for (const int ranks : world_sizes) {
    on_ranks(ranks, [&](int rank) {
      for (const at::ScalarType dtype : all_dtypes) {
        const std::string what = fmt::format("{} on {} ranks", c10::toString(dtype), ranks);
        const Tensors all = inputs_of_all(ranks, {2 * ranks, 3}, dtype);
        const at::Tensor& mine = all[static_cast<std::size_t>(rank)];
        expect_same(all_gather_into_tensor(mine), at::cat(all), what);
        expect_same(broadcast(mine, ranks - 1), all.back(), what);
        Tensors parts;
        for (const at::Tensor& input : all) parts.push_back(input.narrow(0, 2 * rank, 2));
        expect_same(all_to_all_single(mine), at::cat(parts), what);
      }
    });
  }
}

TEST(Collectives, float8_is_moved_and_not_reduced) {
  on_ranks(1, [](int) {
    EXPECT_THAT(thrown_by([] { all_reduce(at::ones({2}).to(at::kFloat8_e4m3fn), "sum"); }), HasSubstr("float8"));
  });
}

TEST(Collectives, reduce_scatter_gives_each_rank_its_part_of_any_dim) {
  for (const int ranks : world_sizes) {
    on_ranks(ranks, [&](int rank) {
      const Tensors all = inputs_of_all(ranks, {6, 6, 2}, at::kFloat);
      const at::Tensor& mine = all[static_cast<std::size_t>(rank)];
      const at::Tensor sum = reduced(all, "sum");
      const std::int64_t part = 6 / ranks;
      expect_same(reduce_scatter_tensor(mine, "sum"), sum.narrow(0, rank * part, part), "dim 0");
      for (const std::int64_t dim : {0, 1, -2, -3}) {
        expect_same(reduce_scatter_tensor(mine, "sum", dim, "world"), sum.narrow(dim, rank * part, part),
                    fmt::format("dim {}", dim));
      }
      const AsyncTensors both = reduce_scatter_tensor_coalesced({mine, mine.to(at::kLong)}, "sum", {1, 0}, "world");
      expect_same(both[0], sum.narrow(1, rank * part, part), "coalesced, dim 1");
      expect_same(both[1], sum.narrow(0, rank * part, part).to(at::kLong), "coalesced, dim 0");
    });
  }
}

TEST(Collectives, all_gather_puts_the_parts_together_along_any_dim) {
  for (const int ranks : world_sizes) {
    on_ranks(ranks, [&](int rank) {
      const Tensors all = inputs_of_all(ranks, {2, 3, 4}, at::kFloat);
      for (const std::int64_t dim : {0, 1, 2, -1, -3}) {
        expect_same(all_gather_tensor(all[static_cast<std::size_t>(rank)], dim), at::cat(all, dim),
                    fmt::format("dim {} of {} ranks", dim, ranks));
      }
    });
  }
}

TEST(Collectives, coalesced_ones_take_tensors_of_many_sizes_and_dtypes) {
  for (const int ranks : world_sizes) {
    on_ranks(ranks, [&](int rank) {
      const std::vector<std::pair<std::vector<std::int64_t>, at::ScalarType>> types = {
          {{6, 2}, at::kFloat}, {{6}, at::kLong}, {{12}, at::kFloat}, {{6, 1}, at::kBFloat16}, {{0, 5}, at::kFloat}};
      Tensors mine;
      std::vector<Tensors> all;
      for (const auto& [sizes, dtype] : types) {
        all.push_back(inputs_of_all(ranks, sizes, dtype, static_cast<int>(all.size())));
        mine.push_back(all.back()[static_cast<std::size_t>(rank)]);
      }
      const AsyncTensors sums = all_reduce_coalesced(mine, "sum");
      const AsyncTensors gathered = all_gather_into_tensor_coalesced(mine);
      const AsyncTensors scattered = reduce_scatter_tensor_coalesced(mine, "max");
      ASSERT_EQ(sums.size(), types.size());
      for (std::size_t i = 0; i < types.size(); ++i) {
        const std::string what = fmt::format("tensor {} on {} ranks", i, ranks);
        const std::int64_t part = all[i][0].size(0) / ranks;
        expect_same(sums[i], reduced(all[i], "sum"), what);
        expect_same(gathered[i], at::cat(all[i]), what);
        expect_same(scattered[i], reduced(all[i], "max").narrow(0, rank * part, part), what);
      }
      EXPECT_TRUE(all_reduce_coalesced({}, "sum").empty());
    });
  }
}

TEST(Collectives, all_to_all_sends_as_many_rows_as_the_splits_say) {
  on_ranks(3, [](int rank) {
    // splits[from][to]
    const std::vector<Splits> splits = {{1, 0, 3}, {2, 2, 0}, {0, 4, 1}};
    Splits from_all;
    Tensors expected;
    for (int from = 0; from < 3; ++from) {
      const Splits& theirs = splits[static_cast<std::size_t>(from)];
      std::int64_t first = 0;
      for (int to = 0; to < rank; ++to) first += theirs[static_cast<std::size_t>(to)];
      const std::int64_t rows = theirs[0] + theirs[1] + theirs[2];
      from_all.push_back(theirs[static_cast<std::size_t>(rank)]);
      expected.push_back(input_of(from, {rows, 2}, at::kInt).narrow(0, first, from_all.back()));
    }
    const Splits& mine = splits[static_cast<std::size_t>(rank)];
    const at::Tensor input = input_of(rank, {mine[0] + mine[1] + mine[2], 2}, at::kInt);
    expect_same(all_to_all_single(input, from_all, mine), at::cat(expected), "with splits");
    EXPECT_THAT(thrown_by([&] { all_to_all_single(input, from_all, {}); }), HasSubstr("give both lists or neither"));
    EXPECT_THAT(thrown_by([&] { all_to_all_single(input, from_all, {1, 1, 1}); }), HasSubstr("add up to 3"));
    EXPECT_THAT(thrown_by([&] { all_to_all_single(at::ones({4}), "world"); }),
                HasSubstr("does not divide by the group's size 3; give the splits"));
  });
}

TEST(Collectives, a_permutation_sends_every_tensor_elsewhere) {
  on_ranks(3, [](int rank) {
    const at::Tensor mine = input_of(rank, {2, 3}, at::kFloat);
    expect_same(permute_tensor(mine, {1, 2, 0}), input_of((rank + 2) % 3, {2, 3}, at::kFloat), "to the next");
    expect_same(permute_tensor(mine, {0, 2, 1}), input_of(rank == 0 ? 0 : 3 - rank, {2, 3}, at::kFloat), "swapped");
    EXPECT_THAT(thrown_by([&] { permute_tensor(mine, {1, 1, 0}); }), HasSubstr("expected each of 0 to 2 once"));
  });
}

TEST(Collectives, a_shard_of_one_dim_becomes_a_shard_of_another) {
  on_ranks(3, [](int rank) {
    const at::Tensor whole = input_of(0, {6, 9, 2}, at::kFloat);
    const at::Tensor rows = whole.narrow(0, 2 * rank, 2);
    const at::Tensor columns = whole.narrow(1, 3 * rank, 3);
    expect_same(shard_dim_alltoall(rows, 0, 1), columns, "rows to columns");
    expect_same(shard_dim_alltoall(columns, 1, -3), rows, "and back");
    EXPECT_THAT(thrown_by([&] { shard_dim_alltoall(rows, 0, 2); }), HasSubstr("dim 2 of size 2 does not divide"));
  });
}

TEST(Collectives, tensors_may_be_without_dims_empty_or_spread_in_memory) {
  on_ranks(2, [](int rank) {
    expect_same(all_reduce(at::tensor(rank + 1).squeeze(), "sum"), at::tensor(3).squeeze(), "no dims");
    expect_same(all_gather_into_tensor(at::tensor(rank + 1).squeeze()), at::tensor({1, 2}), "no dims");
    expect_same(all_gather_tensor(at::tensor(rank + 1).squeeze(), -1), at::tensor({1, 2}), "no dims");
    expect_same(all_reduce(at::empty({0, 3}), "sum"), at::empty({0, 3}), "empty");
    expect_same(all_gather_tensor(at::empty({3, 0}), 0), at::empty({6, 0}), "empty");
    expect_same(reduce_scatter_tensor(at::empty({0}), "sum"), at::empty({0}), "empty");
    const Tensors all = inputs_of_all(2, {4, 6}, at::kFloat);
    const at::Tensor& mine = all[static_cast<std::size_t>(rank)];
    expect_same(all_reduce(mine.t(), "sum"), reduced(all, "sum").t().contiguous(), "transposed");
    expect_same(all_gather_into_tensor(mine.slice(1, 0, 6, 2)), at::cat(all).slice(1, 0, 6, 2), "every second");
    expect_same(all_reduce(at::ones({1}).expand({5}), "sum"), at::full({5}, 2.0F), "expanded");
    EXPECT_THAT(thrown_by([] { reduce_scatter_tensor(at::ones({}), "sum"); }), HasSubstr("without dims"));
    EXPECT_THAT(thrown_by([] {
                  reduce_scatter_tensor(at::ones({3, 4}), "sum");
                }),
                HasSubstr("reduce_scatter_tensor: dim 0 of size 3 does not divide by the group's size 2"));
    EXPECT_THAT(thrown_by([] {
                  reduce_scatter_tensor(at::ones({2, 5}), "sum", -1, "world");
                }),
                HasSubstr("dim 1 of size 5 does not divide by the group's size 2"));
    EXPECT_THAT(thrown_by([] { all_gather_tensor(at::ones({2}), 1); }), HasSubstr("dim 1, expected -1 to 0"));
  });
}

TEST(Collectives, write_into_the_callers_memory_where_they_are_told_to) {
  on_ranks(2, [](int rank) {
    const Tensors all = inputs_of_all(2, {4, 2}, at::kFloat);
    at::Tensor x = all[static_cast<std::size_t>(rank)].clone();
    const std::int64_t version = x._version();
    const AsyncTensor sum = all_reduce_(x, "sum");
    EXPECT_TRUE(sum.unwaited().is_same(x));
    expect_same(sum, reduced(all, "sum"), "in place");
    EXPECT_GT(x._version(), version);

    at::Tensor y = all[static_cast<std::size_t>(rank)].clone();
    broadcast_(y, 1);
    expect_same(wait_tensor(y), all[1], "found by its memory, though the result was dropped");
    expect_same(wait_tensor(y), all[1], "and again");

    Tensors several = {at::full({3}, rank), at::full({2}, rank + 0.5)};
    all_reduce_coalesced_(several, "sum");
    expect_same(wait_tensor(several[1]), at::full({2}, 2.0), "coalesced");
    expect_same(several[0], at::full({3}, 1), "coalesced");

    const at::Tensor mine = all[static_cast<std::size_t>(rank)];
    at::Tensor gathered = at::empty({8, 2});
    EXPECT_TRUE(all_gather_into_tensor_out(mine, gathered).wait().is_same(gathered));
    expect_same(gathered, at::cat(all), "out");
    at::Tensor scattered = at::empty({2, 2});
    expect_same(reduce_scatter_tensor_out(mine, "sum", scattered), reduced(all, "sum").narrow(0, 2 * rank, 2), "out");

    EXPECT_THAT(thrown_by([&] { all_reduce_(mine.t(), "sum"); }), HasSubstr("must be contiguous, got strides [1,2]"));
    EXPECT_THAT(thrown_by([&] { all_gather_into_tensor_out(mine, scattered); }),
                HasSubstr("out is Float[2,2] on cpu, but the result is Float[8,2] on cpu"));
  });
}

TEST(Collectives, the_classic_forms_copy_into_the_callers_tensor) {
  on_ranks(2, [](int rank) {
    const Tensors all = inputs_of_all(2, {4, 2}, at::kFloat);
    const at::Tensor mine = all[static_cast<std::size_t>(rank)];
    at::Tensor columns = mine.t().contiguous().t();
    all_reduce_inplace(columns, "sum");
    EXPECT_TRUE(columns.equal(reduced(all, "sum")));
    const Tensors outputs = all_gather_inplace({at::empty({4, 2}), at::empty({4, 2})}, mine);
    expect_same(outputs[0], all[0], "all_gather_inplace");
    expect_same(outputs[1], all[1], "all_gather_inplace");
    expect_same(all_gather_tensor_inplace(at::empty({4, 4}), mine, 1), at::cat(all, 1), "all_gather_tensor_inplace");
    expect_same(reduce_scatter_tensor_inplace(at::empty({4, 1}), mine, "sum", 1),
                reduced(all, "sum").narrow(1, rank, 1).contiguous(), "reduce_scatter_tensor_inplace");
    expect_same(all_to_all_inplace(at::empty({4, 2}), mine),
                at::cat({all[0].narrow(0, 2 * rank, 2), all[1].narrow(0, 2 * rank, 2)}), "all_to_all_inplace");
    EXPECT_THAT(thrown_by([&] {
                  all_gather_tensor_inplace(at::empty({4, 2}), mine);
                }),
                HasSubstr("the output is [4, 2], but the result is [8, 2]"));
  });
}

TEST(Collectives, messages_go_from_one_rank_to_another) {
  on_ranks(2, [](int rank) {
    const at::Tensor mine = input_of(rank, {2, 3}, at::kFloat);
    if (rank == 0) {
      const AsyncTensor sent = isend(mine.t(), 1, "world", 7);
      EXPECT_EQ(sent.numel(), 0);
      sent.wait();
    } else {
      at::Tensor received = at::empty({3, 2});
      expect_same(irecv(received, 0, "world", 7), input_of(0, {2, 3}, at::kFloat).t().contiguous(), "received");
    }
    using Direction = PeerTransfer::Direction;
    at::Tensor numbers = at::empty({4}, at::kLong);
    at::Tensor floats = at::empty({2, 3});
    const AsyncTensors batch = batch_p2p_ops({{Direction::send, mine, 1 - rank, 1},
                                              {Direction::receive, numbers, 1 - rank, 2},
                                              {Direction::send, at::full({4}, rank), 1 - rank, 2},
                                              {Direction::receive, floats, 1 - rank, 1}});
    batch[0].wait();
    EXPECT_TRUE(batch[3].done()) << "one waits for all";
    expect_same(numbers, at::full({4}, 1 - rank), "numbers");
    expect_same(floats, input_of(1 - rank, {2, 3}, at::kFloat), "floats");
    EXPECT_THAT(thrown_by([&] { isend(mine, 2); }), HasSubstr("isend: to place 2, expected 0 to 1 in world"));
  });
}

TEST(Collectives, wait_tensor_returns_a_tensor_on_which_nobody_works) {
  const at::Tensor x = at::ones({2});
  EXPECT_TRUE(wait_tensor(x).is_same(x));
}

TEST(Collectives, take_all_that_a_group_can_be_said_by) {
  on_ranks(4, [](int rank) {
    const World world = World::current().value();
    const Mesh mesh = world.mesh({{"dp", 2}, {"tp", 2}}).value();
    const GroupHandle all = world.group("world").value();
    ASSERT_TRUE(world.add_name("everybody", "world"));
    const at::Tensor one = at::full({1}, 1 << rank);
    EXPECT_EQ(all_reduce(one, "sum", all).item<int>(), 15);
    EXPECT_EQ(all_reduce(one, "sum", "everybody").item<int>(), 15);
    EXPECT_EQ(all_reduce(one, "sum", {3, 2, 1, 0}).item<int>(), 15);
    const int row = rank < 2 ? 3 : 12;
    EXPECT_EQ(all_reduce(one, "sum", Rows{{0, 1}, {2, 3}}).item<int>(), row);
    EXPECT_EQ(all_reduce(one, "sum", mesh["tp"]).item<int>(), row);
    EXPECT_EQ(all_reduce(one, "sum", {mesh, "tp"}).item<int>(), row);
    EXPECT_EQ(all_reduce(one, "sum", mesh["dp"].value()).item<int>(), rank % 2 == 0 ? 5 : 10);
    EXPECT_THAT(thrown_by([&] { all_reduce(one, "sum", mesh); }), HasSubstr("name the one to communicate along"));
    EXPECT_THAT(thrown_by([&] { all_reduce(one, "sum", "wurld"); }), HasSubstr("did you mean world?"));
    EXPECT_THAT(thrown_by([&] { all_reduce(one, "sum", {(rank + 1) % 4}); }), HasSubstr("is not a member of group"));
  });
}

TEST(Collectives, say_what_is_wrong_with_a_tensor_or_that_there_is_no_world) {
  EXPECT_THAT(thrown_by([] { all_reduce(at::ones({2}), "sum"); }),
              HasSubstr("all_reduce: this process is in no world: call World::join() first"));
  on_ranks(1, [](int) {
    EXPECT_THAT(thrown_by([] { all_reduce(at::Tensor(), "sum"); }), HasSubstr("undefined tensor"));
    EXPECT_THAT(thrown_by([] { all_reduce(at::ones({2, 2}).to_sparse(), "sum"); }), HasSubstr("layout Sparse"));
    EXPECT_THAT(thrown_by([] {
                  all_reduce_coalesced({at::ones({2}), at::ones({2}, at::kMeta)}, "sum");
                }),
                HasSubstr("tensors on cpu and meta in one call"));
    EXPECT_THAT(thrown_by([] { broadcast(at::ones({2}), 1); }), HasSubstr("from place 1, expected 0 to 0 in world"));
    try {
      all_reduce(at::ones({2}), "sum", "nobody");
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
    }
  });
}

TEST(Collectives, work_between_processes) {
  const auto outcomes = on_processes(2, [](World& world) -> std::string {
    const Tensors all = inputs_of_all(2, {512, 64}, at::kFloat);
    const at::Tensor mine = all[static_cast<std::size_t>(world.rank())];
    const AsyncTensor sum = all_reduce(mine, "sum");
    const AsyncTensor gathered = all_gather_tensor(mine, 1);
    const AsyncTensor scattered = reduce_scatter_tensor(mine, "sum", 1, "world");
    if (!gathered->equal(at::cat(all, 1))) return "all_gather";
    if (!scattered->equal((all[0] + all[1]).narrow(1, 32 * world.rank(), 32))) return "reduce_scatter";
    if (!sum->equal(all[0] + all[1])) return "all_reduce";
    return "ok";
  });
  EXPECT_EQ(outcomes[0].said, "ok");
  EXPECT_EQ(outcomes[1].said, "ok");
}

}  // namespace
}  // namespace hocket
