#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "ir/effects.h"
#include "ir/text_args.h"

namespace hocket {

namespace {

// Prints what the operator table does not already say: an effect, a storage or a size is left out where
// the parser would derive the same.
class GraphPrinter final : public TextPrinter {
 public:
  GraphPrinter(const Graph& graph, const PrintOptions& options)
      : TextPrinter(graph, options.facts), graph_(graph), symbols_(graph.symbols()) {
    find_default_device();
    find_storage_facts();
  }

  std::string print() {
    text_.reserve(graph_.size() * 160);
    text_ += "graph ";
    append_name(text_, '@', graph_.name());
    text_ += '(';
    const std::size_t first = parameters();
    text_ += ") {\n";
    if (graph_.world_size() >= 0 || graph_.rank() >= 0) put("  world {} rank {}\n", graph_.world_size(), graph_.rank());
    if (default_device_ != "cpu") {
      text_ += "  device ";
      append_json_string(text_, default_device_);
      text_ += '\n';
    }
    for (const auto& [key, json] : graph_.meta()) {
      text_ += "  meta ";
      append_json_string(text_, key);
      put(" = {}\n", json);
    }
    groups();
    for (std::size_t i = first; i < graph_.size(); ++i) node(NodeId(i));
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  bool is_parameter(NodeId id) const {
    return graph_.node(id).kind == NodeKind::input && graph_.args(id).empty() && graph_.keywords(id).empty();
  }

  // The inputs that lead the graph, on one line if they fit. Returns the first node that is none of them.
  std::size_t parameters() {
    constexpr std::size_t line_width = 120;
    const std::size_t begin = text_.size();
    std::vector<std::size_t> breaks;
    std::size_t i = 0;
    for (; i < graph_.size() && is_parameter(NodeId(i)); ++i) {
      if (i > 0) {
        breaks.push_back(text_.size() + 1);
        text_ += ", ";
      }
      append_name(text_, '%', graph_.name(NodeId(i)));
      text_ += ": ";
      result(NodeId(i));
      facts(NodeId(i));
    }
    if (text_.size() <= line_width) return i;
    std::string broken = text_.substr(0, begin);
    std::size_t from = begin;
    for (const std::size_t at : breaks) {
      broken.append(text_, from, at - from);
      broken += "\n   ";
      from = at;
    }
    broken.append(text_, from);
    text_ = std::move(broken);
    return i;
  }

  void find_default_device() {
    std::vector<std::size_t> uses(graph_.devices().size(), 0);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const Output& output : graph_.outputs(NodeId(i))) ++uses[output.device.index()];
    }
    const auto most = std::max_element(uses.begin(), uses.end());
    if (most != uses.end()) default_device_ = graph_.devices()[static_cast<std::size_t>(most - uses.begin())];
  }

