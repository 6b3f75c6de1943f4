// What must hold for everything that a reader accepts: it can be verified, measured, written and read back as the same.
// A violation ends the process, so that the fuzzer keeps the input.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "hocket/ir/json.h"
#include "hocket/ir/stats.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"

namespace hocket::fuzz {

[[noreturn]] inline void violated(const std::string& what, const std::string& detail) {
  fmt::print(stderr, "violated: {}\n{}\n", what, detail);
  std::abort();
}

inline void must_have_place(const Error& error) {
  if (error.message.empty() || error.where.empty()) violated("an error says what and where", error.to_string());
}

// Two nodes of one name can be told apart in JSON, by their ids, but not in text.
inline bool has_distinct_names(const std::vector<Problem>& problems) {
  return std::none_of(problems.begin(), problems.end(),
                      [](const Problem& problem) { return problem.kind == ProblemKind::name; });
}

inline void must_be_equal(const Graph& graph, const Graph& again, const std::string& how, const std::string& text) {
  if (!(again == graph)) violated(how + " gives the same graph", Graph::first_difference(graph, again) + "\n" + text);
  if (again.digest() != graph.digest()) violated(how + " gives the same digest", text);
}

inline void check(const Graph& graph) {
  const std::vector<Problem> problems = verify(graph);
  for (const Problem& problem : problems) {
    if (problem.message.empty()) violated("a problem says what", problem.to_string());
  }
  if (problems.empty()) summary(stats_of(graph));
  const std::string json = write_graph_json(graph);
  const auto from_json = read_graph_json(json, "json");
  if (!from_json) violated("JSON that was written is read", from_json.error().to_string() + "\n" + json);
  must_be_equal(graph, *from_json, "JSON", json);
  if (!has_distinct_names(problems)) return;
  const std::string text = print(graph);
  const auto from_text = parse_graph(text, "text");
  if (!from_text) violated("text that was printed is parsed", from_text.error().to_string() + "\n" + text);
  must_be_equal(graph, *from_text, "text", text);
  if (print(*from_text) != text) violated("text is printed the same way again", text);
}

inline void check(const Program& program) {
  verify(program);
  const std::string text = print(program);
  const auto again = parse_program(text, "text");
  if (!again) violated("text that was printed is parsed", again.error().to_string() + "\n" + text);
  if (!(*again == program) || again->digest() != program.digest()) violated("text gives the same program", text);
  if (print(*again) != text) violated("text is printed the same way again", text);
}

}  // namespace hocket::fuzz
