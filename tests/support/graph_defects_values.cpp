// Types, storages and mutation made wrong.
#include <algorithm>

#include "support/graph_defects.h"

namespace hocket {

namespace {

bool is_known_op(const Graph& graph, NodeId id) { return graph.op_spec(id) != nullptr; }

bool aliases(const Graph& graph, NodeId id) {
  const OpSpec* spec = graph.op_spec(id);
  return spec != nullptr && (spec->effects.alias == Alias::first || spec->effects.alias == Alias::out) &&
         graph.node(id).view_of.valid();
}

bool creates(const Graph& graph, NodeId id) {
  return is_op(graph, id) && !graph.node(id).view_of.valid() && !graph.outputs(id).empty();
}

bool has_elements(const TypeView& type) {
  return all_static(type.shape) && std::find(type.shape.begin(), type.shape.end(), Dim(0)) == type.shape.end();
}

std::size_t new_storage(GraphDraft& draft, Dim bytes) {
  draft.storage_bytes.push_back(bytes);
  return draft.storage_bytes.size() - 1;
}

// ---- types

// Operators whose result has the type of their first argument; mm, which takes nothing but matrices.
bool redirect_to_other_type(GraphDraft& draft, const Graph& graph, Random& random) {
  constexpr std::string_view same_as_argument[] = {"aten.relu.default",
                                                   "aten.neg.default",
                                                   "aten.exp.default",
                                                   "aten.tanh.default",
                                                   "aten.alias.default",
                                                   "aten.clone.default",
                                                   "aten.detach.default",
                                                   "aten.silu.default",
                                                   "_c10d_functional.all_reduce.default",
                                                   "_c10d_functional.wait_tensor.default"};
  const auto fits = [&](NodeId id) {
    if (!is_op(graph, id) || graph.args(id).empty() || !graph.args(id)[0].is(ArgKind::value)) return false;
    const std::string_view op = graph.op_name(id);
    return op == "aten.mm.default" ||
           std::find(std::begin(same_as_argument), std::end(same_as_argument), op) != std::end(same_as_argument);
  };
  const NodeId id = pick_node(graph, random, fits);
  if (!id.valid()) return false;
  const bool is_mm = graph.op_name(id) == "aten.mm.default";
  const TypeView have = graph.type(graph.outputs(graph.args(id)[0].as_node())[0]);
  const NodeId other = pick_node(graph, random, [&](NodeId one) {
    if (one >= id || graph.outputs(one).size() != 1 || graph.node(one).multi) return false;
    const TypeView type = graph.type(graph.outputs(one)[0]);
    return is_mm ? type.shape.size() != 2 : !std::ranges::equal(type.shape, have.shape);
  });
  if (!other.valid()) return false;
  draft.nodes[id.index()].args[0] = Arg::value(other);
  return true;
}

bool change_shape(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    const auto outputs = graph.outputs(one);
    return !outputs.empty() && !graph.type(outputs[0]).shape.empty() && has_known_types(graph, one);
  });
  if (!id.valid()) return false;
  auto& shape = draft.nodes[id.index()].outputs[0].shape;
  Dim& dim = shape[random.index(shape.size())];
  dim = dim.is_static() ? Dim(dim.value() + 1) : Dim(3);
  return true;
}

bool change_rank(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return !graph.outputs(one).empty() && has_known_types(graph, one); });
  if (!id.valid()) return false;
  DraftOutput& output = draft.nodes[id.index()].outputs[0];
  output.shape.emplace_back(1);
  output.strides.emplace_back(1);
  return true;
}

bool change_dtype(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return !graph.outputs(one).empty() && has_known_types(graph, one); });
  if (!id.valid()) return false;
  Dtype& dtype = draft.nodes[id.index()].outputs[0].dtype;
  dtype = dtype == Dtype::i16 ? Dtype::f16 : Dtype::i16;
  return true;
}

bool drop_result(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random,
                              [&](NodeId one) { return graph.outputs(one).size() > 1 && has_known_types(graph, one); });
  if (!id.valid()) return false;
  draft.nodes[id.index()].outputs.pop_back();
  return true;
}

// Dims in which a tensor has more than one element: only there a stride has a meaning.
std::vector<std::size_t> wide_dims(const TypeView& type) {
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i].is_static() && type.shape[i].value() > 1) dims.push_back(i);
  }
  return dims;
}

