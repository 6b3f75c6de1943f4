#include <array>

#include "hocket/ir/builder.h"
#include "hocket/ir/stats.h"
#include "ir/verify_groups.h"

namespace hocket {

namespace {

// A cell is cut to its column; names are recognised by their beginning.
std::string cut(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width - 1)) + "~";
}

struct Row {
  std::size_t number = 0;
  std::string name, op, type, bytes, time, notes;
};

std::string header() {
  return fmt::format("{:>6}  {:<28} {:<34} {:<26} {:>11} {:>11}  {}\n", "#", "name", "operator", "result", "bytes",
                     "time", "notes");
}

std::string line(const Row& row) {
  std::string text = fmt::format("{:>6}  {:<28} {:<34} {:<26} {:>11} {:>11}  {}", row.number, cut(row.name, 28),
                                 cut(row.op, 34), cut(row.type, 26), row.bytes, row.time, row.notes);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string more(std::size_t rows, std::size_t most, std::string_view what) {
  return most > 0 && rows > most ? fmt::format("        … {} more {}\n", rows - most, what) : std::string();
}

Row row_of(const Graph& graph, NodeId id) {
  static constexpr std::array<std::string_view, 4> kinds = {"input", "attribute", "", "return"};
  const Node& node = graph.node(id);
  Row row;
  row.number = id.index();
  row.name = graph.name(id);
  row.op = node.kind == NodeKind::op ? std::string(short_op_name(graph.op_name(id)).value_or(graph.op_name(id)))
                                     : std::string(kinds[static_cast<std::size_t>(node.kind)]);
  Bytes bytes;
  const auto outputs = graph.outputs(id);
  for (const Output& output : outputs) bytes += tensor_bytes(graph.type(output));
  if (outputs.size() == 1) row.type = describe(graph.type(outputs[0]), graph.symbols(), false);
  else if (outputs.size() > 1) row.type = fmt::format("{} tensors", outputs.size());
  else if (node.has_integer) row.type = fmt::format("int = {}", node.integer);
  if (!outputs.empty() && !node.view_of.valid()) row.bytes = to_string(bytes);
  if (const auto time = graph.estimate(id); time && time->picoseconds > 0) row.time = to_string(*time);
  if (const Collective* collective = graph.collective(id))
    row.notes = fmt::format("{} on @{}", name_of(collective->kind), graph.group(collective->group).name);
  else if (node.wait_of.valid()) row.notes = fmt::format("waits for {}", graph.name(node.wait_of));
  else if (node.mutates.count > 0) row.notes = fmt::format("writes {}", graph.name(graph.mutates(id)[0]));
  else if (node.view_of.valid()) row.notes = fmt::format("view of {}", graph.name(node.view_of));
  else if (node.kind == NodeKind::op && graph.op_spec(id) == nullptr) row.notes = "opaque";
  return row;
}

Row row_of(const Program& program, StepId id) {
  const Step& step = program.step(id);
  Row row;
  row.number = id.index();
  row.name = program.name(id);
  row.op = short_op_name(program.op_name(id)).value_or(program.op_name(id));
  Bytes bytes;
  for (const OperandId operand : program.writes(id)) bytes += tensor_bytes(program.type(operand));
  if (const auto writes = program.writes(id); !writes.empty()) {
    row.type = describe(program.type(writes[0]), program.symbols(), false);
    row.bytes = to_string(bytes);
    const Buffer& buffer = program.buffer(program.operand(writes[0]).buffer);
    row.notes = fmt::format("%{} ({})", program.name(program.operand(writes[0]).buffer), name_of(buffer.home));
  }
  if (const auto time = program.estimate(id); time && time->picoseconds > 0) row.time = to_string(*time);
  if (const Collective* collective = program.collective(id))
    row.notes += fmt::format(" {} on @{}", name_of(collective->kind), program.group(collective->group).name);
  if (step.waits_for.valid()) row.notes += fmt::format(" waits for {}", program.name(step.waits_for));
  return row;
}

}  // namespace

std::string table_of(const Graph& graph, std::size_t most) {
  std::string text = header();
  for (std::size_t i = 0; i < graph.size() && (most == 0 || i < most); ++i) text += line(row_of(graph, NodeId(i)));
  return text + more(graph.size(), most, "nodes");
}

std::string table_of(const Program& program, std::size_t most) {
  std::string text = header();
  for (std::size_t i = 0; i < program.size() && (most == 0 || i < most); ++i) text += line(row_of(program, StepId(i)));
  return text + more(program.size(), most, "steps");
}

}  // namespace hocket
