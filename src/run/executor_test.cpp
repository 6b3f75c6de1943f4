#include "hocket/run/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"
#include "hocket/plan/plan.h"
#include "hocket/run/all_ranks.h"
#include "support/plain_kernels.h"
#include "support/world_threads.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Floats = std::vector<float>;

Program planned(const std::string& text) {
  const auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  const auto lowered = lower(*graph);
  EXPECT_TRUE(lowered) << lowered.error().to_string();
  return plan(lowered->program)->program;
}

// A rank with a program whose only input is %x.
class Rank1 {
 public:
  Rank1(const World& world, const Program& program, const ExecutorOptions& options = {}) {
    auto made = Executor::create(program, kernels, world, options);
    if (!made) ADD_FAILURE() << made.error().to_string(), std::abort();
    executor = std::move(*made);
  }
  Status run(Floats& x) const {
    return executor->run(std::vector<InputMemory>{{input(), reinterpret_cast<std::byte*>(x.data())}});
  }
  Floats result(std::size_t which) const {
    const OperandId operand = executor->program().results()[which];
    const TypeView type = executor->program().type(operand);
    std::int64_t count = 1;
    for (const Dim dim : type.shape) count *= dim.value();
    const auto* data = reinterpret_cast<const float*>(executor->memory(executor->program().operand(operand).buffer));
    return {data + type.offset.value(), data + type.offset.value() + count};
  }
  BufferId input() const {
    for (std::size_t i = 0; i < executor->program().buffers().size(); ++i) {
      if (executor->program().name(BufferId(i)) == "x") return BufferId(i);
    }
    return BufferId::none();
  }

  PlainKernels kernels;
  std::unique_ptr<Executor> executor;
};

void on_ranks(int count, const std::function<void(const World&)>& body) {
  auto worlds = World::threads(count, {.join_timeout = 20s, .timeout = 20s});
  ASSERT_TRUE(worlds) << worlds.error().message;
  each_in_a_thread(std::move(*worlds), body);
}

Floats numbers_of(std::int32_t rank, std::size_t count) {
  Floats numbers(count);
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(rank) * 100);
  return numbers;
}

TEST(Executor, runs_steps_and_collectives_again_and_again_on_inputs_that_move) {
  const Program program = planned(R"(graph @g(%x: f32[4]) {
  group @both = ranks[0,1]
  %n = aten.neg(%x)
  %sum = _c10d_functional.all_reduce(%n, "max", @both)
  %other = aten.add.Tensor(%x, %x)
  %w = _c10d_functional.wait_tensor(%sum)
  %y = aten.add.Tensor(%w, %other)
  return %y
})");
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program);
    for (int run = 0; run < 3; ++run) {
      Floats x = numbers_of(world.rank() + run, 4);
      ASSERT_TRUE(rank.run(x));
      Floats expected;
      for (std::size_t i = 0; i < 4; ++i)
        expected.push_back(-static_cast<float>(run * 100 + static_cast<int>(i)) + 2 * x[i]);
      EXPECT_EQ(rank.result(0), expected);
    }
  });
}

TEST(Executor, knows_all_collectives) {
  const Program program = planned(R"(graph @g(%x: f32[4]) {
  group @both = ranks[0,1]
  %all = _c10d_functional.all_gather_into_tensor(%x, 2, @both)
  %part = _c10d_functional.reduce_scatter_tensor(%x, "sum", 2, @both)
  %swapped = _c10d_functional.all_to_all_single(%x, [], [], @both)
  %uneven = _c10d_functional.all_to_all_single(%x, [2, 2], [2, 2], @both)
  %last = _c10d_functional.broadcast(%x, 1, @both)
  %w5 = _c10d_functional.wait_tensor(%last)
  %sums = _c10d_functional.all_reduce_coalesced([%x, %w5], "sum", @both)
  %small = _c10d_functional.all_reduce(%x, "sum", @both)
  %w1 = _c10d_functional.wait_tensor(%all)
  %w2 = _c10d_functional.wait_tensor(%part)
  %w3 = _c10d_functional.wait_tensor(%swapped)
  %w4 = _c10d_functional.wait_tensor(%uneven)
  %s0 = getitem(%sums, 0)
  %s1 = getitem(%sums, 1)
  %w6 = _c10d_functional.wait_tensor(%s0)
  %w7 = _c10d_functional.wait_tensor(%s1)
  %w8 = _c10d_functional.wait_tensor(%small)
  return %w1, %w2, %w3, %w4, %w5, %w6, %w8, %w7
})");
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program);
    Floats x = numbers_of(world.rank(), 4);
    const Status status = rank.run(x);
    ASSERT_TRUE(status) << status.error().to_string();
    const bool first = world.rank() == 0;
    EXPECT_THAT(rank.result(0), ElementsAre(0, 1, 2, 3, 100, 101, 102, 103));
    EXPECT_EQ(rank.result(1), first ? Floats({100, 102}) : Floats({104, 106}));
    EXPECT_EQ(rank.result(2), first ? Floats({0, 1, 100, 101}) : Floats({2, 3, 102, 103}));
    EXPECT_EQ(rank.result(3), rank.result(2));
    EXPECT_THAT(rank.result(4), ElementsAre(100, 101, 102, 103));
    EXPECT_THAT(rank.result(5), ElementsAre(100, 102, 104, 106));
    EXPECT_THAT(rank.result(6), ElementsAre(100, 102, 104, 106));
    EXPECT_THAT(rank.result(7), ElementsAre(200, 202, 204, 206));
  });
}

