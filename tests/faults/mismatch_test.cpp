// Ranks that do not make the same calls: each way to differ is noticed on every rank, before anything is written.
#include <gtest/gtest.h>

#include <barrier>

#include "launched.h"
#include "planned_call.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using Kind = PlannedCall::Kind;
using Sequence = std::vector<PlannedCall>;

enum class Mutation {
  operation,
  count,
  dtype,
  reduce_op,
  source,
  swapped,
  missing,
  extra,
  coalescing,
  factor,
  splits,
  size_of_allocation,
};
constexpr int mutations = 12;

constexpr auto short_timeout = 300ms;  // only where a call is missing at the end
constexpr auto long_timeout = 20s;

Kind kind_for(Mutation mutation, Random& random) {
  const auto any = static_cast<Kind>(random.between(1, static_cast<int>(Kind::broadcast)));
  switch (mutation) {
    case Mutation::reduce_op: return random.pick({Kind::all_reduce, Kind::reduce_scatter, Kind::coalesced_all_reduce});
    case Mutation::factor: return random.pick({Kind::all_reduce, Kind::reduce_scatter});
    case Mutation::source: return Kind::broadcast;
    case Mutation::coalescing:
      return random.pick({Kind::coalesced_all_reduce, Kind::coalesced_all_gather, Kind::coalesced_reduce_scatter});
    case Mutation::splits: return Kind::unequal_all_to_all;
    case Mutation::size_of_allocation: return Kind::allocate;
    default: return any;
  }
}

// Changes the call at `at` into another one that is as good by itself.
void mutate(Mutation mutation, Sequence& calls, std::size_t at, std::int32_t ranks, Random& random) {
  PlannedCall& call = calls[at];
  switch (mutation) {
    case Mutation::operation: call.kind = call.kind == Kind::all_gather ? Kind::broadcast : Kind::all_gather; return;
    case Mutation::count: call.count += random.between(1, 3); return;
    case Mutation::dtype: call.dtype = call.dtype == Dtype::i32 ? Dtype::f32 : Dtype::i32; return;
    case Mutation::reduce_op: call.op = call.op == ReduceOp::max ? ReduceOp::min : ReduceOp::max; return;
    case Mutation::source: call.source = (call.source + 1) % ranks; return;
    case Mutation::swapped: std::swap(calls[at], calls[at + 1]); return;
    case Mutation::missing: calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at)); return;
    case Mutation::extra: calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(at), PlannedCall{}); return;
    case Mutation::coalescing:
      if (random.chance(50)) call.parts.push_back(0);  // as many elements, in other parts
      else call.parts.front() += 1;
      return;
    case Mutation::factor: call.factor += 1; return;
    case Mutation::splits: call.wrong_split = random.between(1, 3); return;
    case Mutation::size_of_allocation: call.count += 1; return;
  }
}

struct Case {
  std::uint64_t seed;
  Mutation mutation;
  std::int32_t ranks;
  std::int32_t culprit;
  std::size_t at;  // the first call that differs
  Sequence calls;
  Sequence mutated;  // those of the culprit

  explicit Case(std::uint64_t its_seed) : seed(its_seed), mutation(static_cast<Mutation>(its_seed % mutations)) {
    Random random(seed);
    ranks = static_cast<std::int32_t>(random.between(2, 4));
    culprit = static_cast<std::int32_t>(random.between(0, ranks - 1));
    const auto count = static_cast<std::size_t>(random.between(2, 6));
    for (std::size_t i = 0; i < count; ++i) {
      PlannedCall call = random_call(random, ranks);
      call.salt = static_cast<std::int64_t>(i) * 50;
      calls.push_back(call);
    }
    at = random.index(mutation == Mutation::swapped ? count - 1 : count);
    calls[at] = random_call_of(kind_for(mutation, random), random, ranks);
    if (mutation == Mutation::factor) {
      calls[at].dtype = Dtype::f32;
      calls[at].op = ReduceOp::premul_sum;
    }
    if (mutation == Mutation::dtype) calls[at].op = ReduceOp::sum;         // which all dtypes know
    if (mutation == Mutation::swapped || mutation == Mutation::missing) {  // the next must be another one
      if (at + 1 < count) calls[at + 1] = random_call_of(Kind::barrier, random, ranks);
    }
    if (mutation == Mutation::size_of_allocation) calls[at].blocking = true;
    mutated = calls;
    mutate(mutation, mutated, at, ranks, random);
  }