bool change_stride(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    if (!aliases(graph, one) || graph.outputs(one).empty() || !has_known_types(graph, one)) return false;
    const TypeView type = graph.type(graph.outputs(one)[0]);
    return has_elements(type) && !wide_dims(type).empty();
  });
  if (!id.valid()) return false;
  Dim& stride = draft.nodes[id.index()].outputs[0].strides[random.pick(wide_dims(graph.type(graph.outputs(id)[0])))];
  stride = stride.is_static() ? Dim(stride.value() + 1) : Dim(1);
  return true;
}

bool change_offset(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return aliases(graph, one) && !graph.outputs(one).empty() && has_elements(graph.type(graph.outputs(one)[0])) &&
           has_known_types(graph, one);
  });
  if (!id.valid()) return false;
  Dim& offset = draft.nodes[id.index()].outputs[0].offset;
  offset = offset.is_static() ? Dim(offset.value() + 1) : Dim(1);
  return true;
}

NodeId pick_element(const Graph& graph, Random& random) {
  return pick_node(graph, random, [&](NodeId id) {
    if (!is_op(graph, id) || graph.op_name(id) != "getitem" || graph.outputs(id).size() != 1) return false;
    const OpSpec* maker = graph.op_spec(graph.inputs(id)[0]);
    return graph.args(id)[1].is(ArgKind::integer) && maker != nullptr && maker->output_mask_arg < 0 &&
           maker->tensor_results.empty();
  });
}

bool take_other_element(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_element(graph, random);
  if (!id.valid()) return false;
  const auto elements = graph.outputs(graph.inputs(id)[0]);
  const auto own = static_cast<std::size_t>(graph.args(id)[1].as_integer());
  const std::size_t other = (own + 1) % elements.size();
  // where a tensor without elements begins has no meaning
  const auto same = [&](const Output& a, const Output& b) {
    return a.type == b.type && a.storage == b.storage && (a.offset == b.offset || !has_elements(graph.type(a)));
  };
  if (same(elements[own], elements[other])) return false;
  draft.nodes[id.index()].args[1] = Arg::integer(static_cast<std::int64_t>(other));
  return true;
}

bool take_element_beyond_end(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_element(graph, random);
  if (!id.valid()) return false;
  draft.nodes[id.index()].args[1] = Arg::integer(static_cast<std::int64_t>(graph.outputs(graph.inputs(id)[0]).size()));
  return true;
}

// ---- storages

bool reuse_storage(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return creates(graph, one) && one.index() > 0; });
  if (!id.valid()) return false;
  const NodeId other = pick_node(graph, random, [&](NodeId one) { return one < id && !graph.outputs(one).empty(); });
  if (!other.valid()) return false;
  const std::size_t storage = graph.outputs(other)[0].storage.index();
  draft.nodes[id.index()].outputs[0].storage = storage;
  draft.storage_bytes[storage] = Dim::max;  // not too small as well
  return true;
}

bool shrink_storage(GraphDraft& draft, const Graph& graph, Random& random) {
  SymbolTable symbols = graph.symbols();
  const auto extent = [&](NodeId id) -> std::int64_t {
    if (graph.outputs(id).empty()) return 0;
    const auto bytes = extent_bytes(graph.type(graph.outputs(id)[0]), symbols);
    return bytes && bytes->is_static() ? bytes->value() : 0;
  };
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return extent(one) > 0; });
  if (!id.valid()) return false;
  draft.storage_bytes[graph.outputs(id)[0].storage.index()] = random.between(0, extent(id) - 1);
  return true;
}

bool size_beyond_63_bits(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return graph.node(one).kind == NodeKind::input && graph.outputs(one).size() == 1;
  });
  if (!id.valid()) return false;
  draft.nodes[id.index()].outputs[0].shape = {Dim::max, Dim::max};
  draft.nodes[id.index()].outputs[0].strides = {Dim::max, 1};
  return true;
}

bool view_of_no_argument(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return aliases(graph, one); });
  if (!id.valid()) return false;
  const auto inputs = graph.inputs(id);
  const NodeId other = pick_node(graph, random, [&](NodeId one) {
    return one < id && std::find(inputs.begin(), inputs.end(), one) == inputs.end();
  });
  if (!other.valid()) return false;
  draft.nodes[id.index()].view_of = other;
  return true;
}

