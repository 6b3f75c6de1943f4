#include "protocol.h"

#include <gtest/gtest.h>

namespace hocket::comm_bench {
namespace {

TEST(Protocol, a_task_reads_back_from_its_line) {
  Task task;
  task.kind = Task::Kind::measure;
  task.op = Operator::reduce_scatter;
  task.bytes = std::int64_t{1} << 33;
  task.buffers = BufferKind::symmetric_memory;
  task.in_place = true;
  task.fill = true;
  task.repetitions = 30;
  task.batch = 7;
  EXPECT_EQ(to_line(task), "measure reduce_scatter 8589934592 symmetric in_place fill 30 7");
  const auto again = task_from_line(to_line(task));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, task);
}

TEST(Protocol, tasks_without_an_operator_are_one_word) {
  Task task;
  task.kind = Task::Kind::release;
  EXPECT_EQ(to_line(task), "release");
  EXPECT_EQ(task_from_line("release")->kind, Task::Kind::release);
  EXPECT_EQ(task_from_line("quit")->kind, Task::Kind::quit);
}

TEST(Protocol, what_is_wrong_in_a_line_is_named) {
  const std::pair<const char*, const char*> lines[] = {
      {"", "expected a task: check, measure, release, quit"},
      {"measure all_reduse 8 private in_place fill 1 1", "got \"all_reduse\", expected an operator: all_reduce"},
      {"measure all_reduce 8x private in_place fill 1 1", "got \"8x\", expected a number of bytes"},
      {"measure all_reduce 8 private in_place fill 1", "got \"\", expected a number of calls"},
      {"measure all_reduce 8 private in_place fill 1 1 1", "got \"1\", expected the end of the line"},
      {"quit now", "got \"now\", expected the end of the line"},
  };
  for (const auto& [line, reason] : lines) {
    const auto task = task_from_line(line);
    ASSERT_FALSE(task) << line;
    EXPECT_NE(task.error().message.find(reason), std::string::npos) << task.error().message;
  }
}

TEST(Protocol, times_and_reasons_read_back) {
  const Answer times{Answer::Kind::times, {41250, 0.5}, {}};
  EXPECT_EQ(to_line(times), "times 41250.0 0.5");
  EXPECT_EQ(*answer_from_line(to_line(times)), times);
  const Answer reason{Answer::Kind::unable, {}, "has no symmetric memory"};
  EXPECT_EQ(*answer_from_line(to_line(reason)), reason);
  EXPECT_FALSE(answer_from_line("times 1.0 soon"));
}

TEST(Protocol, a_reason_of_several_lines_stays_one_line) {
  EXPECT_EQ(to_line(Answer{Answer::Kind::failed, {}, "first\nsecond"}), "failed first second");
}

TEST(Protocol, bytes_are_the_larger_of_input_and_output) {
  constexpr std::int64_t bytes = 4096;
  constexpr std::int64_t elements = bytes / 4;
  for (int op = 0; op < operator_count; ++op) {
    const Extent extent = extent_of(static_cast<Operator>(op), bytes, 4);
    EXPECT_EQ(std::max(extent.input, extent.output), static_cast<Operator>(op) == Operator::barrier ? 0 : elements);
  }
  EXPECT_EQ(extent_of(Operator::all_gather, bytes, 4).input, elements / 4);
  EXPECT_EQ(extent_of(Operator::reduce_scatter, bytes, 4).output, elements / 4);
}

TEST(Protocol, every_rank_has_at_least_one_element) { EXPECT_EQ(extent_of(Operator::all_gather, 8, 4).output, 4); }

}  // namespace
}  // namespace hocket::comm_bench
