// The check that a pass must stand: what went in and what came out compute the same values on every rank.
//
//   const Graph after = fuse(before);
//   expect_same_values(before, after);             // Graph → Graph, Graph → Program or Program → Program
//
// A failure names the first difference: rank, result and position, and the nodes of both that wrote other values; or the node
// that read what was not there yet.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/interpreter.h"

namespace hocket {

// Inputs are matched by name, results by position.
template <class Before, class After>
testing::AssertionResult same_values(const Before& before, const After& after, std::uint64_t seed = 1) {
  const auto failure = [&](const std::string& what) {
    return testing::AssertionFailure() << "@" << before.name() << ", values of seed " << seed << ": " << what;
  };
  interpreter::RunOptions options{.seed = seed, .trace = true};
  const auto expected = interpreter::run(before, options);
  if (!expected) return failure("cannot run before: " + expected.error().to_string());
  options.world = static_cast<std::int64_t>(expected->ranks.size());
  if constexpr (requires { before.rank(); }) options.rank = before.rank();
  const auto found = interpreter::run(after, options);
  if (!found) return failure("cannot run after: " + found.error().to_string());
  const std::string difference = interpreter::first_difference(*expected, *found);
  if (difference.empty()) return testing::AssertionSuccess();
  std::vector<std::string> nodes = interpreter::traced_differences(*expected, *found);
  constexpr std::size_t most_named = 10;
  if (nodes.size() > most_named) nodes.resize(most_named);
  return failure(fmt::format("{}\nnodes that wrote other values: {}", difference, fmt::join(nodes, ", ")));
}

template <class Before, class After>
void expect_same_values(const Before& before, const After& after, std::uint64_t seed = 1) {
  EXPECT_TRUE(same_values(before, after, seed));
}

}  // namespace hocket
