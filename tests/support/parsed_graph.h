// Graphs of tests, as text.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "hocket/ir/text.h"

namespace hocket {

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text, "test");
  EXPECT_TRUE(graph) << graph.error().to_string() << '\n' << text;
  return std::move(*graph);
}

inline std::size_t count_of(const Graph& graph, std::string_view op) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.size(); ++i)
    count += graph.node(NodeId(i)).kind == NodeKind::op && graph.op_name(NodeId(i)) == op ? 1 : 0;
  return count;
}

}  // namespace hocket
