// A check of many graphs, random and captured. It says which one it stopped at.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "support/captures.h"
#include "support/random_graph.h"

namespace hocket {

template <class Check>
void for_random_graphs(std::uint64_t first, std::uint64_t count, const Check& check) {
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check(random_graph(seed));
  }
}

template <class Check>
void for_shipped_captures(const Check& check) {
  for (const std::string& path : shipped_captures()) {
    SCOPED_TRACE(path);
    const auto graph = read_graph(path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    check(*graph);
  }
}

}  // namespace hocket
