#include "support/program_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hocket/ir/json.h"
#include "hocket/ir/text.h"

namespace hocket {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text = trimmed(text.substr(prefix.size()));
  return true;
}

// --- reading the files

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : lines_(lines_of(text)), file_(file) {}

  std::vector<ProgramTest> read() {
    for (number_ = 0; number_ < lines_.size(); ++number_) {
      std::string_view line = lines_[number_];
      if (take_prefix(line, "---")) heading(line);
      else content(lines_[number_]);
    }
    finish();
    return std::move(tests_);
  }

 private:
  enum class Section : std::uint8_t { none, input, expectation };

  void heading(std::string_view text) {
    if (take_prefix(text, "name:")) {
      finish();
      tests_.emplace_back();
      tests_.back().name = text;
      tests_.back().stem = std::filesystem::path(file_).stem();
      tests_.back().file = fmt::format("{}:{}", file_, number_ + 1);
      section_ = Section::none;
    } else if (tests_.empty()) {
      tests_.emplace_back();
      mistake("a section before the first --- name:");
    } else if (take_prefix(text, "run")) {
      const std::size_t blank = std::min(text.find(' '), text.size());
      tests_.back().run = text.substr(0, blank);
      tests_.back().arguments = trimmed(text.substr(blank));
    } else if (take_prefix(text, "input")) {
      if (!text.empty() && text != "json")
        mistake(fmt::format("input of the unknown kind '{}'; known: json, or nothing for program text", text));
      tests_.back().json = text == "json";
      section_ = Section::input;
    } else if (take_prefix(text, "expect")) {
      expectation(text);
    } else {
      mistake(fmt::format("unknown section '{}'; known: name:, run, input, expect", text));
    }
  }

  void expectation(std::string_view what) {
    static const std::map<std::string_view, ProgramTest::Expected> known = {
        {"nothing", ProgramTest::Expected::nothing},
        {"problems", ProgramTest::Expected::problems},
        {"error", ProgramTest::Expected::error},
        {"text", ProgramTest::Expected::text},
        {"lines", ProgramTest::Expected::lines}};
    const auto found = known.find(what);
    if (found == known.end())
      return mistake(fmt::format("'expect {}' is not known; known: nothing, problems, error, text, lines", what));
    tests_.back().expectations.push_back({found->second, {}});
    section_ = Section::expectation;
  }

  void content(const std::string& line) {
    if (section_ == Section::input) tests_.back().input += line + "\n";
    else if (line.starts_with("//")) return;  // a comment between tests
    else if (section_ == Section::expectation) tests_.back().expectations.back().lines.push_back(line);
    else if (const auto text = trimmed(line); !text.empty()) {
      if (tests_.empty()) tests_.emplace_back();
      mistake(fmt::format("'{}' stands in no section", text));
    }
  }

  void mistake(std::string message) {
    if (tests_.back().mistake.empty()) tests_.back().mistake = fmt::format("{}:{}: {}", file_, number_ + 1, message);
  }

  // Blank lines at the end of a section are there for the eye.
  void finish() {
    if (tests_.empty()) return;
    ProgramTest& test = tests_.back();
    for (auto& expected : test.expectations) {
      while (!expected.lines.empty() && trimmed(expected.lines.back()).empty()) expected.lines.pop_back();
    }
    if (test.expectations.empty()) mistake("no --- expect");
  }

  std::vector<std::string> lines_;
  std::string file_;
  std::size_t number_ = 0;
  Section section_ = Section::none;
  std::vector<ProgramTest> tests_;
};

// --- running

std::string print_any(const GraphOrProgram& program) {
  return std::visit([](const auto& one) { return print(one); }, program);
}
std::vector<Problem> verify_any(const GraphOrProgram& program) {
  return std::visit([](const auto& one) { return verify(one); }, program);
}

RunOutcome just_verify(GraphOrProgram input, std::string_view) {
  RunOutcome outcome;
  outcome.program = std::move(input);
  return outcome;
}

RunOutcome print_without_facts(GraphOrProgram input, std::string_view) {
  RunOutcome outcome;
  outcome.text = std::visit([](const auto& one) { return print(one, PrintOptions{.facts = false}); }, input);
  outcome.problems.emplace();
  return outcome;
}

// order NAME NAME …: verify_order() of the graph with its nodes in this order; "any" in front lets collectives change places.
RunOutcome verify_named_order(GraphOrProgram input, std::string_view arguments) {
  RunOutcome outcome;
  const Graph& graph = std::get<Graph>(input);
  std::istringstream names{std::string(arguments)};
  std::vector<NodeId> order;
  OrderOptions options;
  for (std::string name; names >> name;) {
    if (name == "any") options.keep_collective_order = false;
    else order.push_back(graph.find(name).value_or(NodeId::none()));
  }
  outcome.problems = verify_order(graph, order, options);
  return outcome;
}

std::map<std::string, Run>& runs() {
  static std::map<std::string, Run> known = {
      {"verify", just_verify}, {"print_without_facts", print_without_facts}, {"order", verify_named_order}};
  return known;
}

