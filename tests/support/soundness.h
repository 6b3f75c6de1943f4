// What tests of passes ask of a result: is it sound, and which order is it?
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/verify.h"

namespace hocket {

// What the verifier has to say of a graph or a program, one problem on a line.
template <class Form>
std::string problems_of(const Form& form) {
  std::string all;
  for (const Problem& problem : verify(form)) all += problem.to_string() + "\n";
  return all;
}

// Old ids in the order of the new graph.
inline std::vector<NodeId> order_in(const Graph& graph, const Graph& changed) {
  std::map<std::string_view, NodeId> ids;
  for (std::size_t i = 0; i < graph.size(); ++i) ids[graph.name(NodeId(i))] = NodeId(i);
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < changed.size(); ++i) order.push_back(ids.at(changed.name(NodeId(i))));
  return order;
}

}  // namespace hocket
