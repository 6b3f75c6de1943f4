// One test for each section of the files *.hk in this folder; README.md describes their form.
#include <gtest/gtest.h>

#include "support/program_test.h"

namespace hocket {
namespace {

class Programs : public testing::TestWithParam<ProgramTest> {};

TEST_P(Programs, behave_as_written) {
  const std::string wrong = run_program_test(GetParam());
  EXPECT_TRUE(wrong.empty()) << wrong;
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(read_program_tests(HOCKET_TEST_DATA "/../programs")),
                         [](const auto& test) { return test.param.test_name(); });

// --- the runner itself

std::string outcome(std::string_view text) {
  std::string all;
  for (const ProgramTest& test : parse_program_tests(text, "made_up.hk")) all += run_program_test(test);
  return all;
}

constexpr std::string_view sound = R"(
--- name: a graph
--- input
graph @g(%x: f32[4]) {
  return %x
}
)";

std::string with(std::string_view expectation) { return outcome(std::string(sound) + std::string(expectation)); }

TEST(ProgramRunner, accepts_what_is_expected) {
  EXPECT_EQ(with("--- expect nothing\n"), "");
  EXPECT_EQ(with("--- expect lines\nreturn\n"), "");
  EXPECT_EQ(with("--- expect text\ngraph @g(%x: f32[4]) {\n  return %x\n}\n\n"), "");
}

TEST(ProgramRunner, shows_what_is_there_instead) {
  EXPECT_NE(with("--- expect text\ngraph @h(%x: f32[4]) {\n  return %x\n}\n").find("graph @g"), std::string::npos);
  EXPECT_NE(with("--- expect problems\nx: wait: something\n").find("expected 1 problems"), std::string::npos);
  EXPECT_NE(with("--- expect error\n1:1: bad\n").find("there is none"), std::string::npos);
  EXPECT_NE(with("--- expect lines\n}\nreturn\n").find("not in this order"), std::string::npos);
}

TEST(ProgramRunner, refuses_files_that_it_does_not_understand) {
  EXPECT_NE(outcome("--- name: a\n--- input\n").find("no --- expect"), std::string::npos);
  EXPECT_NE(with("--- expect wonders\n").find("'expect wonders' is not known"), std::string::npos);
  EXPECT_NE(with("--- run magic\n--- expect nothing\n").find("'--- run magic' is not known; known: "),
            std::string::npos);
  EXPECT_NE(outcome("--- input\n").find("before the first --- name:"), std::string::npos);
  EXPECT_NE(outcome("graph\n").find("stands in no section"), std::string::npos);
}

TEST(ProgramRunner, runs_what_is_registered_with_its_arguments) {
  register_run("count", [](const GraphOrProgram& input, std::string_view arguments) {
    RunOutcome result;
    result.text = std::to_string(std::get<Graph>(input).size()) + " " + std::string(arguments);
    return result;
  });
  EXPECT_EQ(with("--- run count a b\n--- expect text\n2 a b\n"), "");
}

TEST(ProgramRunner, wants_a_caret_in_its_very_column) {
  const std::string bad = "--- name: a\n--- input\ngraph g\n--- expect error\n  graph g\n";
  EXPECT_EQ(outcome(bad + "        ^\n"), "");
  EXPECT_NE(outcome(bad + "       ^\n"), "");
}

}  // namespace
}  // namespace hocket
