// What the driver makes of contestants that misbehave. These are written in Python, which the build needs anyway.
#include "contestant.h"
#include "support/temporary_folder.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

namespace hocket::comm_bench {
namespace {

using testing::HasSubstr;

// Ranks that connect and are ready, and then do what `script` says with each line: `words` has it, `say(text)` answers.
constexpr const char* prelude = R"(
import os, signal, socket, sys, time
signal.alarm(60)
control = socket.socket(socket.AF_UNIX); control.connect(sys.argv[1])
lines = control.makefile("rw"); rank = int(sys.argv[2])
def say(text): print(text, file=lines, flush=True)
say(f"ready {rank}")
print(f"rank {rank} has come", flush=True)
for line in lines:
    words = line.split()
    if words[0] == "quit": break
)";

class Contestants : public testing::Test {
 protected:
  Result<std::unique_ptr<Contestant>> start(const std::string& script, const char* before = prelude,
                                            Patience patience = {}) {
    Recipe recipe{"test", "Test", "", {}};
    recipe.launches = [=](const Setting& setting, const std::string& control,
                          const std::string&) -> Result<std::vector<Launch>> {
      std::vector<Launch> ranks;
      for (std::int32_t rank = 0; rank < setting.ranks; ++rank)
        ranks.push_back({{"python3", "-c", before + ("    " + script), control, std::to_string(rank)}, {}});
      return ranks;
    };
    return Contestant::start(recipe, {"pinned", "", 2, "any"}, folder_, patience);
  }

  static Task measure_once() {
    Task task;
    task.kind = Task::Kind::measure;
    return task;
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(Contestants, times_of_the_slowest_rank_come_back_in_microseconds) {
  auto contestant = start("say(f'times {1000.0 * (1 + rank)}')");
  ASSERT_TRUE(contestant) << contestant.error().message;
  const auto times = (*contestant)->measure(measure_once());
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(*times, std::vector<double>{2});
}

TEST_F(Contestants, a_program_that_ends_at_once_is_reported_with_what_it_printed) {
  const auto contestant = start("pass", "raise SystemExit('no such device')\nif True:\n");
  ASSERT_FALSE(contestant);
  EXPECT_THAT(contestant.error().message, HasSubstr("ended before all ranks were ready"));
  EXPECT_THAT(contestant.error().message, HasSubstr("no such device"));
}

TEST_F(Contestants, a_rank_that_dies_ends_the_contestant_and_later_tasks_fail_at_once) {
  auto contestant = start("os.kill(os.getpid(), 9) if rank == 1 else time.sleep(60)", prelude,
                          {std::chrono::seconds(60), std::chrono::seconds(1)});
  ASSERT_TRUE(contestant) << contestant.error().message;
  const auto times = (*contestant)->measure(measure_once());
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::peer);
  EXPECT_FALSE((*contestant)->alive());
  const auto start = Clock::now();
  EXPECT_FALSE((*contestant)->measure(measure_once()));
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(500));
}

TEST_F(Contestants, one_that_gives_no_answer_is_ended) {
  auto contestant = start("open(sys.argv[1] + f'.{rank}', 'w').write(str(os.getpid())); time.sleep(60)", prelude,
                          {std::chrono::seconds(60), std::chrono::seconds(2)});
  ASSERT_TRUE(contestant) << contestant.error().message;
  const auto times = (*contestant)->measure(measure_once());
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message, HasSubstr("no answer in time"));
  pid_t pid = 0;
  std::ifstream(folder_ + "/control.0") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(kill(pid, 0), -1) << "rank 0 is still there";
}

TEST_F(Contestants, one_that_lacks_an_operator_can_be_asked_for_others) {
  auto contestant = start("say('unable knows no barrier' if words[1] == 'barrier' else 'times 5.0')");
  ASSERT_TRUE(contestant) << contestant.error().message;
  Task task = measure_once();
  const auto refused = (*contestant)->measure(task);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  task.op = Operator::broadcast;
  EXPECT_TRUE((*contestant)->measure(task));
}

TEST_F(Contestants, a_wrong_number_of_times_is_noticed) {
  auto contestant = start("say('times 1.0 2.0')");
  ASSERT_TRUE(contestant) << contestant.error().message;
  const auto times = (*contestant)->measure(measure_once());
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message, HasSubstr("gave 2 times, expected 1"));
}

}  // namespace
}  // namespace hocket::comm_bench
