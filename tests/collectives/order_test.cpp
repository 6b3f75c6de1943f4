// Many calls under way at once: their order, and who waits for whom.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "ranks.h"
#include "support/random.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t count = 300;

// Number `call` of rank `rank`, and the sum of all ranks' ones.
std::vector<std::int32_t> numbers_of(std::int32_t call, std::int32_t rank) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), call * 1'000 + rank);
  return numbers;
}

std::vector<std::int32_t> sum_of(std::int32_t call, const Ranks& ranks) {
  std::vector<std::int32_t> sum(count);
  for (const std::int32_t rank : ranks) {
    const std::vector<std::int32_t> numbers = numbers_of(call, rank);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += numbers[i];
  }
  return sum;
}

// All-reduces in place, some of them under way.
class Calls {
 public:
  Calls(Communicator group, std::int32_t rank, std::int32_t calls) : group_(std::move(group)) {
    for (std::int32_t call = 0; call < calls; ++call) data_.push_back(numbers_of(call, rank));
  }
  void start(std::size_t call, const CallOptions& options = {}) {
    works_.resize(data_.size());
    std::vector<std::int32_t>& data = data_[call];
    works_[call] = group_.all_reduce(data.data(), data.data(), count, Dtype::i32, ReduceOp::sum, options);
  }
  void start_all() {
    for (std::size_t call = 0; call < data_.size(); ++call) start(call);
  }
  const Work& work(std::size_t call) const { return works_[call]; }
  void check(std::size_t call, Complaints& complaints) const {
    complaints.well(works_[call], "all_reduce");
    if (data_[call] != sum_of(static_cast<std::int32_t>(call), group_.group().ranks())) {
      complaints.add("call {} gave a wrong sum", call);
    }
  }

 private:
  Communicator group_;
  std::vector<std::vector<std::int32_t>> data_;
  std::vector<Work> works_;
};

TEST(Order, calls_under_way_may_be_waited_for_in_any_order) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 3, [](World& world, Complaints& complaints) {
      constexpr std::int32_t many = 200;
      Calls calls(group_of(world), world.rank(), many);
      calls.start_all();
      std::vector<std::size_t> order(many);
      std::iota(order.begin(), order.end(), std::size_t{0});
      Random random(static_cast<std::uint64_t>(world.rank()));
      random.shuffle(order);
      for (const std::size_t call : order) calls.check(call, complaints);
    });
  }
}

TEST(Order, a_blocking_call_comes_after_those_before_it) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      Calls calls(group_of(world), world.rank(), 60);
      for (std::size_t call = 0; call < 60; ++call) {
        calls.start(call, call % 6 == 5 ? blocking() : CallOptions{});
        if (call % 6 != 5) continue;
        for (std::size_t before = call - 5; before <= call; ++before) {
          if (!calls.work(before).done()) complaints.add("call {} is not done after {}", before, call);
          calls.check(before, complaints);
        }
      }
    });
  }
}

TEST(Order, calls_make_progress_while_nobody_waits) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      Calls calls(group_of(world), world.rank(), 20);
      calls.start_all();
      const auto end = std::chrono::steady_clock::now() + 30s;
      while (!calls.work(19).done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
      for (std::size_t call = 0; call < 20; ++call) {
        if (!calls.work(call).done()) complaints.add("call {} is not done", call);
        calls.check(call, complaints);
      }
    });
  }
}

TEST(Order, results_that_nobody_waits_for_are_there_all_the_same) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 3, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      std::vector<std::vector<std::int32_t>> data;
      for (std::int32_t call = 0; call < 50; ++call) data.push_back(numbers_of(call, world.rank()));
      for (auto& one : data) group.all_reduce(one.data(), one.data(), count, Dtype::i32, ReduceOp::sum);
      complaints.well(group.barrier(), "barrier");
      for (std::int32_t call = 0; call < 50; ++call) {
        if (data[static_cast<std::size_t>(call)] != sum_of(call, {0, 1, 2})) complaints.add("call {} is wrong", call);
      }
    });
  }
}

TEST(Order, a_work_may_be_copied_and_waited_for_by_many_threads) {
  expect_well(Kind::threads, 2, [](World& world, Complaints& complaints) {
    Calls calls(group_of(world), world.rank(), 40);
    calls.start_all();
    std::atomic<int> well = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i, last = calls.work(39)] {
        const std::size_t call = static_cast<std::size_t>(i) * 9;
        const Work copy = calls.work(call);
        if (copy.wait() && copy.wait() && copy.done() && last.wait()) ++well;
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (well != 4) complaints.add("only {} threads of 4 waited well", well.load());
    for (std::size_t call = 0; call < 40; ++call) calls.check(call, complaints);
  });
}