constexpr const char* fails_between = R"(graph @g(%x: f32[4]) {
  group @both = ranks[0,1]
  %sum = _c10d_functional.all_reduce(%x, "max", @both)
  %broken = aten.relu(%x)
  %w = _c10d_functional.wait_tensor(%sum)
  %y = aten.add.Tensor(%w, %broken)
  return %y
})";

TEST(Executor, collectives_along_a_later_dim_move_its_rows) {
  const Program program = planned(R"(graph @g(%x: f32[2,1,4]) {
  group @both = ranks[0,1]
  %all = hocket.all_gather_along(%x, 2, 2, @both)
  %part = hocket.reduce_scatter_along(%x, "sum", -1, 2, @both)
  %first = hocket.all_gather_along(%x, 0, 2, @both)
  %w1 = _c10d_functional.wait_tensor(%all)
  %w2 = _c10d_functional.wait_tensor(%part)
  %w3 = _c10d_functional.wait_tensor(%first)
  return %w1, %w2, %w3
})");
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program);
    Floats x = numbers_of(world.rank(), 8);
    ASSERT_TRUE(rank.run(x));
    EXPECT_THAT(rank.result(0), ElementsAre(0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107));
    const float at = world.rank() == 0 ? 0 : 4;  // the sum of the ranks' elements is 100 and twice their index
    EXPECT_THAT(rank.result(1), ElementsAre(100 + at, 102 + at, 108 + at, 110 + at));
    EXPECT_THAT(rank.result(2), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107));
  });
}

// Each rank's x is 100 times its rank and the index: [ranks, experts, rows] for the first, [experts, ranks, rows] for the second.
TEST(Executor, exchanges_take_rows_from_where_they_lie) {
  constexpr int ranks = 3, experts = 2, rows = 2;
  const Program program = planned(R"(graph @g(%x: f32[12]) {
  group @all = ranks[0,1,2]
  %by_rank = aten.view(%x, [3, 2, 2])
  %by_expert = aten.view(%x, [2, 3, 2])
  %there = hocket.all_to_all_along(%by_rank, 2, 0, @all)
  %back = hocket.all_to_all_along(%by_expert, 0, 1, @all)
  %w1 = _c10d_functional.wait_tensor(%there)
  %w2 = _c10d_functional.wait_tensor(%back)
  return %w1, %w2
})");
  on_ranks(ranks, [&](const World& world) {
    const Rank1 rank(world, program);
    for (int run = 0; run < 3; ++run) {
      Floats x = numbers_of(world.rank() + run, 12);
      const Status status = rank.run(x);
      ASSERT_TRUE(status) << status.error().to_string();
      Floats there;
      Floats back;
      for (int e = 0; e < experts; ++e) {
        for (int from = 0; from < ranks; ++from) {
          for (int r = 0; r < rows; ++r)
            there.push_back(static_cast<float>((from + run) * 100 + (world.rank() * experts + e) * rows + r));
        }
      }
      for (int from = 0; from < ranks; ++from) {
        for (int e = 0; e < experts; ++e) {
          for (int r = 0; r < rows; ++r)
            back.push_back(static_cast<float>((from + run) * 100 + (e * ranks + world.rank()) * rows + r));
        }
      }
      EXPECT_EQ(rank.result(0), there);
      EXPECT_EQ(rank.result(1), back);
    }
  });
}

TEST(Executor, what_is_appended_to_an_exchange_lies_behind_it) {
  const Program program = planned(R"(graph @g(%x: f32[4]) {
  group @both = ranks[0,1]
  %tail = aten.add.Tensor(%x, %x)
  %even = hocket.all_to_all_single(%x, [], [], @both, %tail)
  %given = hocket.all_to_all_single(%x, [2, 2], [2, 2], @both, %x)
  %by_rank = aten.view(%x, [2, 2])
  %turned = hocket.all_to_all_along(%by_rank, 1, 0, @both, %tail)
  %w1 = _c10d_functional.wait_tensor(%even)
  %w2 = _c10d_functional.wait_tensor(%given)
  %w3 = _c10d_functional.wait_tensor(%turned)
  return %w1, %w2, %w3
})");
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program);
    Floats x = numbers_of(world.rank(), 4);
    const Status status = rank.run(x);
    ASSERT_TRUE(status) << status.error().to_string();
    Floats expected = world.rank() == 0 ? Floats({0, 1, 100, 101}) : Floats({2, 3, 102, 103});
    Floats doubled = expected;
    for (const float value : x) {
      expected.push_back(value);
      doubled.push_back(2 * value);
    }
    EXPECT_EQ(rank.result(0), doubled);
    EXPECT_EQ(rank.result(1), expected);
    EXPECT_EQ(rank.result(2), doubled);
  });
}

