// Runs that carry their tails: on planned memory, byte for byte the same as one run after the other.
#include <gmock/gmock.h>

#include <algorithm>

#include "hocket/compile/compile.h"
#include "hocket/ir/tail.h"
#include "hocket/ir/text.h"
#include "hocket/plan/lifetimes.h"
#include "hocket/plan/plan.h"
#include "hocket/schedule/carry_over.h"
#include "support/random.h"
#include "support/random_program.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t largest_arena = 64 << 10;

// Every byte of memory holds a number that tells how it came about.
class Memory {
 public:
  // Buffers share memory as they were placed, or each has its own.
  Memory(const Program& program, bool placed) : program_(program) {
    std::map<std::tuple<Home, std::uint32_t, std::uint32_t>, std::int64_t> arenas;
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      const Buffer& buffer = program.buffer(BufferId(i));
      const bool shares = placed && buffer.placed_at >= 0;
      const auto [arena, is_new] = arenas.try_emplace({buffer.home, buffer.group.value, buffer.device.value}, 0);
      if (is_new) arena->second = next_arena(largest_arena);
      begins_.push_back(shares ? arena->second + buffer.placed_at : next_arena(buffer.bytes.value()));
    }
    bytes_.resize(static_cast<std::size_t>(end_));
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      if (program.buffer(BufferId(i)).home == Home::input || program.buffer(BufferId(i)).home == Home::constant)
        for (std::uint64_t& byte : of(BufferId(i))) byte = 1000 + i;
    }
  }

  // A collective does all that it does when it is waited for, or when it is started: nobody may tell.
  void run(StepId id, bool late) {
    const StepId awaited = program_.step(id).waits_for;
    const bool flies = program_.collective(id) != nullptr && is_awaited(id);
    if (awaited.valid() && late && started_[awaited.index()]) change(awaited);
    if (awaited.valid()) started_[awaited.index()] = false;
    if (flies) started_[id.index()] = true;
    if (!awaited.valid() && !(flies && late)) change(id);
  }

  std::vector<std::uint64_t> results() {
    std::vector<std::uint64_t> all;
    for (const OperandId operand : program_.results()) append(all, program_.operand(operand).buffer);
    return all;
  }
  std::vector<std::uint64_t> inputs() {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) {
      if (program_.buffer(BufferId(i)).home == Home::input) append(all, BufferId(i));
    }
    return all;
  }

 private:
  std::int64_t next_arena(std::int64_t bytes) { return std::exchange(end_, end_ + bytes); }
  std::span<std::uint64_t> of(BufferId id) {
    return std::span(bytes_).subspan(static_cast<std::size_t>(begins_[id.index()]),
                                     static_cast<std::size_t>(program_.buffer(id).bytes.value()));
  }
  void append(std::vector<std::uint64_t>& all, BufferId id) { all.insert(all.end(), of(id).begin(), of(id).end()); }
  bool is_awaited(StepId id) const {
    return std::ranges::any_of(program_.steps(), [&](const Step& step) { return step.waits_for == id; });
  }

  // What it writes depends on all that it reads and on what was there.
  void change(StepId id) {
    std::uint64_t mix = std::hash<std::string_view>{}(program_.name(id));
    const auto take = [&](OperandId operand) {
      for (const std::uint64_t byte : of(program_.operand(operand).buffer))
        mix = (mix ^ byte) * 0x9e3779b97f4a7c15U + 1;
    };
    for (const OperandId operand : program_.reads(id)) take(operand);
    std::uint64_t count = 0;
    for (const OperandId operand : program_.writes(id)) {
      const bool first = !std::ranges::any_of(program_.reads(id), [&](OperandId read) {
        return program_.operand(read).buffer == program_.operand(operand).buffer;
      });
      for (std::uint64_t& byte : of(program_.operand(operand).buffer)) byte = mix + ++count + (first ? 0 : byte);
    }
  }

  const Program& program_;
  std::vector<std::int64_t> begins_;  // by buffer
  std::int64_t end_ = 0;
  std::vector<std::uint64_t> bytes_;
  std::map<std::size_t, bool> started_;
};