  const Sequence& of(std::int32_t rank) const { return rank == culprit ? mutated : calls; }
  // Nobody can know whether the others will still come.
  bool ends_by_timeout() const {
    return (mutation == Mutation::missing && at + 1 == calls.size()) ||
           (mutation == Mutation::extra && at == calls.size());
  }
  std::string to_string() const {
    return fmt::format("seed {}: {} ranks, rank {} differs at call {} of {} by mutation {}", seed, ranks, culprit,
                       at + 1, calls.size(), static_cast<int>(mutation));
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string judge_message(const Case& one, const Error& error) {
  if (error.kind != ErrorKind::peer) return "of another kind: " + error.message;
  if (!has(error.message, fmt::format("rank {} ", one.culprit))) return "does not name the culprit: " + error.message;
  if (one.ends_by_timeout()) {
    return has(error.message, "is alive but did not come within") ? "" : "not the timeout: " + error.message;
  }
  if (count_of(error.message, "rank ") < 2 || count_of(error.message, "planned_call.cpp:") < 2) {
    return "does not name both calls: " + error.message;
  }
  return "";
}

// What this rank finds wrong.
std::string take_part(const Case& one, const World& world) {
  const Result<Communicator> group = world.communicator();
  if (!group) return group.error().message;
  CallOptions options;
  options.timeout = one.ends_by_timeout() ? short_timeout : long_timeout;
  std::vector<std::unique_ptr<MadeCall>> made;
  for (const PlannedCall& call : one.of(world.rank()))
    made.push_back(std::make_unique<MadeCall>(call, *group, options));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Status status = made[i]->work.wait();
    if (i < one.at) {
      if (!status) return fmt::format("call {} failed before the difference: {}", i + 1, status.error().message);
      if (!made[i]->is_right()) return fmt::format("call {} gave wrong results", i + 1);
      continue;
    }
    if (status) return fmt::format("call {} was not caught", i + 1);
    if (!made[i]->is_untouched()) return fmt::format("call {} wrote into its output", i + 1);
    if (const std::string wrong = judge_message(one, status.error()); !wrong.empty()) return wrong;
  }
  return "";
}

// All ranks as threads of a process that is already one of its own.
std::string play_with_threads(const Case& one) {
  const Result<std::vector<World>> worlds = World::threads(one.ranks);
  if (!worlds) return worlds.error().message;
  std::vector<std::string> wrong(worlds->size());
  std::barrier all_done(one.ranks);  // nobody leaves before: that would be noticed, too
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < wrong.size(); ++rank) {
    threads.emplace_back([&, rank] {
      wrong[rank] = take_part(one, (*worlds)[rank]);
      all_done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t rank = 0; rank < wrong.size(); ++rank) {
    if (!wrong[rank].empty()) return fmt::format("{}\nrank {}: {}\n", one.to_string(), rank, wrong[rank]);
  }
  return "";
}

struct Board {
  std::atomic<std::int32_t> done;
};

void play_with_processes(const Case& one) {
  const SharedPage<Board> board;
  const auto outcomes = run_launched(one.ranks, [&](int) {
    const Result<World> world = World::join();
    if (!world) return world.error().message;
    const std::string wrong = take_part(one, *world);
    ++board->done;
    while (board->done < one.ranks) std::this_thread::sleep_for(1ms);
    return wrong + "done";
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "done") << one.to_string();
}

// Also checks that a correct sequence, of the same kinds of calls, is none of these.
std::string play_many(std::uint64_t first_seed, int count) {
  return in_a_process(
      [&] {
        std::string wrong;
        for (int i = 0; i < count && wrong.size() < 4000; ++i) {
          wrong += play_with_threads(Case(first_seed + static_cast<std::uint64_t>(i)));
        }
        return wrong;
      },
      300s);
}

TEST(Mismatch, every_one_of_500_mutated_sequences_is_caught_on_all_ranks_before_a_result_is_written) {
  EXPECT_EQ(play_many(5000, 500), "");
}

TEST(Mismatch, is_caught_between_processes_too) {
  for (std::uint64_t seed = 9000; seed < 9000 + 2 * mutations; ++seed) play_with_processes(Case(seed));
}

TEST(Mismatch, of_messages_names_both_sides) {
  EXPECT_EQ(in_a_process(
                [] {
                  const std::vector<World> worlds = World::threads(2).value();
                  const Communicator sender = [&] {
                    std::thread other([&] { static_cast<void>(worlds[1].communicator()); });
                    Communicator group = worlds[0].communicator().value();
                    other.join();
                    return group;
                  }();
                  const Communicator receiver = worlds[1].communicator().value();
                  const std::int32_t data[3] = {1, 2, 3};
                  std::int32_t got[2] = {7, 7};
                  if (!sender.isend(data, 3, Dtype::i32, 1, 5).wait()) return std::string("not sent");
                  const Status status = receiver.irecv(got, 2, Dtype::i32, 0, 5).wait();
                  if (status || got[0] != 7) return std::string("not caught");
                  return status.error().message.substr(0, 64);
                },
                20s),
            "rank 0 sends i32[3] with tag 5 to rank 1, which expects receive(");
}

// Nobody can know that the call on the other group was meant for this one: each side is told whom it waits for, at the timeout.
TEST(Mismatch, of_the_group_is_told_to_all_at_the_timeout_before_a_result_is_written) {
  const auto outcomes = run_launched(3, [](int rank) -> std::string {
    const World world = World::join().value();
    const Communicator all = world.communicator().value();
    const Communicator pair = world.communicator(rank == 2 ? Ranks{2} : Ranks{0, 1}).value();
    if (!all.barrier().wait()) return "the barrier failed";
    std::vector<float> data(100, 7.0F);
    const Status status = (rank == 1 ? pair : all)
                              .all_reduce(data.data(), data.data(), 100, Dtype::f32, ReduceOp::sum, {.timeout = 300ms})
                              .wait();
    if (status) return "no error";
    if (std::any_of(data.begin(), data.end(), [](float one) { return one != 7.0F; })) return "a result was written";
    const bool named = has(status.error().message, fmt::format("rank {} (pid ", rank == 1 ? 0 : 1)) &&
                       has(status.error().message, "all_reduce(f32[100], sum)");
    if (!named) return status.error().message;
    if (!world.communicator(Ranks{rank})->barrier().wait()) return "a group that took no part failed";
    std::this_thread::sleep_for(500ms);  // nobody leaves before all have waited
    return "named";
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, "named");
}

// Correct sequences of all kinds of calls, each rank at its own pace.
std::string play_correct(std::uint64_t first_seed, int count) {
  const auto take_correct_part = [](std::uint64_t seed, const World& world) -> std::string {
    Random random(seed);
    Random own(seed + static_cast<std::uint64_t>(world.rank()));
    const Result<Communicator> group = world.communicator();
    if (!group) return group.error().message;
    std::vector<std::unique_ptr<MadeCall>> made;
    for (std::int64_t left = random.between(1, 8); left > 0; --left) {
      PlannedCall plan = random.chance(20) ? random_message(random, world.size()) : random_call(random, world.size());
      if (random.chance(5)) plan = random_call_of(Kind::allocate, random, world.size());
      if (plan.kind != Kind::message) plan.blocking = own.chance(50);  // may differ between ranks
      made.push_back(std::make_unique<MadeCall>(plan, *group));
      if (own.chance(20)) std::this_thread::yield();
    }
    std::string wrong;
    for (const auto& call : made) {
      if (const Status status = call->work.wait(); !status) wrong += status.error().message + "\n";
      else if (!call->is_right()) wrong += "wrong result of " + call->plan().to_string() + "\n";
    }
    return wrong.empty() ? "" : fmt::format("seed {}, rank {}: {}", seed, world.rank(), wrong);
  };
  return in_a_process(
      [&] {
        std::string wrong;
        constexpr int sequences_of_a_world = 100;
        for (int from = 0; from < count; from += sequences_of_a_world) {
          const auto ranks = static_cast<std::int32_t>(2 + from / sequences_of_a_world % 3);
          const std::vector<World> worlds = World::threads(ranks).value();
          std::vector<std::string> said(worlds.size());
          std::vector<std::thread> threads;
          std::barrier all_done(ranks);
          for (std::size_t rank = 0; rank < worlds.size(); ++rank) {
            threads.emplace_back([&, rank] {
              for (int i = 0; i < sequences_of_a_world; ++i) {
                said[rank] += take_correct_part(first_seed + static_cast<std::uint64_t>(from + i), worlds[rank]);
              }
              all_done.arrive_and_wait();
            });
          }
          for (std::thread& thread : threads) thread.join();
          for (const std::string& one : said) wrong += one.substr(0, 1000);
        }
        return wrong;
      },
      1500s);
}

TEST(Mismatch, there_is_no_false_alarm_in_correct_sequences) { EXPECT_EQ(play_correct(20'000, 1'000), ""); }
TEST(Mismatch, Long_there_is_no_false_alarm_in_10000_correct_sequences) { EXPECT_EQ(play_correct(40'000, 10'000), ""); }

}  // namespace
}  // namespace hocket