  void find_storage_facts() {
    const std::size_t count = graph_.storages().size();
    reach_.assign(count, Dim(0));
    first_.assign(count, OutputRef{});
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const auto outputs = graph_.outputs(NodeId(i));
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const std::size_t storage = outputs[k].storage.index();
        if (!first_[storage].node.valid()) first_[storage] = {NodeId(i), k};
        reach_[storage] = farther_reach(reach_[storage], graph_.type(outputs[k]), symbols_);
      }
    }
  }

  void value(const Arg& arg) override { append_name(text_, '%', graph_.name(arg.as_node())); }

  std::string reference(NodeId id) const {
    std::string text;
    if (id.valid()) append_name(text, '%', graph_.name(id));
    else text = "none";
    return text;
  }

  void node(NodeId id) {
    const Node& node = graph_.node(id);
    text_ += "  ";
    if (node.kind == NodeKind::output) {
      text_ += graph_.args(id).empty() ? "return ()" : "return ";
      arguments(graph_.args(id), {});
      if (!graph_.outputs(id).empty()) {
        text_ += " : ";
        result(id);
      }
    } else {
      append_name(text_, '%', graph_.name(id));
      text_ += " = ";
      if (node.kind == NodeKind::op) {
        call(graph_.op_name(id), graph_.args(id), graph_.keywords(id));
      } else {
        text_ += node.kind == NodeKind::input ? "input" : "attribute";
        if (!graph_.args(id).empty() || !graph_.keywords(id).empty()) {
          text_ += '(';
          arguments(graph_.args(id), graph_.keywords(id));
          text_ += ')';
        }
      }
      text_ += " : ";
      result(id);
    }
    facts(id);
    text_ += '\n';
  }

  // f32[2]   (f32[2], f32[3])   (f32[2],)   (,)   ()   int   int = 5
  void result(NodeId id) {
    const Node& node = graph_.node(id);
    const auto outputs = graph_.outputs(id);
    if (outputs.empty() && !node.multi && node.has_integer) {
      put("int = {}", node.integer);
    } else if (outputs.size() == 1 && !node.multi) {
      output(id, 0);
    } else {
      text_ += '(';
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (k > 0) text_ += ", ";
        output(id, k);
      }
      if (node.multi && outputs.size() < 2) text_ += ',';
      text_ += ')';
    }
  }

  void output(NodeId id, std::size_t k) {
    const Output& output = graph_.outputs(id)[k];
    type(graph_.type(output));
    if (graph_.device(output.device) != default_device_) {
      text_ += " on ";
      append_json_string(text_, graph_.device(output.device));
    }
    const OutputRef first = first_[output.storage.index()];
    const bool appears_here = first.node == id && first.index == k;
    const OutputRef shared = graph_.node(id).view_of.valid() ? shared_output(graph_, id, k) : OutputRef{};
    // the parser follows views backwards; one of a later node or of itself (malformed) leads nowhere
    const bool follows_from_view =
        shared.node.valid() && shared.node < id && graph_.outputs(shared.node)[shared.index].storage == output.storage;
    if (shared.node.valid() ? !follows_from_view : !appears_here) {
      text_ += " of ";
      if (appears_here) {
        text_ += "new";
      } else {
        append_name(text_, '%', graph_.name(first.node));
        if (first.index > 0) put("#{}", first.index);
      }
    }
    const Dim bytes = graph_.storage(output.storage).bytes;
    if (appears_here && bytes != reach_[output.storage.index()]) {
      text_ += " storage ";
      dim(bytes);
    }
  }

  void facts(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::output && graph_.name(id) != "output") {
      std::string text = "name=";
      append_json_string(text, graph_.name(id));
      fact(text);
    }
    if (node.kind == NodeKind::output && node.multi && graph_.outputs(id).empty()) fact("multi");
    if (!node.multi && graph_.outputs(id).size() > 1) fact("multi=false");
    effects(id);
    if (node.has_integer && !(graph_.outputs(id).empty() && !node.multi)) fact(fmt::format("int={}", node.integer));
    measured(node.measured, node.gemm);
    if (const std::string_view extra = graph_.extra(id); !extra.empty() && facts_)
      fact(fmt::format("json={{{}}}", extra));
    end_facts();
  }

  void effects(NodeId id) {
    const Node& node = graph_.node(id);
    CallEffects row;
    if (node.kind == NodeKind::op) row = effects_by_row(graph_, id);
    if (node.view_of != row.view_of) fact("view_of=" + reference(node.view_of));
    if (const auto mutates = graph_.mutates(id); !std::ranges::equal(mutates, row.mutates)) {
      std::string text = "mutates=[";
      for (std::size_t i = 0; i < mutates.size(); ++i) text += (i > 0 ? ", " : "") + reference(mutates[i]);
      fact(text + "]");
    }
    const Collective* own = graph_.collective(id);
    if ((own != nullptr) != row.collective.has_value() || (own != nullptr && *own != *row.collective)) {
      std::string text = "coll=none";
      if (own != nullptr) {
        text = fmt::format("coll={}(", name_of(own->kind));
        append_name(text, '@', graph_.group(own->group).name);
        text += fmt::format(", {}, {})", own->bytes_in.count, own->bytes_out.count);
      }
      fact(text);
    }
    const OpSpec* spec = graph_.op_spec(id);
    const NodeId awaited = spec != nullptr && spec->effects.waits ? awaited_by(graph_, id) : NodeId::none();
    if (node.wait_of != awaited) fact("wait_of=" + reference(node.wait_of));
  }

  const Graph& graph_;
  SymbolTable symbols_;
  std::string default_device_ = "cpu";
  std::vector<Dim> reach_;        // of each storage: as far as its tensors reach
  std::vector<OutputRef> first_;  // of each storage: the first output in it
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) { return GraphPrinter(graph, options).print(); }

}  // namespace hocket