TEST(Order, a_group_whose_peer_is_late_does_not_hold_up_another) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 3, [](World& world, Complaints& complaints) {
      const Communicator all = group_of(world);
      if (world.rank() == 2) {
        // Comes to the large group only when the small one is long done: rank 0 says so.
        std::int32_t go = 0;
        complaints.well(all.irecv(&go, 1, Dtype::i32, 0), "receive");
        Calls calls(all, 2, 1);
        calls.start_all();
        return calls.check(0, complaints);
      }
      const Communicator pair = group_of(world, {0, 1});
      Calls late(all, world.rank(), 1);
      late.start_all();
      Calls calls(pair, world.rank(), 30);
      calls.start_all();
      for (std::size_t call = 0; call < 30; ++call) calls.check(call, complaints);
      if (late.work(0).done()) complaints.add("a call is done though a rank has not come to it");
      complaints.well(pair.barrier(blocking()), "barrier");
      std::int32_t go = 1;
      if (world.rank() == 0) complaints.well(all.isend(&go, 1, Dtype::i32, 2), "send");
      late.check(0, complaints);
    });
  }
}

TEST(Order, waiting_for_a_while_says_that_it_goes_on) {
  expect_well(Kind::threads, 2, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    if (world.rank() == 1) std::this_thread::sleep_for(50ms);
    const Work barrier = group.barrier();
    const Result<bool> soon = barrier.wait_for(1ms);
    if (world.rank() == 0 && (!soon || *soon)) complaints.add("done before the other came");
    const Result<bool> later = barrier.wait_for(20s);
    if (!later || !*later) complaints.add("never done");
    if (const Result<bool> again = barrier.wait_for(0ns); !again || !*again) complaints.add("done no more");
  });
}

// Random groups of the world, random operators, all in one global order; each rank makes the calls that it is part of.
void run_sequence(Kind kind, std::int32_t ranks, std::uint64_t seed, int calls) {
  SCOPED_TRACE(fmt::format("{} {}, seed {}", ranks, name_of(kind), seed));
  expect_well(kind, ranks, [&](World& world, Complaints& complaints) {
    Random random(seed);
    const std::int32_t me = world.rank();
    struct Open {
      std::vector<std::int32_t> data;
      std::vector<std::int32_t> expected;
      Work work;
    };
    std::vector<std::unique_ptr<Open>> open;
    for (int call = 0; call < calls; ++call) {
      Ranks members;
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        if (random.chance(50)) members.push_back(rank);
      }
      const int what = static_cast<int>(random.below(4));
      const auto elements = static_cast<std::size_t>(random.pick<std::int64_t>({1, 5, 100, 20'000}));
      const bool waits = random.chance(20);
      const auto found = std::find(members.begin(), members.end(), me);
      if (found == members.end()) continue;
      const Communicator group = group_of(world, members);
      auto one = std::make_unique<Open>();
      const std::size_t size = members.size();
      const CallOptions options = waits ? blocking() : CallOptions{};
      const std::int64_t n = static_cast<std::int64_t>(elements);
      if (what == 0) {
        one->data.assign(elements, call + me);
        one->expected.assign(elements, std::accumulate(members.begin(), members.end(), call * static_cast<int>(size)));
        one->work = group.all_reduce(one->data.data(), one->data.data(), n, Dtype::i32, ReduceOp::sum, options);
      } else if (what == 1) {
        one->data.assign(elements * size, -1);
        const auto own = static_cast<std::size_t>(found - members.begin()) * elements;
        std::fill_n(one->data.begin() + static_cast<std::ptrdiff_t>(own), elements, call * 10 + me);
        for (const std::int32_t rank : members) one->expected.insert(one->expected.end(), elements, call * 10 + rank);
        one->work = group.all_gather(one->data.data() + own, one->data.data(), n, Dtype::i32, options);
      } else if (what == 2) {
        const auto source = static_cast<std::int32_t>(static_cast<std::size_t>(call) % size);
        one->data.assign(elements, call * 10 + me);
        one->expected.assign(elements, call * 10 + members[static_cast<std::size_t>(source)]);
        one->work = group.broadcast(one->data.data(), one->data.data(), n, Dtype::i32, source, options);
      } else {
        one->data.assign(elements * size, call * 10 + me);
        for (const std::int32_t rank : members) one->expected.insert(one->expected.end(), elements, call * 10 + rank);
        one->work = group.all_to_all(one->data.data(), one->data.data(), n, Dtype::i32, options);
      }
      open.push_back(std::move(one));
    }
    for (std::size_t i = open.size(); i-- > 0;) {
      complaints.well(open[i]->work, "call");
      if (open[i]->data != open[i]->expected) complaints.add("seed {}: call {} of this rank is wrong", seed, i);
    }
  });
}

TEST(Order, overlapping_groups_may_be_used_in_any_order_that_all_agree_on) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    run_sequence(Kind::threads, 3 + static_cast<std::int32_t>(seed % 3), seed, 150);
    run_sequence(Kind::processes, 4, seed + 100, 150);
  }
}

TEST(LongOrder, overlapping_groups_may_be_used_in_any_order_that_all_agree_on) {
  for (std::uint64_t seed = 1'000; seed < 1'100; ++seed) {
    run_sequence(seed % 2 == 0 ? Kind::threads : Kind::processes, 2 + static_cast<std::int32_t>(seed % 7), seed, 500);
  }
}

}  // namespace
}  // namespace hocket
