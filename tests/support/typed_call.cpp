#include "support/typed_call.h"

#include "hocket/ir/text.h"

namespace hocket {

namespace {

std::string list_text(Dims dims, const SymbolTable& symbols) {
  std::string text;
  for (const Dim dim : dims) text += (text.empty() ? "" : ",") + symbols.to_string(dim);
  return "[" + text + "]";
}

}  // namespace

std::string to_text(const TypeView& type, const SymbolTable& symbols) {
  std::string text = std::string(short_name(type.dtype)) + list_text(type.shape, symbols);
  SymbolTable scratch = symbols;
  const auto dense = contiguous_strides(type.shape, scratch);
  if (!dense || list_text(dense->dims, scratch) != list_text(type.strides, symbols)) {
    text += " strides" + list_text(type.strides, symbols);
  }
  if (type.offset != Dim(0)) text += " offset " + symbols.to_string(type.offset);
  return text;
}

std::string type_of(std::string_view inputs, std::string_view call) {
  return type_in(inputs, fmt::format("%y = {}", call));
}

std::string type_in(std::string_view inputs, std::string_view body) {
  const std::string text =
      fmt::format("graph @t({}) {{\n  group @g = ranks[0,1,2,3]\n  {}\n  return none\n}}\n", inputs, body);
  const Result<Graph> graph = parse_graph(text, "t.hk");
  if (!graph) return graph.error().message.substr(0, graph.error().message.find('\n'));  // the rest shows the place
  const auto node = graph->find("y");
  if (!node) return "no %y";
  std::string types;
  for (const Output& output : graph->outputs(*node)) {
    types += (types.empty() ? "" : ", ") + to_text(graph->type(output), graph->symbols());
  }
  return graph->node(*node).multi || graph->outputs(*node).empty() ? "(" + types + ")" : types;
}

}  // namespace hocket