// copy_(a, b) that claims to give b, with all of b's memory.
bool view_of_other_argument(GraphDraft& draft, const Graph& graph, Random& random) {
  const auto second = [&](NodeId id) {
    return graph.args(id).size() > 1 && graph.args(id)[1].is(ArgKind::value) ? graph.args(id)[1].as_node()
                                                                             : NodeId::none();
  };
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    if (!aliases(graph, one) || graph.op_spec(one)->effects.alias_arg != 0 || !second(one).valid()) return false;
    return second(one) != graph.node(one).view_of && graph.outputs(second(one)).size() == 1 &&
           graph.outputs(one).size() == 1;
  });
  if (!id.valid()) return false;
  draft.nodes[id.index()].view_of = second(id);
  draft.nodes[id.index()].outputs = draft.nodes[second(id).index()].outputs;
  return true;
}

bool view_of_nothing(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return aliases(graph, one) && !graph.outputs(one).empty(); });
  if (!id.valid()) return false;
  draft.nodes[id.index()].view_of = NodeId::none();
  return true;
}

bool view_in_own_storage(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return aliases(graph, one) && !graph.outputs(one).empty(); });
  if (!id.valid()) return false;
  DraftOutput& output = draft.nodes[id.index()].outputs[0];
  output.storage = new_storage(draft, draft.storage_bytes[output.storage]);
  return true;
}

bool view_on_other_device(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return aliases(graph, one) && graph.outputs(one).size() == 1; });
  if (!id.valid()) return false;
  draft.nodes[id.index()].outputs[0].device = "elsewhere";
  return true;
}

bool result_called_a_view(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return creates(graph, one) && is_known_op(graph, one) && graph.op_spec(one)->effects.alias == Alias::fresh &&
           !graph.inputs(one).empty();
  });
  if (!id.valid()) return false;
  draft.nodes[id.index()].view_of = graph.inputs(id)[0];
  return true;
}

bool results_in_one_storage(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return creates(graph, one) && graph.outputs(one).size() > 1; });
  if (!id.valid()) return false;
  auto& outputs = draft.nodes[id.index()].outputs;
  outputs[1].storage = outputs[0].storage;
  draft.storage_bytes[outputs[0].storage] = Dim::max;
  return true;
}

// ---- mutation

bool hide_mutation(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id =
      pick_node(graph, random, [&](NodeId one) { return is_known_op(graph, one) && !graph.mutates(one).empty(); });
  if (!id.valid()) return false;
  draft.nodes[id.index()].mutates.clear();
  return true;
}

bool claim_mutation(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) {
    return is_known_op(graph, one) && graph.mutates(one).empty() && !graph.inputs(one).empty() &&
           graph.op_spec(one)->effects.mutates == 0;
  });
  if (!id.valid()) return false;
  draft.nodes[id.index()].mutates = {graph.inputs(id)[0]};
  return true;
}

bool mutate_no_argument(GraphDraft& draft, const Graph& graph, Random& random) {
  const NodeId id = pick_node(graph, random, [&](NodeId one) { return is_op(graph, one); });
  if (!id.valid()) return false;
  const auto inputs = graph.inputs(id);
  const NodeId other = pick_node(graph, random, [&](NodeId one) {
    return one < id && std::find(inputs.begin(), inputs.end(), one) == inputs.end();
  });
  if (!other.valid()) return false;
  draft.nodes[id.index()].mutates.push_back(other);
  return true;
}

}  // namespace

std::vector<GraphDefect> value_defects() {
  using enum ProblemKind;
  return {
      {"redirect an argument to another type", {type}, redirect_to_other_type},
      {"change a size", {type}, change_shape},
      {"add a dim", {type}, change_rank},
      {"change a dtype", {type}, change_dtype},
      {"drop one of several results", {type}, drop_result},
      {"change a view's stride", {type}, change_stride},
      {"change a view's offset", {type}, change_offset},
      {"take another element of a list", {type, storage}, take_other_element},
      {"take an element beyond the list", {type}, take_element_beyond_end},
      {"put a result into a used storage", {storage}, reuse_storage},
      {"shrink a storage", {storage}, shrink_storage},
      {"make a tensor larger than 2^63", {storage}, size_beyond_63_bits},
      {"call it a view of no argument", {storage}, view_of_no_argument},
      {"call it a view of another argument", {storage}, view_of_other_argument},
      {"call a view a view of nothing", {storage}, view_of_nothing},
      {"give a view its own storage", {storage}, view_in_own_storage},
      {"put a view on another device", {storage}, view_on_other_device},
      {"call a new result a view", {storage}, result_called_a_view},
      {"put two results into one storage", {storage}, results_in_one_storage},
      {"hide a mutation", {mutation}, hide_mutation},
      {"claim a mutation", {mutation}, claim_mutation},
      {"claim to write no argument", {mutation}, mutate_no_argument},
  };
}

}  // namespace hocket
