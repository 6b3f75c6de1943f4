#include "torch/replay.h"

#include <ATen/ATen.h>

#include <optional>
#include <utility>

#include "torch/arguments.h"
#include "torch/schema.h"

namespace hocket {

namespace {

// What a node resulted in: a tensor, or a list of them for getitem.
struct NodeResult {
  at::Tensor tensor;
  std::vector<at::Tensor> list;
};

class Replay {
 public:
  Replay(const Graph& graph, const std::vector<at::Tensor>& inputs, const std::vector<NamedTensor>& attributes)
      : graph_(graph), inputs_(inputs), attributes_(attributes), results_(graph.size()), last_use_(graph.size()) {}

  Result<std::vector<at::Tensor>> run() {
    note_last_uses();
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      auto status = run_node(id);
      if (!status) return fail(at(std::move(status).error(), fmt::format("node {}", graph_.name(id))));
      for (const NodeId input : graph_.inputs(id)) {
        if (last_use_[input.index()] == id) results_[input.index()] = {};
      }
    }
    if (next_input_ != inputs_.size()) {
      return fail(ErrorKind::usage, "{} inputs were given, the graph has {}", inputs_.size(), next_input_);
    }
    return std::move(returned_);
  }

 private:
  void note_last_uses() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const NodeId input : graph_.inputs(NodeId(i))) last_use_[input.index()] = NodeId(i);
    }
  }

  Status run_node(NodeId id) {
    switch (graph_.node(id).kind) {
      case NodeKind::input: return run_input(id);
      case NodeKind::attribute: return run_attribute(id);
      case NodeKind::output: return run_output(id);
      case NodeKind::op: break;
    }
    if (graph_.op_name(id) == "getitem") return run_getitem(id);
    const OpSpec* spec = graph_.op_spec(id);
    if (spec != nullptr && (spec->effects.comm || spec->effects.waits)) return run_alone(id);
    return run_op(id);
  }

  Status run_input(NodeId id) {
    if (next_input_ == inputs_.size()) return fail(ErrorKind::usage, "no tensor was given for this input");
    results_[id.index()].tensor = inputs_[next_input_++];
    return {};
  }

  Status run_attribute(NodeId id) {
    for (const auto& [name, tensor] : attributes_) {
      if (name != graph_.name(id)) continue;
      results_[id.index()].tensor = tensor;
      return {};
    }
    return fail(ErrorKind::usage, "no tensor was given for this attribute");
  }

  Status run_output(NodeId id) {
    for (const Arg& arg : graph_.args(id)) {
      if (!arg.is(ArgKind::value)) return fail(ErrorKind::input, "a result of the graph is no tensor");
      HOCKET_TRY(at::Tensor tensor, tensor_of(arg.as_node()));
      returned_.push_back(std::move(tensor));
    }
    return {};
  }

  Status run_getitem(NodeId id) {
    const auto args = graph_.args(id);
    const auto& list = results_[args[0].as_node().index()].list;
    const auto index = static_cast<std::size_t>(args[1].as_integer());
    if (index >= list.size()) return fail(ErrorKind::input, "element {} of a list of {}", index, list.size());
    results_[id.index()].tensor = list[index];
    return {};
  }

  // A collective among one rank: the result is a copy of the input, laid out as the graph says, or the input itself
  // where it works in place.
  Status run_alone(NodeId id) {
    const Effects& effects = graph_.op_spec(id)->effects;
    if (const Collective* collective = graph_.collective(id)) {
      const Group& group = graph_.group(collective->group);
      if (group.ranks.size() != 1) {
        return fail(ErrorKind::usage, "group {} has {} ranks; replay runs one rank and can't communicate", group.name,
                    group.ranks.size());
      }
    }
    const Arg& input = graph_.args(id)[0];
    const std::span<const Arg> elements =
        input.is(ArgKind::list) ? graph_.pool().elements(input) : std::span(&input, 1);
    NodeResult& result = results_[id.index()];
    for (std::size_t i = 0; i < elements.size(); ++i) {
      HOCKET_TRY(at::Tensor tensor, tensor_of(elements[i].as_node()));
      if (effects.alias != Alias::first) {
        HOCKET_TRY(at::Tensor to, memory_for(graph_.outputs(id)[i], tensor.device()));
        if (effects.alias == Alias::out) {
          const Arg* out = find_keyword(graph_.pool(), graph_.keywords(id), "out");
          if (out == nullptr) return fail(ErrorKind::input, "argument out is missing");
          HOCKET_TRY(to, tensor_of(out->as_node()));
        }
        tensor = to.copy_(tensor.reshape(to.sizes()));
      }
      result.list.push_back(tensor);
    }
    if (!input.is(ArgKind::list)) result.tensor = result.list.at(0);
    return {};
  }

  Result<at::Tensor> memory_for(const Output& output, c10::Device device) const {
    const TypeView type = graph_.type(output);
    HOCKET_TRY(const std::vector<std::int64_t> sizes, numbers_of(type.shape));
    HOCKET_TRY(const std::vector<std::int64_t> strides, numbers_of(type.strides));
    return at::empty_strided(sizes, strides, at::TensorOptions(scalar_type_of(type.dtype)).device(device));
  }

  Status run_op(NodeId id) {
    HOCKET_TRY(const c10::OperatorHandle op, find_operator(graph_.op_name(id)));
    const ArgReader reader{graph_.pool(), [&](NodeId node) { return tensor_of(node); }};
    HOCKET_TRY(torch::jit::Stack stack, call_arguments(op.schema(), graph_.args(id), graph_.keywords(id), reader));
    try {
      op.callBoxed(stack);
    } catch (const c10::Error& error) {
      return fail(ErrorKind::input, "{}", error.what_without_backtrace());
    }
    keep(id, stack);
    return {};
  }

  void keep(NodeId id, const torch::jit::Stack& stack) {
    NodeResult& result = results_[id.index()];
    if (!graph_.node(id).multi) {
      if (!stack.empty() && stack[0].isTensor()) result.tensor = stack[0].toTensor();
    } else if (stack.size() == 1 && stack[0].isTensorList()) {
      result.list = stack[0].toTensorVector();
    } else {
      for (const c10::IValue& value : stack) result.list.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
    }
  }

  Result<at::Tensor> tensor_of(NodeId id) const {
    const at::Tensor& tensor = results_[id.index()].tensor;
    if (!tensor.defined()) return fail(ErrorKind::input, "{} has no tensor as its result", graph_.name(id));
    return tensor;
  }

  const Graph& graph_;
  const std::vector<at::Tensor>& inputs_;
  const std::vector<NamedTensor>& attributes_;
  std::vector<NodeResult> results_;
  std::vector<NodeId> last_use_;
  std::vector<at::Tensor> returned_;
  std::size_t next_input_ = 0;
};

}  // namespace

Result<std::vector<at::Tensor>> replay(const Graph& graph, const std::vector<at::Tensor>& inputs,
                                       const std::vector<NamedTensor>& attributes) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return Replay(graph, inputs, attributes).run();
}

}  // namespace hocket
