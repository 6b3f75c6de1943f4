#include <algorithm>

#include "hocket/cost/profile.h"

namespace hocket {

namespace {

void append_type(std::string& key, const TypeView& type, const SymbolTable& symbols) {
  if (!key.ends_with('(')) key += ',';
  key += short_name(type.dtype);
  key += '[';
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) key += ',';
    if (type.shape[i].is_static()) fmt::format_to(std::back_inserter(key), "{}", type.shape[i].value());
    else key += symbols.to_string(type.shape[i]);
  }
  key += ']';
}

std::string finished(std::string key) {
  key += ')';
  std::erase(key, ' ');  // of symbolic sizes
  return key;
}

}  // namespace

std::string call_key(const Graph& graph, NodeId id) {
  std::string key(graph.op_name(id));
  key += '(';
  const auto add = [&](const Arg& value) {
    for (const Output& output : graph.outputs(value.as_node())) append_type(key, graph.type(output), graph.symbols());
  };
  for (const Arg& arg : graph.args(id)) graph.pool().for_each_value(arg, add);
  for (const Keyword& keyword : graph.keywords(id)) graph.pool().for_each_value(keyword.value, add);
  return finished(std::move(key));
}

std::string call_key(const Program& program, StepId id) {
  std::string key(program.op_name(id));
  key += '(';
  const auto add = [&](const Arg& value) { append_type(key, program.type(value.as_operand()), program.symbols()); };
  for (const Arg& arg : program.args(id)) program.pool().for_each_value(arg, add);
  for (const Keyword& keyword : program.keywords(id)) program.pool().for_each_value(keyword.value, add);
  return finished(std::move(key));
}

}  // namespace hocket
