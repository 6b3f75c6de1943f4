// The program that a graph's text becomes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hocket/ir/text.h"
#include "hocket/lower/lower.h"

namespace hocket {

inline Program program_of(const std::string& text) {
  const Result<Graph> graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return lower(*graph, {}).value().program;
}

}  // namespace hocket
