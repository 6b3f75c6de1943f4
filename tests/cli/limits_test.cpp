// Commands that get no more of what they need: memory, room for a file, room on the disk.
#include <gmock/gmock.h>

#include "base/sanitizers.h"
#include "cli_fixture.h"

namespace {

using testing::HasSubstr;

const std::string captured = HOCKET_TEST_DATA "/fsdp_llama_tiny.json.gz";
const std::string tool = "'" HOCKET_TEST_TOOL "' ";

class Limits : public Cli {};

TEST_F(Limits, of_memory_are_an_error_that_says_so) {
  if (hocket::under_address_sanitizer || hocket::under_thread_sanitizer)
    GTEST_SKIP() << "sanitizers reserve more addresses than that";
  // From where the program itself has hardly room to where there is enough for all that it does.
  int refused = 0;
  for (int kib = 15'000; kib < 26'000; kib += 500) {
    const Outcome outcome = run("(ulimit -v " + std::to_string(kib) + " && " + tool + "stats " + captured + ")");
    if (outcome.code == 0 || outcome.code == 127) continue;  // 127: it can't be loaded
    ++refused;
    EXPECT_EQ(outcome.code, 1) << kib;
    EXPECT_EQ(outcome.err, "hocket: out of memory\n") << kib;
  }
  EXPECT_GT(refused, 0) << "the limits are not those that matter any more";
}

TEST_F(Limits, of_the_size_of_files_leave_nothing_half_written) {
  for (const std::string output : {"-o out.json", "--html out.html", "--trace out.json"}) {
    const Outcome outcome = run("(ulimit -f 8 && " + tool + "opt " + captured + " " + output + ")");
    EXPECT_EQ(outcome.code, 1) << output;
    EXPECT_THAT(outcome.err, HasSubstr("can't be written: File too large")) << output;
    EXPECT_EQ(files(), 0U) << output;
  }
}

TEST_F(Limits, of_the_disk_leave_what_was_there_and_nothing_half_written) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a small disk";
  fs::create_directory(folder_ / "disk");
  for (const std::string output : {"-o disk/out", "--html disk/out", "--trace disk/out"}) {
    const Outcome outcome = run("unshare -m sh -c \"mount -t tmpfs -o size=32k none disk && echo before >disk/out && " +
                                tool + "opt " + captured + " " + output + "; echo code \\$?; cat disk/*\"");
    EXPECT_THAT(outcome.out, testing::EndsWith("code 1\nbefore\n")) << output << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("can't be written: No space left on device")) << output;
  }
}

}  // namespace