TEST(Executor, a_rank_alone_exchanges_with_itself) {
  const Program program = planned(R"(graph @g(%x: f32[4]) {
  group @own = ranks[0]
  %by_rank = aten.view(%x, [1, 2, 2])
  %turned = hocket.all_to_all_along(%by_rank, 2, 0, @own)
  %w = _c10d_functional.wait_tensor(%turned)
  return %w
})");
  on_ranks(1, [&](const World& world) {
    const Rank1 rank(world, program);
    Floats x = numbers_of(3, 4);
    const Status status = rank.run(x);
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(rank.result(0), x);
  });
}

TEST(Executor, a_kernel_that_fails_is_named_and_the_next_run_is_well) {
  const Program program = planned(fails_between);
  on_ranks(2, [&](const World& world) {
    Rank1 rank(world, program);
    Floats x = numbers_of(world.rank(), 4);
    rank.kernels.relu_fails = true;
    const Status status = rank.run(x);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().to_string(), AllOf(HasSubstr("broken"), HasSubstr("the kernel broke")));
    rank.kernels.relu_fails = false;
    ASSERT_TRUE(rank.run(x));
    EXPECT_FLOAT_EQ(rank.result(0)[3], 103 + x[3]);
  });
}

TEST(Executor, names_a_rank_that_left_and_the_step_that_needed_it) {
  const Program program = planned(fails_between);
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program);
    if (world.rank() == 1) return;
    Floats x = numbers_of(0, 4);
    const Status status = rank.run(x);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().to_string(), AllOf(HasSubstr("rank 1"), HasSubstr("step \"w\"")));
  });
}

// Rank 0 waits for rank 1 in a group whose ranks are both well, but rank 1 has failed before it came there.
TEST(Executor, tells_ranks_of_all_groups_of_the_program_why_it_failed) {
  const auto step_of = [](int rank) {
    const std::string first =
        "  %a = _c10d_functional.all_reduce(%x, \"max\", @late)\n"
        "  %b = _c10d_functional.wait_tensor(%a)\n";
    const std::string second =
        "  %c = _c10d_functional.all_reduce(%x, \"max\", @pair)\n"
        "  %d = _c10d_functional.wait_tensor(%c)\n";
    return planned("graph @g(%x: f32[4]) {\n  group @pair = ranks[0,1]\n  group @late = ranks[1,2]\n" +
                   (rank > 0 ? first : "") + (rank < 2 ? second : "") + "  return " + (rank < 2 ? "%d" : "%b") +
                   "\n}\n");
  };
  on_ranks(3, [&](const World& world) {
    const Rank1 rank(world, step_of(world.rank()));
    ASSERT_TRUE(world.communicator()->barrier().wait());
    if (world.rank() == 2) return;
    const auto start = std::chrono::steady_clock::now();
    Floats x = numbers_of(world.rank(), 4);
    const Status status = rank.run(x);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank 2"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "it waited until the timeout";
  });
}

TEST(Executor, refuses_to_run_without_an_input) {
  const Program program = planned("graph @g(%x: f32[4]) {\n  %y = aten.neg(%x)\n  return %y\n}");
  on_ranks(1, [&](const World& world) {
    const Rank1 rank(world, program);
    const Status status = rank.executor->run({});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "no memory was given for the input %x");
  });
}

TEST(Executor, refuses_a_step_without_a_kernel) {
  const Program program = planned("graph @g(%x: f32[4]) {\n  %y = aten.exp(%x)\n  return %y\n}");
  on_ranks(1, [&](const World& world) {
    PlainKernels kernels;
    const auto executor = Executor::create(program, kernels, world);
    ASSERT_FALSE(executor);
    EXPECT_THAT(executor.error().to_string(),
                AllOf(HasSubstr("no kernel for aten.exp.default"), HasSubstr("step \"y\"")));
  });
}

TEST(Executor, records_when_what_happened) {
  const Program program = planned(fails_between);
  on_ranks(2, [&](const World& world) {
    const Rank1 rank(world, program, {.record = true});
    Floats x = numbers_of(world.rank(), 4);
    ASSERT_TRUE(rank.run(x));
    const RunRecord& record = rank.executor->last_run();
    ASSERT_EQ(record.steps.size(), program.size());
    Nanoseconds before;
    for (const StepRecord& step : record.steps) {
      EXPECT_LE(before, step.start);
      EXPECT_LE(step.start, step.end);
      EXPECT_LE(step.complete, record.total);
      before = step.end;
    }
    EXPECT_LE(before, record.total);
  });
}

TEST(AllRanks, give_each_other_lists_of_any_length) {
  on_ranks(3, [](const World& world) {
    AllRanks all(world.communicator().value());
    std::vector<std::int64_t> mine(static_cast<std::size_t>(world.rank()), world.rank() * 10);
    const auto lists = all.gather(mine);
    ASSERT_TRUE(lists) << lists.error().message;
    EXPECT_THAT(*lists, ElementsAre(ElementsAre(), ElementsAre(10), ElementsAre(20, 20)));
  });
}

}  // namespace
}  // namespace hocket
