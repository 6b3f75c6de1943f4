// The JSON form of graphs, schema commgraph/1: one object with groups, storages and nodes, as PyTorch captures are stored.
#pragma once

#include <string>
#include <string_view>

#include "hocket/ir/graph.h"

namespace hocket {

// `file` is what errors call the text. Storages are renumbered in the order of their first appearance.
Result<Graph> read_graph_json(std::string_view text, const std::string& file,
                              const OpTable& table = OpTable::builtin());

// All that the graph says, one line.
std::string write_graph_json(const Graph& graph);

// A JSON string literal of any bytes that are valid UTF-8.
void append_json_string(std::string& to, std::string_view text);

}  // namespace hocket
