// all_to_all with a different number of elements from each rank to each.
#include <gtest/gtest.h>

#include <numeric>

#include "ranks.h"
#include "support/naive_collectives.h"
#include "support/random.h"

namespace hocket {
namespace {

using Splits = std::vector<std::vector<std::int64_t>>;  // [from][to]

Splits random_splits(std::int32_t ranks, std::int64_t most, int zeros, Random& random) {
  Splits splits(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(static_cast<std::size_t>(ranks)));
  for (auto& from : splits) {
    for (std::int64_t& count : from) count = random.chance(zeros) ? 0 : random.between(1, most);
  }
  return splits;
}

// Everybody knows all splits here; the communicator only gets those of its own rank.
void exchange(const Communicator& group, Dtype dtype, const Splits& splits, std::int64_t block, std::uint64_t seed,
              Complaints& complaints) {
  const auto place = static_cast<std::size_t>(group.group().place());
  naive::Inputs inputs;
  std::vector<std::int64_t> gets;
  for (std::size_t from = 0; from < splits.size(); ++from) {
    inputs.push_back(naive::Input::random(dtype, seed * 100 + from));
    gets.push_back(splits[from][place]);
  }
  const std::int64_t sent = std::accumulate(splits[place].begin(), splits[place].end(), std::int64_t{0});
  const naive::Buffer input = inputs[place].part(0, sent);
  const naive::Buffer expected = naive::all_to_all(inputs, splits, group.group().place());
  naive::Buffer output(expected.size() + 64, std::byte{0x5a});
  CallOptions options;
  options.block = block;
  options.blocking = seed % 2 == 0;
  const naive::Buffer before = input;
  const Work work = group.all_to_all(input.data(), splits[place], output.data() + 32, gets, dtype, options);
  if (!complaints.well(work, "all_to_all")) return;
  naive::Buffer whole(32, std::byte{0x5a});
  whole.insert(whole.end(), expected.begin(), expected.end());
  whole.insert(whole.end(), 32, std::byte{0x5a});
  if (output != whole) complaints.add("seed {}: wrong output", seed);
  if (input != before) complaints.add("seed {}: the input was written", seed);
}

TEST(Splits, bring_everyone_what_was_meant_for_it) {
  for (const Kind kind : both_kinds) {
    for (const std::int32_t ranks : {1, 2, 3, 4, 8}) {
      expect_well(kind, ranks, [&](World& world, Complaints& complaints) {
        const Communicator group = group_of(world);
        Random random(static_cast<std::uint64_t>(ranks));
        for (std::uint64_t seed = 0; seed < 30 && complaints.none(); ++seed) {
          const Dtype dtype = random.pick({Dtype::f32, Dtype::u8, Dtype::f64, Dtype::f8e5m2});
          const std::int64_t most = random.pick<std::int64_t>({1, 10, 1'000, 30'000});
          const Splits splits = random_splits(ranks, most, random.pick({0, 30, 80, 100}), random);
          exchange(group, dtype, splits, random.pick<std::int64_t>({0, 1, 5'000, 1 << 20}), seed, complaints);
        }
      });
    }
  }
}

TEST(Splits, may_send_much_to_one_and_nothing_to_the_others) {
  expect_well(Kind::threads, 3, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    exchange(group, Dtype::i32, {{0, 400'000, 0}, {0, 0, 0}, {1, 0, 0}}, 0, 1, complaints);
    exchange(group, Dtype::i32, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 2, complaints);
  });
}

TEST(Splits, in_place_exchanges_where_they_are_symmetric) {
  expect_well(Kind::threads, 3, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    const Splits splits = {{2, 5, 0}, {5, 1, 3}, {0, 3, 4}};
    const auto place = static_cast<std::size_t>(world.rank());
    naive::Inputs inputs;
    for (std::uint64_t from = 0; from < 3; ++from) inputs.push_back(naive::Input::random(Dtype::f32, from));
    const std::int64_t all = std::accumulate(splits[place].begin(), splits[place].end(), std::int64_t{0});
    naive::Buffer data = inputs[place].part(0, all);
    const Work work = group.all_to_all(data.data(), splits[place], data.data(), splits[place], Dtype::f32);
    complaints.well(work, "all_to_all");
    if (data != naive::all_to_all(inputs, splits, world.rank())) complaints.add("wrong");
  });
}

TEST(Splits, that_contradict_each_other_are_an_error_that_names_both_sides) {
  for (const Kind kind : both_kinds) {
    const auto said = run_world(kind, 2, [](World& world) {
      const Communicator group = group_of(world);
      const std::vector<std::int64_t> sends = {1, 3};
      const std::vector<std::int64_t> gets = {1, 2};
      std::vector<float> input(4);
      std::vector<float> output(3, 9.0F);
      const auto& out = world.rank() == 0 ? sends : gets;
      const std::vector<std::int64_t> in =
          world.rank() == 0 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2, 2};
      const Status status = group.all_to_all(input.data(), out, output.data(), in, Dtype::f32).wait();
      return status ? "no error" : status.error().message;
    });
    for (const std::string& one : said) EXPECT_NE(one.find("rank "), std::string::npos) << one;
  }
}

}  // namespace
}  // namespace hocket