constexpr int runs = 4;

// What the results are after each run, and the inputs at the end.
std::vector<std::vector<std::uint64_t>> one_after_the_other(const Program& program) {
  Memory memory(program, false);
  std::vector<std::vector<std::uint64_t>> all;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < program.size(); ++i) memory.run(StepId(i), false);
    all.push_back(memory.results());
  }
  all.push_back(memory.inputs());
  return all;
}

std::vector<std::vector<std::uint64_t>> carried(const Program& program) {
  Memory memory(program, true);
  const Tail tail = tail_of(program);
  std::vector<std::vector<std::uint64_t>> all;
  std::size_t next = program.size();  // of the tail of the run before
  const auto run_tail_to = [&](std::size_t end) {
    for (; next < end; ++next) memory.run(StepId(next), true);
  };
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < tail.begin; ++i) {
      if (!tail.empty()) run_tail_to(tail.begin + tail.due[i]);
      memory.run(StepId(i), true);
    }
    run_tail_to(program.size());
    next = tail.begin;
    all.push_back(memory.results());
  }
  run_tail_to(program.size());
  all.push_back(memory.inputs());
  return all;
}

std::vector<Nanoseconds> random_times(Random& random, std::size_t count) {
  std::vector<Nanoseconds> times(count);
  for (Nanoseconds& time : times) time = Nanoseconds::from_picoseconds(random.between(1, 1000));
  return times;
}

// How many of these programs had something to carry.
int check_random(std::uint64_t first_seed, std::uint64_t count) {
  int with_tail = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Program program = random_program(seed, {.steps = 40, .in_place = 50});
    const auto found = carry_over(program, random_times(random, program.size()));
    if (!found) return ADD_FAILURE() << found.error().to_string(), 0;
    std::vector<StepId> order;
    for (const StepIndex step : found->order) order.emplace_back(step);
    const auto reordered = with_order(program, order);
    if (!reordered) return ADD_FAILURE() << reordered.error().to_string(), 0;
    const auto planned = plan(*reordered, {.effort = 100'000, .carry = true});
    if (!planned) return ADD_FAILURE() << planned.error().to_string(), 0;
    EXPECT_EQ(carried(planned->program), one_after_the_other(program)) << print(planned->program);
    EXPECT_LE(found->period, found->period_before);
    if (!tail_of(planned->program).empty()) ++with_tail;
  }
  return with_tail;
}

TEST(CarryOver, random_programs_leave_the_same_bytes) { EXPECT_GT(check_random(1, 400), 40); }
TEST(CarryOver, LongRandomProgramsLeaveTheSameBytes) { EXPECT_GT(check_random(10'000, 20'000), 2000); }

// Layers whose gradients take as long to travel as they take to compute.
Program layers(int count, const std::string& gradients = "symmetric @dp") {
  std::string text = "program @p {\n  group @dp = ranks[0,1]\n  buffer %x = input bytes 1024\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "  buffer %w{0} = input bytes 1024\n  buffer %h{0} = arena bytes 1024\n"
        "  buffer %g{0} = {1} bytes 1024\n",
        i, gradients);
  }
  const std::string t = " f32[256]";
  for (int i = 0; i < count; ++i) {
    const std::string from = i == 0 ? "%x" : fmt::format("%h{}", i - 1);
    text += fmt::format("  step \"h{0}\" = aten.add.Tensor({1}{2}, %w{0}{2}) writes (%h{0}{2})\n", i, from, t);
  }
  for (int i = count - 1; i >= 0; --i) {
    text += fmt::format(
        "  step \"g{0}\" = aten.neg(%h{0}{1}) writes (%g{0}{1})\n"
        "  step \"r{0}\" = _c10d_functional.all_reduce_(%g{0}{1}, \"sum\", @dp) writes (%g{0}{1})\n",
        i, t);
  }
  for (int i = count - 1; i >= 0; --i) {
    text += fmt::format(
        "  step \"wait{0}\" = _c10d_functional.wait_tensor(%g{0}{1}) writes () {{waits_for=\"r{0}\"}}\n"
        "  step \"u{0}\" = aten.add_.Tensor(%w{0}{1}, %g{0}{1}) writes (%w{0}{1})\n",
        i, t);
  }
  const auto program = parse_program(text + fmt::format("  return (%h{} f32[256])\n}}", count - 1), "test");
  EXPECT_TRUE(program) << program.error().to_string();
  return *program;
}

