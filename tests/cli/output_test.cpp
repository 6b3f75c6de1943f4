// Output that can't be written: a full disk, a closed standard output, a reader that has gone.
#include <gmock/gmock.h>

#include "cli_fixture.h"

namespace {

using testing::HasSubstr;

const char* const step = "graph @g(%x: f32[2]) {\n  %y = aten.neg(%x) : f32[2]\n  return %y\n}\n";

class Output : public Cli {};

TEST_F(Output, that_finds_no_room_is_an_error_of_every_command) {
  write("step.hk", step);
  for (const std::string command : {"--help", "verify step.hk", "stats step.hk", "stats step.hk --json", "opt step.hk",
                                    "convert step.hk", "explain step.hk", "sim step.hk", "diff step.hk step.hk"}) {
    for (const std::string where : {">/dev/full", ">&-"}) {
      const Outcome outcome = run("{ '" HOCKET_TEST_TOOL "' " + command + " " + where + "; }");
      EXPECT_EQ(outcome.code, 1) << command << " " << where;
      EXPECT_THAT(outcome.err, HasSubstr("hocket: standard output")) << command << " " << where;
      EXPECT_THAT(outcome.err, HasSubstr("can't be written")) << command << " " << where;
    }
  }
}

TEST_F(Output, to_a_reader_that_has_gone_ends_the_command_and_says_so) {
  write("step.hk", step);
  const Outcome outcome = run("{ { sleep 0.2; '" HOCKET_TEST_TOOL "' stats step.hk; echo $? >code; } | true; }");
  EXPECT_EQ(outcome.code, 0);
  for (int i = 0; i < 100 && read("code").empty(); ++i) usleep(50'000);  // the shell does not wait for the left side
  EXPECT_EQ(read("code"), "1\n");
}

TEST_F(Output, into_a_file_is_written_whole_or_not_at_all) {
  write("step.hk", step);
  const Outcome outcome = hocket("convert step.hk /dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/full: can't be written: No space left on device"));
  write("fast.json", "before");
  EXPECT_EQ(hocket("opt no-such-file.hk -o fast.json").code, 1);
  EXPECT_EQ(read("fast.json"), "before");
}

}  // namespace
