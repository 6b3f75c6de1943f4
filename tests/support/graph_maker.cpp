#include "support/graph_maker.h"

#include <fmt/format.h>

#include <stdexcept>

namespace hocket {

GraphMaker::GraphMaker(std::string_view graph_name, Random& random, const RandomGraphOptions& options)
    : random_(random), options_(options), builder_(std::string(graph_name)) {
  builder_.world(options.world, 0);
  if (!options.odd_names) return;
  builder_.default_device("cuda:0");
  builder_.meta("description", R"("made up: \"quoted\", ünïcode, \\")");
  builder_.meta("hardware", R"({"gpu":"none","count":[1,2.5,null,true]})");
}

GroupId GraphMaker::group(std::string group_name, int size, int apart) {
  std::vector<Rank> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(Rank{i * apart});
  sizes_.push_back(size);
  return builder_.group(std::move(group_name), std::move(ranks));
}

std::string GraphMaker::name(std::string_view stem) {
  const int number = named_++;
  if (options_.odd_names && random_.chance(20)) {
    return fmt::format("{}{}{}",
                       random_.pick({"a b ", "\"q\" ", "back\\slash ", "ünï ", "%", "new\nline", "\x01", "0", "a.b-"}),
                       stem, number);
  }
  return fmt::format("{}_{}", stem, number);
}

Measured GraphMaker::facts(const OpSpec* spec) {
  Measured measured;
  if (!random_.chance(options_.facts)) return measured;
  const bool free =
      spec != nullptr && (spec->effects.alias != Alias::fresh || spec->metadata_only) && !spec->effects.comm;
  // Times of the order that captures have: some µs for an operator, more for communication.
  constexpr std::int64_t microsecond = 1'000'000;
  const std::int64_t longest = (spec != nullptr && spec->effects.comm ? 200 : 50) * microsecond;
  measured.picoseconds = free ? 0 : random_.between(microsecond, longest);
  if (free) return measured;
  measured.read = random_.between(0, 1 << 20);
  measured.written = random_.between(0, 1 << 20);
  if (spec != nullptr && spec->effects.gemm) measured.flops = random_.between(1, 1 << 24);
  return measured;
}

NodeId GraphMaker::add(NodeSpec spec, std::string_view stem) {
  const std::string own_name = name(stem);
  spec.name = own_name;
  if (spec.kind == NodeKind::op) {
    const OpSpec* row = builder_.table().find(spec.op);
    spec.measured = facts(row);
    spec.gemm = row != nullptr && row->effects.gemm;
  }
  if (options_.odd_names && random_.chance(5)) spec.extra = R"("stack":["a.py",{"line":12}],"x":-0.0015)";
  const NodeId id = builder_.add(spec);
  if (builder_.error())
    throw std::logic_error(fmt::format("random graph: {}: {}", spec.op, builder_.error()->to_string()));
  return id;
}

NodeId GraphMaker::input(std::string_view stem, std::vector<Dim> shape, Dtype dtype) {
  OutputSpec output;
  output.dtype = dtype;
  output.shape = std::move(shape);
  NodeSpec spec;
  spec.kind = NodeKind::input;
  spec.outputs = std::span(&output, 1);
  return add(spec, stem);
}

NodeId GraphMaker::op(std::string_view op, std::vector<Arg> args,
                      std::initializer_list<std::pair<const char*, Arg>> keywords) {
  std::vector<Keyword> named;
  for (const auto& [key, value] : keywords) named.push_back({builder_.key(key), value});
  const std::string full = full_op_name(op);
  NodeSpec spec;
  spec.op = full;
  spec.args = args;
  spec.keywords = named;
  spec.infer = true;
  const std::string_view after_space = op.substr(op.find('.') == std::string_view::npos ? 0 : op.find('.') + 1);
  return add(spec, after_space.substr(0, after_space.find('.')));
}

NodeId GraphMaker::integer(std::string_view op, std::vector<Arg> args, std::int64_t value) {
  const std::string full = full_op_name(op);
  NodeSpec spec;
  spec.op = full;
  spec.args = args;
  spec.integer = value;
  return add(spec, "int");
}

NodeId GraphMaker::opaque(std::string_view op, std::vector<Arg> args, Dtype dtype, std::vector<Dim> shape) {
  OutputSpec output;
  output.dtype = dtype;
  output.shape = std::move(shape);
  NodeSpec spec;
  spec.op = op;
  spec.args = args;
  spec.outputs = std::span(&output, 1);
  return add(spec, "opaque");
}

NodeId GraphMaker::all_reduce(NodeId value, GroupId group, const char* reduce) {
  return op("_c10d_functional.all_reduce", {Arg::value(value), text(reduce), Arg::group(group)});
}

NodeId GraphMaker::all_gather(NodeId value, GroupId group) {
  return op("_c10d_functional.all_gather_into_tensor",
            {Arg::value(value), Arg::integer(size_of(group)), Arg::group(group)});
}

NodeId GraphMaker::reduce_scatter(NodeId value, GroupId group, const char* reduce) {
  return op("_c10d_functional.reduce_scatter_tensor",
            {Arg::value(value), text(reduce), Arg::integer(size_of(group)), Arg::group(group)});
}

Arg GraphMaker::sizes(const std::vector<std::int64_t>& numbers) {
  std::vector<Arg> elements;
  for (const std::int64_t number : numbers) elements.push_back(Arg::integer(number));
  return builder_.list(elements);
}

Arg GraphMaker::values(const std::vector<NodeId>& nodes) {
  std::vector<Arg> elements;
  for (const NodeId node : nodes) elements.push_back(Arg::value(node));
  return builder_.list(elements);
}

TypeView GraphMaker::type(NodeId node) const { return builder_.graph().type(builder_.graph().outputs(node)[0]); }

std::vector<Dim> GraphMaker::shape(NodeId node) const {
  const Dims dims = type(node).shape;
  return {dims.begin(), dims.end()};
}

Graph GraphMaker::finish(const std::vector<NodeId>& results) {
  builder_.output(results);
  auto graph = builder_.finish();
  if (!graph) throw std::logic_error("random graph: " + graph.error().to_string());
  return std::move(*graph);
}

}  // namespace hocket