Program four_layers(const std::string& gradients = "symmetric @dp") { return layers(4, gradients); }

std::vector<Nanoseconds> times_of(const Program& program, double compute_us, double communication_us) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const bool waits = program.step(StepId(i)).waits_for.valid();
    const double us = waits ? 0 : program.collective(StepId(i)) != nullptr ? communication_us : compute_us;
    times.push_back(Nanoseconds::from_seconds(us * 1e-6));
  }
  return times;
}

// Compute: 12 steps of 1 µs. Communication: 4 of 2 µs, and 4 µs of backward to hide behind.
TEST(CarryOver, hides_behind_the_next_forward_what_the_backward_is_too_short_for) {
  const Program program = four_layers();
  const auto found = carry_over(program, times_of(program, 1, 2));
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->period_before, Nanoseconds::from_seconds(14e-6));
  EXPECT_LT(found->period, Nanoseconds::from_seconds(13.6e-6));
  EXPECT_EQ(found->carried, 4U);
  EXPECT_GT(found->postponed, 0U);
}

// The forward of the next run needs the first layer first, and so its gradient: of those that start after all others, too.
TEST(CarryOver, postponed_collectives_start_in_the_order_in_which_the_next_run_needs_them) {
  std::size_t most = 0;
  for (const double communication_us : {1.0, 1.5, 2.0, 3.0, 4.0}) {
    const Program program = layers(8);
    const auto found = carry_over(program, times_of(program, 1, communication_us));
    ASSERT_TRUE(found) << found.error().to_string();
    std::vector<std::string> postponed;
    bool behind = false;
    for (const StepIndex step : found->order) {
      const std::string name(program.name(StepId(step)));
      if (behind && program.collective(StepId(step)) != nullptr) postponed.push_back(name);
      behind = behind || name == "r0";
    }
    EXPECT_EQ(postponed.size(), found->postponed) << communication_us;
    EXPECT_TRUE(std::ranges::is_sorted(postponed))
        << communication_us << ": " << fmt::format("{}", fmt::join(postponed, " "));
    most = std::max(most, postponed.size());
  }
  EXPECT_GE(most, 2U);
}

