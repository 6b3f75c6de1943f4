// One communication for many buffers.
#include <gtest/gtest.h>

#include <algorithm>

#include "collective_case.h"
#include "support/random.h"

namespace hocket {
namespace {

constexpr std::byte poison{0x5a};

// Parts of one rank with room between them, and what must be there afterwards.
class ManyParts {
 public:
  // The parts take the data of these cases in turn.
  ManyParts(const std::vector<PreparedCase>& cases, const std::vector<std::int64_t>& counts, std::int32_t place,
            bool in_place)
      : inputs_(counts.size()), outputs_(counts.size()), expected_(counts.size()) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      PreparedCase one = cases[i % cases.size()];
      one.facts.count = counts[i];
      const naive::Buffer input = one.inputs[static_cast<std::size_t>(place)].part(0, one.input_elements());
      expected_[i] = one.expected(place);
      outputs_[i].assign(expected_[i].size() + 2 * margin, poison);
      inputs_[i] = input;
      if (in_place) std::copy(input.begin(), input.end(), outputs_[i].begin() + margin);
      parts_.push_back(
          {in_place ? outputs_[i].data() + margin : inputs_[i].data(), outputs_[i].data() + margin, counts[i]});
    }
  }

  const std::vector<Transfer>& parts() const { return parts_; }

  void check(Complaints& complaints) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      naive::Buffer whole(margin, poison);
      whole.insert(whole.end(), expected_[i].begin(), expected_[i].end());
      whole.insert(whole.end(), margin, poison);
      if (outputs_[i] != whole) complaints.add("part {} of {} elements is wrong", i, parts_[i].count);
    }
  }

 private:
  static constexpr std::size_t margin = 33;
  std::vector<naive::Buffer> inputs_;
  std::vector<naive::Buffer> outputs_;
  std::vector<naive::Buffer> expected_;
  std::vector<Transfer> parts_;
};

std::vector<std::vector<std::int64_t>> lists_of_counts() {
  Random random(3);
  std::vector<std::int64_t> thousand;
  for (int i = 0; i < 1000; ++i) thousand.push_back(random.between(0, 60));
  return {{}, {0}, {5}, {1, 2, 3}, {0, 0, 4, 0}, {9, 1}, {2, 0, 2}, {40'000, 0, 1, 50'000, 3}, {0, 0, 0}, thousand};
}

Work call(const Communicator& group, Operator op, const std::vector<Transfer>& parts, const CallOptions& options) {
  if (op == Operator::all_gather) return group.all_gather_coalesced(parts, Dtype::f32, options);
  if (op == Operator::reduce_scatter) {
    return group.reduce_scatter_coalesced(parts, Dtype::f32, ReduceOp::sum, options);
  }
  return group.all_reduce_coalesced(parts, Dtype::f32, ReduceOp::sum, options);
}

void go_through(Kind kind, std::int32_t ranks, Operator op, CollectiveAlgorithm algorithm, std::int64_t block,
                bool in_place) {
  CollectiveCase facts;
  facts.op = op;
  std::vector<PreparedCase> cases;
  for (std::uint64_t seed = 0; seed < 5; ++seed) cases.emplace_back(facts, ranks, seed);
  expect_well(kind, ranks, [&](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    for (const std::vector<std::int64_t>& counts : lists_of_counts()) {
      ManyParts parts(cases, counts, world.rank(), in_place);
      CallOptions options;
      options.algorithm = algorithm;
      options.block = block;
      options.blocking = counts.size() % 2 == 0;
      if (!complaints.well(call(group, op, parts.parts(), options), fmt::format("{} parts", counts.size()))) return;
      parts.check(complaints);
    }
  });
}

TEST(Coalesced, an_all_reduce_gives_each_part_what_it_would_get_alone) {
  for (const std::int32_t ranks : {1, 2, 3, 8}) {
    for (const CollectiveAlgorithm algorithm :
         {CollectiveAlgorithm::automatic, CollectiveAlgorithm::one_shot, CollectiveAlgorithm::two_shot}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, name_of(algorithm)));
      go_through(Kind::threads, ranks, Operator::all_reduce, algorithm, 0, false);
      go_through(Kind::threads, ranks, Operator::all_reduce, algorithm, 1 << 14, true);
    }
  }
}

TEST(Coalesced, an_all_gather_and_a_reduce_scatter_do_so_too) {
  for (const std::int32_t ranks : {1, 2, 3, 8}) {
    for (const Operator op : {Operator::all_gather, Operator::reduce_scatter}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, name_of(op)));
      go_through(Kind::threads, ranks, op, CollectiveAlgorithm::automatic, 0, false);
      go_through(Kind::threads, ranks, op, CollectiveAlgorithm::automatic, 1 << 14, false);
    }
  }
}

TEST(Coalesced, works_between_processes) {
  for (const Operator op : {Operator::all_reduce, Operator::all_gather, Operator::reduce_scatter}) {
    go_through(Kind::processes, 3, op, CollectiveAlgorithm::automatic, 0, false);
  }
}

}  // namespace
}  // namespace hocket
