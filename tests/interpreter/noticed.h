// What the interpreter says of two programs that should compute the same. Beyond same_values(), nodes of the same name must have
// written the same: for tests that break or reorder one program.
#pragma once

#include <string>

#include "support/interpreter.h"

namespace hocket {

// Empty: it notices nothing.
template <class Before, class After>
std::string noticed(const Before& before, const After& after, std::uint64_t seed) {
  const interpreter::RunOptions options{.seed = seed, .trace = true};
  const auto expected = interpreter::run(before, options);
  if (!expected) return "cannot run before: " + expected.error().to_string();
  const auto found = interpreter::run(after, options);
  if (!found) return found.error().to_string();
  if (std::string text = interpreter::first_difference(*expected, *found); !text.empty()) return text;
  const auto nodes = interpreter::traced_differences(*expected, *found);
  return nodes.empty() ? "" : nodes[0] + " wrote other values";
}

}  // namespace hocket