// The last layer's gradient is computed while that of the first one travels, which the next run needs at once: 8 µs of compute and 4 µs
// of communication go side by side.
TEST(CarryOver, computes_last_what_the_next_run_needs_last) {
  const auto program = parse_program(R"(program @p {
  group @dp = ranks[0,1]
  buffer %x = input bytes 16
  buffer %w1 = input bytes 16
  buffer %w2 = input bytes 16
  buffer %h1 = arena bytes 16
  buffer %h2 = arena bytes 16
  buffer %d = arena bytes 16
  buffer %g1 = symmetric @dp bytes 16
  buffer %s2 = arena bytes 16
  buffer %g2 = symmetric @dp bytes 16
  step "h1" = aten.add.Tensor(%x f32[4], %w1 f32[4]) writes (%h1 f32[4])
  step "h2" = aten.add.Tensor(%h1 f32[4], %w2 f32[4]) writes (%h2 f32[4])
  step "d" = aten.neg(%h2 f32[4]) writes (%d f32[4])
  step "s2" = aten.mul.Tensor(%d f32[4], %h2 f32[4]) writes (%s2 f32[4])
  step "g2" = aten.relu(%s2 f32[4]) writes (%g2 f32[4])
  step "r2" = _c10d_functional.all_reduce_(%g2 f32[4], "sum", @dp) writes (%g2 f32[4])
  step "g1" = aten.mul.Tensor(%d f32[4], %h1 f32[4]) writes (%g1 f32[4])
  step "r1" = _c10d_functional.all_reduce_(%g1 f32[4], "sum", @dp) writes (%g1 f32[4])
  step "wait2" = _c10d_functional.wait_tensor(%g2 f32[4]) writes () {waits_for="r2"}
  step "u2" = aten.add_.Tensor(%w2 f32[4], %g2 f32[4]) writes (%w2 f32[4])
  step "wait1" = _c10d_functional.wait_tensor(%g1 f32[4]) writes () {waits_for="r1"}
  step "u1" = aten.add_.Tensor(%w1 f32[4], %g1 f32[4]) writes (%w1 f32[4])
  return (%h2 f32[4])
})",
                                     "test");
  ASSERT_TRUE(program) << program.error().to_string();
  const std::vector<Nanoseconds> times = times_of(*program, 1, 2);
  const auto found = carry_over(*program, times);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->deferred, 2U);
  std::vector<std::string> names;
  for (const StepIndex step : found->order) names.emplace_back(program->name(StepId(step)));
  EXPECT_THAT(names, testing::ElementsAre("h1", "h2", "d", "g1", "r1", "s2", "g2", "r2", "wait1", "u1", "wait2", "u2"));
  EXPECT_EQ(found->period, Nanoseconds::from_seconds(8e-6));

  // Where that may not be, the same without it.
  const auto in_order = [](const Program& changed) {
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (changed.name(StepId(i)) == "s2") return true;
      if (changed.name(StepId(i)) == "g1") return false;
    }
    return false;
  };
  const auto other = carry_over(*program, times, in_order);
  ASSERT_TRUE(other) << other.error().to_string();
  EXPECT_EQ(other->deferred, 0U);
  EXPECT_GT(other->period, found->period);
}

TEST(CarryOver, leaves_a_program_alone_that_would_not_gain) {
  const Program program = four_layers();
  const auto found = carry_over(program, times_of(program, 1, 0.001));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->carried, 0U);
  EXPECT_TRUE(std::ranges::is_sorted(found->order));
}

Result<Compiled> compiled_with(const std::string& passes, MemoryLimit limit) {
  CompileOptions options;
  options.passes = *parse_passes(passes);
  options.memory_limit = limit;
  options.cost.machine = *find_machine("cpu");
  const Program program = four_layers();
  const std::vector<Nanoseconds> times = CostModel(options.cost).times(program);
  constexpr std::size_t a_kernel = 0, a_collective = 5;
  options.cost.communication_multiplier = 2 * times[a_kernel].seconds() / times[a_collective].seconds();
  return compile(program, options);
}

TEST(CarryOver, is_a_pass_that_keeps_to_an_absolute_limit) {
  const auto free = compiled_with("carry_over,plan(carry=on)", {});
  ASSERT_TRUE(free) << free.error().to_string();
  EXPECT_THAT(free->runs[0].report, HasSubstr("4 collectives end in the next run"));
  EXPECT_LT(free->after.period, free->before.period);
  const auto limited = compiled_with("carry_over,plan(carry=on)", {1.0, Bytes(9 * 1024)});
  ASSERT_TRUE(limited) << limited.error().to_string();
  EXPECT_FALSE(limited->runs[0].changed);
  EXPECT_THAT(limited->runs[0].report, HasSubstr("the limit is 9.00 KiB"));
}

TEST(CarryOver, needs_a_plan_that_knows_of_it) {
  const Program program = four_layers("arena");
  const auto places = [](const Program& planned) {
    return check_places(planned, lifetimes_of(planned, tail_of(planned)));
  };
  EXPECT_TRUE(places(plan(program, {.carry = true})->program));
  const Status status = places(plan(program)->program);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("share memory while both are in use"));
}

}  // namespace
}  // namespace hocket
