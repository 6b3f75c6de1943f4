#include "fuse/ddp_filter.h"

#include <algorithm>
#include <cctype>

#include "ir/node_facts.h"

namespace hocket::fuse {

std::optional<double> divisor_of(const Graph& graph, NodeId id) {
  const auto args = graph.args(id);
  const bool divides =
      is_op(graph, id, "aten.div.Tensor") || is_op(graph, id, "aten.div.Scalar");  // C++ captures have the second
  if (!divides || args.size() != 2 || !graph.keywords(id).empty()) return std::nullopt;
  if (!args[0].is(ArgKind::value) || graph.outputs(args[0].as_node()).size() != 1) return std::nullopt;
  if (args[1].is(ArgKind::integer)) return static_cast<double>(args[1].as_integer());
  if (args[1].is(ArgKind::real)) return args[1].as_real();
  return std::nullopt;
}

namespace {

Status check_static(const Graph& graph, NodeId id) {
  if (!all_static(graph.type(graph.outputs(id)[0]).shape)) return fail(ErrorKind::input, "its size is symbolic");
  return {};
}

Status check_division(const Graph& graph, const Users& users, const CommBlock& block) {
  if (const auto divisor = divisor_of(graph, block.input()); !divisor || *divisor == 0)
    return fail(ErrorKind::input, "its input {} is no division by a number", graph.name(block.input()));
  const auto uses = users.of(block.input());
  if (uses.size() != 1) {
    const NodeId other = uses[0] == block.collective ? uses[1] : uses[0];
    return fail(ErrorKind::input, "its input {} is used by {} too", graph.name(block.input()), graph.name(other));
  }
  return check_static(graph, block.input());
}

// The output, or a copy into the gradient.
Status check_user(const Graph& graph, const Users& users, const CommBlock& block) {
  const auto uses = users.of(block.wait());
  if (uses.size() != 1)
    return fail(ErrorKind::input, "its wait {} has {} users, expected one", graph.name(block.wait()), uses.size());
  const NodeId user = uses[0];
  if (graph.node(user).kind == NodeKind::output) return {};
  const auto args = graph.args(user);
  const bool is_source = args.size() > 1 && args[1].is(ArgKind::value) && args[1].as_node() == block.wait() &&
                         !(args[0].is(ArgKind::value) && args[0].as_node() == block.wait());
  if (is_op(graph, user, "aten.copy_.default") && is_source) return {};
  return fail(ErrorKind::input, "its wait {} is used by {}, which is neither the output nor a copy_ into the gradient",
              graph.name(block.wait()), graph.name(user));
}

}  // namespace

std::string reduce_operation(const Graph& graph, NodeId collective) {
  const OpSpec* spec = graph.op_spec(collective);
  const auto args = graph.args(collective);
  if (spec == nullptr || !spec->effects.comm || spec->effects.comm->reduce_arg < 0) return {};
  const auto position = static_cast<std::size_t>(spec->effects.comm->reduce_arg);
  if (position >= args.size() || !args[position].is(ArgKind::string)) return {};
  std::string name(graph.pool().text(args[position]));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

Status check_only_read(const Graph& graph, const std::vector<NodeId>& last_write, const CommBlock& block) {
  for (const NodeId wait : block.waits) {
    for (const Output& output : graph.outputs(wait)) {
      const NodeId writer = last_write[output.storage.index()];
      if (writer.valid() && writer.value > wait.value)
        return fail(ErrorKind::input, "its result is written to by {}", graph.name(writer));
    }
  }
  return {};
}

Result<GradientAverage> gradient_average(const Graph& graph, const Users& users, NodeId all_reduce) {
  HOCKET_TRY(CommBlock block, find_block(graph, users, all_reduce));
  if (block.inputs.size() != 1) return fail(ErrorKind::input, "it has {} inputs", block.inputs.size());
  GradientAverage result;
  result.kind.group = graph.collective(all_reduce)->group;
  result.kind.reduce_op = reduce_operation(graph, all_reduce);
  NodeId gradient = block.input();
  if (result.kind.reduce_op == "avg") {
    HOCKET_CHECK(check_static(graph, gradient));
    if (graph.op_name(all_reduce) != "_c10d_functional.all_reduce.default") {
      return fail(ErrorKind::input, "it averages {} in place", graph.name(gradient));
    }
  } else {
    HOCKET_CHECK(check_division(graph, users, block));
    HOCKET_CHECK(check_user(graph, users, block));
    result.kind.divisor = divisor_of(graph, block.input()).value();
    gradient = graph.args(block.input())[0].as_node();
  }
  const Output& average = graph.outputs(block.input())[0];
  result.kind.reduced = graph.type(average).dtype;
  result.kind.gradient = graph.type(graph.outputs(gradient)[0]).dtype;
  result.kind.device = average.device;
  result.bytes = tensor_bytes(graph.type(average));
  result.block = std::move(block);
  return result;
}

}  // namespace hocket::fuse
