// With real processes: the ranks are small shell scripts.
#include "comm/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "comm/cores.h"
#include "comm/file_descriptor.h"
#include "comm/proc_file.h"
#include "comm/rendezvous.h"
#include "support/processes.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Launch : public testing::Test {
 protected:
  struct Outcome {
    int code = -1;
    std::string out;
    std::string err;
  };

  static std::string content_of(const FileDescriptor& file) {
    std::string content(static_cast<std::size_t>(lseek(file.number(), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file.number(), content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    return content;
  }
  std::string content_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // The script finds the test's folder in $1.
  LaunchOptions options_for(int ranks, const std::string& script) const {
    LaunchOptions options;
    options.ranks = ranks;
    options.command = {"/bin/sh", "-c", script, "sh", folder_};
    options.environment = inherited_environment();
    return options;
  }
  static Outcome run(LaunchOptions options) {
    const FileDescriptor out(memfd_create("out", MFD_CLOEXEC));
    const FileDescriptor err(memfd_create("err", MFD_CLOEXEC));
    options.output = out.number();
    options.errors = err.number();
    const Result<int> code = launch(options);
    return {code ? *code : -1, content_of(out), content_of(err) + (code ? "" : code.error().to_string())};
  }
  Outcome run(int ranks, const std::string& script, std::chrono::milliseconds grace = 5s) const {
    LaunchOptions options = options_for(ranks, script);
    options.grace = grace;
    return run(options);
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// A zombie that nobody has reaped yet doesn't.
bool runs(pid_t pid) {
  const std::string text = proc_file(pid, "stat");
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

// Within a second: who was sent a signal needs a moment to die.
bool has_ended(pid_t pid) {
  for (int i = 0; i < 100 && runs(pid); ++i) std::this_thread::sleep_for(10ms);
  return !runs(pid);
}

// The script waits until each of so many ranks has made a file.
std::string all_ready(int ranks) {
  return fmt::format(": > $1/ready.$HOCKET_RANK; while [ $(ls $1 | grep -c ready) -lt {} ]; do sleep 0.01; done; ",
                     ranks);
}
constexpr const char* for_ever = "while :; do sleep 0.02; done";

TEST_F(Launch, every_rank_knows_its_number_and_the_meeting_place) {
  const Outcome outcome = run(3, "echo $HOCKET_RANK of $HOCKET_WORLD_SIZE; echo $HOCKET_MEETING >&2");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(sorted_lines(outcome.out), testing::ElementsAre("[0] 0 of 3", "[1] 1 of 3", "[2] 2 of 3"));
  const std::vector<std::string> meetings = sorted_lines(outcome.err);
  ASSERT_EQ(meetings.size(), 3U);
  EXPECT_TRUE(from_variable(meetings[0].substr(4))) << meetings[0];
  EXPECT_EQ(meetings[0].substr(4), meetings[2].substr(4));
}

TEST_F(Launch, variables_of_an_outer_launch_are_replaced) {
  LaunchOptions options = options_for(1, "env | grep -c ^HOCKET_; echo $HOCKET_RANK");
  options.environment = {"PATH=/usr/bin:/bin", "HOCKET_RANK=7", "HOCKET_WORLD_SIZE=8", "HOCKET_MEETING=old"};
  EXPECT_EQ(run(options).out, "[0] 3\n[0] 0\n");
}

TEST_F(Launch, returns_the_code_of_the_first_that_failed_and_ends_the_others) {
  const Outcome outcome = run(3, "trap 'exit 3' TERM; " + all_ready(3) + "[ $HOCKET_RANK = 1 ] && exit 7; " + for_ever);
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err,
              testing::ContainsRegex("^hocket: rank 1 \\(pid [0-9]+\\) exited with code 7; ending ranks 0, 2\n"));
}

TEST_F(Launch, a_signal_that_ends_a_rank_counts_128_and_its_number) {
  const Outcome outcome = run(1, "kill -KILL $$");
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, HasSubstr("was killed by signal 9 (Killed)\n"));
}

TEST_F(Launch, who_does_not_end_in_time_is_killed) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome =
      run(2, "trap '' TERM; " + all_ready(2) + "[ $HOCKET_RANK = 0 ] && exit 5; " + for_ever, 200ms);
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("hocket: rank 1 did not end within 0.2 s of SIGTERM: killing\n"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
}

TEST_F(Launch, a_rank_that_is_stopped_is_ended_too) {
  const Outcome outcome =
      run(2, all_ready(2) + "[ $HOCKET_RANK = 0 ] && { sleep 0.1; exit 5; }; kill -STOP $$; " + for_ever);
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(outcome.err.find("did not end"), std::string::npos) << outcome.err;
}

TEST_F(Launch, passes_signals_on_to_all_ranks) {
  for (const char* name : {"INT", "TERM", "HUP", "QUIT", "USR1", "USR2"}) {
    const std::string trap = fmt::format("trap 'echo got {}; exit 0' {}; ", name, name);
    // A script ignores SIGINT in what it runs in the background, so the sender is rank 0 itself.
    const std::string send = fmt::format("[ $HOCKET_RANK = 0 ] && kill -{} $PPID; ", name);
    const Outcome outcome = run(3, trap + all_ready(3) + send + for_ever);
    EXPECT_EQ(outcome.code, 0) << name << outcome.err;
    EXPECT_EQ(outcome.out.find("[0] got") + 1 && outcome.out.find("[1] got") + 1 && outcome.out.find("[2] got") + 1,
              true)
        << name << outcome.out;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(file);
  }
}

TEST_F(Launch, ranks_that_die_of_the_signal_give_its_code) {
  EXPECT_EQ(run(2, all_ready(2) + "[ $HOCKET_RANK = 0 ] && kill -TERM $PPID; " + for_ever).code, 128 + SIGTERM);
}

TEST_F(Launch, ranks_that_were_asked_to_end_may_finish_their_work) {
  const Outcome outcome = run(2, "trap '[ $HOCKET_RANK = 1 ] && sleep 0.3; echo saved; exit 9' INT; " + all_ready(2) +
                                     "[ $HOCKET_RANK = 0 ] && kill -INT $PPID; " + for_ever);
  EXPECT_EQ(outcome.code, 9);
  EXPECT_EQ(outcome.out, "[0] saved\n[1] saved\n");
  EXPECT_THAT(outcome.err, HasSubstr("exited with code 9; waiting for rank 1\n"));
}

TEST_F(Launch, ranks_that_were_asked_to_end_do_not_take_for_ever) {
  const Outcome outcome = run(2,
                              "[ $HOCKET_RANK = 1 ] && trap '' INT TERM; " + all_ready(2) +
                                  "[ $HOCKET_RANK = 0 ] && kill -INT $PPID; " + for_ever,
                              100ms);
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 did not end within 0.1 s of SIGTERM: killing\n"));
}

TEST_F(Launch, signals_are_as_before_when_it_is_over) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  run(1, "kill -PIPE $PPID; kill -USR1 $PPID; exit 0");
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST_F(Launch, ranks_begin_with_usual_signals) {
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  const Outcome outcome = run(1, "exec grep -E 'SigBlk|SigIgn' /proc/self/status");
  std::signal(SIGPIPE, old);
  EXPECT_EQ(outcome.out, "[0] SigBlk:\t0000000000000000\n[0] SigIgn:\t0000000000000000\n");
}

TEST_F(Launch, ranks_have_no_descriptors_of_the_launcher) {
  const auto list = "exec ls /proc/self/fd | tr '\\n' ' '";
  std::string inherited;  // from whoever has started the test, as any program gets them
  const std::unique_ptr<FILE, int (*)(FILE*)> plain(popen(list, "re"), pclose);
  for (int byte = 0; (byte = std::fgetc(plain.get())) != EOF;) inherited += static_cast<char>(byte);
  const std::vector<std::string> lines = sorted_lines(run(3, list).out);
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) EXPECT_EQ(line.substr(4), inherited);
}

TEST_F(Launch, children_of_ranks_do_not_survive_a_failure) {
  const Outcome outcome = run(2, "sleep 1000 & echo $!; " + all_ready(2) + "[ $HOCKET_RANK = 1 ] && exit 4; wait");
  EXPECT_EQ(outcome.code, 4);
  const std::vector<std::string> lines = sorted_lines(outcome.out);
  ASSERT_EQ(lines.size(), 2U) << outcome.out;
  for (const std::string& line : lines) EXPECT_TRUE(has_ended(std::stoi(line.substr(4)))) << line;
}

TEST_F(Launch, children_that_are_left_behind_are_killed_after_a_while) {
  const Outcome outcome = run(1, "sleep 1000 & echo $!", 100ms);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err,
              testing::MatchesRegex("hocket: the ranks have ended and left sleep \\(pid [0-9]+\\) running: killing\n"));
  EXPECT_TRUE(has_ended(std::stoi(outcome.out.substr(4))));
}

TEST_F(Launch, what_children_print_after_their_rank_has_ended_is_not_lost) {
  EXPECT_EQ(run(1, "(sleep 0.1; echo late) & echo early").out, "[0] early\n[0] late\n");
}

TEST_F(Launch, nobody_survives_a_launcher_that_is_killed) {
  const std::string script = "(trap '' TERM HUP; sleep 1000) & echo $$ $! > $1/pids.$HOCKET_RANK; " + all_ready(3) +
                             "[ $HOCKET_RANK = 2 ] && { sleep 0.05; kill -KILL $PPID; }; " + for_ever;
  const auto launcher = run_ranks(1, [&](int) { return std::to_string(run(3, script).code); });
  ASSERT_EQ(launcher[0].signal, SIGKILL);
  for (const char* name : {"pids.0", "pids.1", "pids.2"}) {
    std::istringstream pids(content_of(name));
    pid_t rank = 0;
    pid_t child = 0;
    ASSERT_TRUE(pids >> rank >> child) << name;
    EXPECT_TRUE(has_ended(rank)) << name;
    EXPECT_TRUE(has_ended(child)) << name;
  }
}

TEST_F(Launch, output_and_errors_stay_apart_and_may_be_any_bytes) {
  const Outcome outcome = run(1, R"(printf 'a\000b\n\377\n\n'; printf 'c\r\n' >&2)");
  EXPECT_EQ(outcome.out, std::string("[0] a\0b\n[0] \xff\n[0] \n", 19));
  EXPECT_EQ(outcome.err, "[0] c\r\n");
}

TEST_F(Launch, lines_stay_whole_where_output_and_errors_are_one_file) {
  LaunchOptions options =
      options_for(3, "awk 'BEGIN {for (i = 0; i < 3000; ++i) {print \"out\"; print \"err\" > \"/dev/stderr\"}}'");
  const FileDescriptor both(memfd_create("both", MFD_CLOEXEC));
  options.output = options.errors = both.number();
  ASSERT_EQ(launch(options).value(), 0);
  const std::vector<std::string> lines = sorted_lines(content_of(both));
  ASSERT_EQ(lines.size(), 18'000U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], fmt::format("[{}] {}", i / 6000, i % 6000 < 3000 ? "err" : "out"));
  }
}

TEST_F(Launch, a_line_longer_than_any_buffer_stays_whole) {
  const Outcome outcome = run(1, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo next");
  ASSERT_EQ(outcome.out.size(), 20'000'000U + 14U);
  EXPECT_EQ(outcome.out.find_first_not_of('x', 4), 20'000'004U);
  EXPECT_EQ(outcome.out.substr(20'000'004), "\n[0] next\n");
}

TEST_F(Launch, without_prefix_output_is_what_the_rank_wrote) {
  LaunchOptions options = options_for(1, "printf 'a\\nb'");
  options.prefix = false;
  EXPECT_EQ(run(options).out, "a\nb");
}

TEST_F(Launch, rank_0_reads_standard_input_and_the_others_nothing) {
  LaunchOptions options = options_for(2, "cat; echo end");
  const FileDescriptor input(memfd_create("input", MFD_CLOEXEC));
  ASSERT_EQ(write(input.number(), "typed\n", 6), 6);
  lseek(input.number(), 0, SEEK_SET);
  options.input = input.number();
  EXPECT_THAT(sorted_lines(run(options).out), testing::ElementsAre("[0] end", "[0] typed", "[1] end"));
}

TEST_F(Launch, writes_files_for_each_rank) {
  LaunchOptions options = options_for(2, "echo out $HOCKET_RANK; echo err $HOCKET_RANK >&2");
  options.output_folder = folder_ + "/new/logs";
  const Outcome outcome = run(options);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(content_of("new/logs/rank_1.out"), "out 1\n");
  EXPECT_EQ(content_of("new/logs/rank_0.err"), "err 0\n");
  options.output_folder = "/proc/nowhere";
  EXPECT_THAT(run(options).err, HasSubstr("/proc/nowhere: can't be made: "));
}

TEST_F(Launch, binds_each_rank_to_a_core) {
  const std::vector<std::vector<int>> cores = usable_cores().value();
  LaunchOptions options = options_for(static_cast<int>(cores.size()) + 1, "grep Cpus_allowed_list /proc/self/status");
  options.bind_to_cores = true;
  const std::vector<std::string> lines = sorted_lines(run(options).out);
  ASSERT_EQ(lines.size(), cores.size() + 1);
  if (cores[0].size() > 1) GTEST_SKIP() << "a core here has several processors, whose list has many forms";
  for (std::size_t rank = 0; rank < std::min<std::size_t>(lines.size(), 10); ++rank) {  // sorted by rank as text, too
    EXPECT_EQ(lines[rank], fmt::format("[{}] Cpus_allowed_list:\t{}", rank, cores[rank % cores.size()][0]));
  }
}

TEST_F(Launch, says_why_a_program_cannot_be_started) {
  LaunchOptions options = options_for(2, "");
  const auto with = [&](const std::string& program) {
    options.command = {program};
    return run(options);
  };
  EXPECT_EQ(with("no-such-program").err, "hocket: there is no program \"no-such-program\" in the folders of PATH\n");
  EXPECT_EQ(with("no-such-program").code, 127);
  EXPECT_EQ(with("/no/such").err, "hocket: /no/such: can't be run: No such file or directory\n");
  EXPECT_EQ(with("/no/such").code, 127);
  EXPECT_EQ(with("/tmp").code, 126);
  const std::string script = folder_ + "/script";
  std::ofstream(script) << "echo";
  EXPECT_EQ(with(script).code, 126);
  EXPECT_THAT(with(script).err, HasSubstr("Permission denied; make it executable with chmod +x"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(with(script).code, 126);
  EXPECT_THAT(with(script).err,
              HasSubstr("rank 0: " + script + ": can't be run: Exec format error; a script begins with"));
  std::ofstream(script) << "#!/no/such\n";
  EXPECT_EQ(with(script).code, 127);
}

TEST_F(Launch, wants_at_least_one_rank_and_a_program) {
  EXPECT_EQ(run(0, "").err, "0 ranks can't be started, expected at least 1");
  EXPECT_EQ(run(LaunchOptions{}).err, "there is no program to start");
}

TEST_F(Launch, a_reader_that_goes_away_ends_the_ranks) {
  LaunchOptions options = options_for(2, "while echo line; do :; done");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const FileDescriptor writer(ends[1]);
  const FileDescriptor errors(memfd_create("errors", MFD_CLOEXEC));
  options.output = writer.number();
  options.errors = errors.number();
  EXPECT_NE(launch(options).value(), 0);
}

TEST_F(Launch, a_full_disk_is_an_error) {
  LaunchOptions options = options_for(1, "echo line; sleep 0.1");
  const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const FileDescriptor errors(memfd_create("errors", MFD_CLOEXEC));
  options.output = full.number();
  options.errors = errors.number();
  EXPECT_EQ(launch(options).value(), 1);
  EXPECT_THAT(content_of(errors), HasSubstr("hocket: standard output can't be written: No space left on device\n"));
}

}  // namespace
}  // namespace hocket