Result<GraphOrProgram> parse_input(const ProgramTest& test) {
  const std::string file = "input";
  if (test.json) {
    HOCKET_TRY(Graph graph, read_graph_json(test.input, file));
    return graph;
  }
  if (looks_like_program(test.input)) {
    HOCKET_TRY(Program program, parse_program(test.input, file));
    return program;
  }
  HOCKET_TRY(Graph graph, parse_graph(test.input, file));
  return graph;
}

RunOutcome outcome_of(const ProgramTest& test) {
  auto input = parse_input(test);
  if (!input) {
    RunOutcome outcome;
    outcome.error = std::move(input).error();
    return outcome;
  }
  RunOutcome outcome = runs().at(test.run)(std::move(*input), test.arguments);
  if (outcome.program && !outcome.text) outcome.text = print_any(*outcome.program);
  if (outcome.program && !outcome.problems) outcome.problems = verify_any(*outcome.program);
  return outcome;
}

// --- comparing

// A line of blanks and a caret shows a column, so it must be the whole line; any other may be a part of its line.
bool fits(const std::string& expected, const std::string& actual) {
  const bool caret = trimmed(expected) == "^";
  return caret ? expected == actual : actual.find(expected) != std::string::npos;
}

// Each expected line fits an actual line, in this order.
std::string missing_line(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  std::size_t next = 0;
  for (const std::string& line : expected) {
    while (next < actual.size() && !fits(line, actual[next])) ++next;
    if (next == actual.size()) return fmt::format("this line is not there, or not in this order:\n  {}\n", line);
    ++next;
  }
  return {};
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text.empty() ? "  (nothing)\n" : text;
}

std::string compare_problems(const std::vector<std::string>& expected, const std::vector<Problem>& problems) {
  std::vector<std::string> actual;
  for (const Problem& problem : problems) actual.push_back(problem.to_string());
  bool equal = expected.size() == actual.size();
  for (std::size_t i = 0; equal && i < actual.size(); ++i) equal = fits(expected[i], actual[i]);
  return equal ? ""
               : fmt::format("expected {} problems:\n{}got {}:\n{}", expected.size(), indented(expected), actual.size(),
                             indented(actual));
}

std::string compare(const ProgramTest::Expectation& expectation, const RunOutcome& outcome) {
  using Expected = ProgramTest::Expected;
  if (expectation.what == Expected::error) {
    if (!outcome.error) return "expected an error, but there is none\n";
    const auto actual = lines_of(outcome.error->to_string());
    const std::string missing = missing_line(expectation.lines, actual);
    return missing.empty() ? "" : missing + "the error is:\n" + indented(actual);
  }
  if (outcome.error) return "an error that was not expected:\n" + indented(lines_of(outcome.error->to_string()));
  if (expectation.what == Expected::nothing)
    return compare_problems({}, outcome.problems.value_or(std::vector<Problem>()));
  if (expectation.what == Expected::problems)
    return compare_problems(expectation.lines, outcome.problems.value_or(std::vector<Problem>()));
  const auto actual = lines_of(outcome.text.value_or(""));
  if (expectation.what == Expected::text) {
    return expectation.lines == actual
               ? ""
               : "expected the text:\n" + indented(expectation.lines) + "got:\n" + indented(actual);
  }
  const std::string missing = missing_line(expectation.lines, actual);
  return missing.empty() ? "" : missing + "the text is:\n" + indented(actual);
}

}  // namespace

std::string ProgramTest::test_name() const {
  std::string result = stem + "_" + name;
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return result;
}

std::vector<ProgramTest> parse_program_tests(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

std::vector<ProgramTest> read_program_tests(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".hk") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ProgramTest> tests;
  for (const auto& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    for (ProgramTest& test : parse_program_tests(text.str(), path.filename())) tests.push_back(std::move(test));
  }
  return tests;
}

RunOutcome outcome_of(const Graph& input, const Result<RewriteResult>& result) {
  RunOutcome outcome;
  if (!result) {
    outcome.error = result.error();
    return outcome;
  }
  const Graph& graph = result->graph ? *result->graph : input;
  outcome.text = print(graph) + "report: " + result->report + "\n";
  for (const std::string& note : result->notes) *outcome.text += "note: " + note + "\n";
  if (!result->graph) *outcome.text += "unchanged\n";
  outcome.problems = verify(graph);
  return outcome;
}

void register_run(const std::string& name, Run run) { runs()[name] = std::move(run); }

std::string run_program_test(const ProgramTest& test) {
  if (!test.mistake.empty()) return test.mistake;
  if (!runs().contains(test.run)) {
    std::string known;
    for (const auto& [name, run] : runs()) known += (known.empty() ? "" : ", ") + name;
    return fmt::format("{}: '--- run {}' is not known; known: {}", test.file, test.run, known);
  }
  const RunOutcome outcome = outcome_of(test);
  std::string wrong;
  for (const auto& expectation : test.expectations) wrong += compare(expectation, outcome);
  return wrong.empty() ? "" : fmt::format("{}: {}\n{}", test.file, test.name, wrong);
}

}  // namespace hocket
