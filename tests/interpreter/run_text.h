// Runs program text with inputs that count: element i of %x is i + 1 on rank 0, 100 more on each next rank, and %y, %z … have
// 1000, 2000 … more than %x.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/text.h"
#include "support/interpreter.h"

namespace hocket::interpreter {

using Words = std::vector<Word>;

inline Word counted(std::string_view input, std::size_t rank, std::int64_t element) {
  return static_cast<Word>(element) + 1 + 100 * rank + 1000 * static_cast<Word>(input[0] - 'x');
}

inline Result<RunResult> run_text(std::string_view text, bool strict = true) {
  const RunOptions options{.strict = strict, .given = counted};
  if (looks_like_program(text)) {
    const auto program = parse_program(text, "test.hk");
    if (!program) return fail(program.error());
    return run(*program, options);
  }
  const auto graph = parse_graph(text, "test.hk");
  if (!graph) return fail(graph.error());
  return run(*graph, options);
}

// Result `which` of a rank; empty, with a failure, where the program does not run.
inline Words words_of(std::string_view text, std::size_t rank = 0, std::size_t which = 0) {
  const auto result = run_text(text);
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    return {};
  }
  return result->ranks.at(rank).results.at(which).words;
}

// A result of one rank that runs this body; the inputs are %x, %y and %z.
inline Words computed(std::string_view inputs, std::string_view body, std::size_t which = 0) {
  return words_of("graph @g(" + std::string(inputs) + ") {\n" + std::string(body) + "\n}\n", 0, which);
}

inline std::string error_of(std::string_view text) {
  const auto result = run_text(text);
  return result ? "runs" : result.error().to_string();
}

inline Word minus(std::int64_t number) { return from_integer(-number); }

}  // namespace hocket::interpreter
