// Tests written in program text, the expectation beside the input. tests/programs/README.md describes the form of the files.
//
//   --- name: rejects a use before the wait
//   --- input
//   graph @g(%x: f32[4]) { … }
//   --- expect problems
//   relu: wait: uses sum
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/file.h"
#include "hocket/ir/rewrite.h"
#include "hocket/ir/verify.h"

namespace hocket {

struct ProgramTest {
  enum class Expected : std::uint8_t { nothing, problems, error, text, lines };
  struct Expectation {
    Expected what = Expected::nothing;
    std::vector<std::string> lines;
  };

  std::string name;  // the behaviour
  std::string file;  // for messages: "verify_wait.hk:12"
  std::string stem;  // of the file: "verify_wait"
  std::string run = "verify";
  std::string arguments;
  bool json = false;  // the input is JSON
  std::string input;
  std::vector<Expectation> expectations;
  std::string mistake;  // of the test itself; it fails with this

  std::string test_name() const;  // as GoogleTest allows it: "verify_wait_rejects_a_use_before_the_wait"
};

// All tests of the files *.hk in a folder, in the order of the files' names.
std::vector<ProgramTest> read_program_tests(const std::string& folder);
std::vector<ProgramTest> parse_program_tests(std::string_view text, const std::string& file);

// What a run gives. Without a text of its own the program is printed; without problems of its own it is verified.
struct RunOutcome {
  std::optional<Error> error;
  std::optional<GraphOrProgram> program;
  std::optional<std::string> text;
  std::optional<std::vector<Problem>> problems;
};

// What a pass over graphs gave: the program, then its report and notes, and "unchanged" where it is.
RunOutcome outcome_of(const Graph& input, const Result<RewriteResult>& result);

// `--- run NAME ARGUMENTS` calls what was registered under the name. Built in: verify, print_without_facts, order.
using Run = std::function<RunOutcome(GraphOrProgram input, std::string_view arguments)>;
void register_run(const std::string& name, Run run);

// Runs a test; what is wrong, in words, or nothing.
std::string run_program_test(const ProgramTest& test);

}  // namespace hocket
