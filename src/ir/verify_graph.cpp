#include <algorithm>
#include <unordered_map>

#include "hocket/ir/verify.h"
#include "ir/verify_groups.h"

namespace hocket {

namespace {

// A list of nodes that can be asked often.
class NodeSet {
 public:
  explicit NodeSet(std::span<const NodeId> nodes) : sorted_(nodes.begin(), nodes.end()) {
    std::sort(sorted_.begin(), sorted_.end());
  }
  bool contains(NodeId id) const { return std::binary_search(sorted_.begin(), sorted_.end(), id); }

 private:
  std::vector<NodeId> sorted_;
};

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph) : graph_(graph), values_(graph), symbols_(graph.symbols()) {}

  std::vector<Problem> run() {
    verify_groups(graph_.groups(), graph_.world_size(), problems_);
    check_names();
    check_order();
    check_storage_sizes();
    in_flight_.resize(graph_.storages().size());
    read_in_flight_.resize(graph_.storages().size());
    waited_.assign(graph_.size(), false);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId(i);
      check_structure();
      if (!uses_known_) continue;  // what follows looks at the inputs
      check_types();
      check_storages();
      check_mutation();
      check_collective();
      check_flight();
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId(i);
      if (is_in_flight_after(id_) && !waited_[i]) report(ProblemKind::wait, "its result is never waited for");
    }
    if (outputs_seen_ != 1)
      problems_.push_back({ProblemKind::structure, "", fmt::format("{} outputs, expected one", outputs_seen_)});
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void report(ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back({kind, std::string(graph_.name(id_)), fmt::format(format, std::forward<Args>(args)...)});
  }

  // --- names and order

  void check_names() {
    std::unordered_map<std::string_view, NodeId> seen;
    seen.reserve(graph_.size());
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId(i);
      const std::string_view name = graph_.name(id_);
      if (name.empty()) report(ProblemKind::name, "node {} has no name", i);
      const auto [entry, is_new] = seen.try_emplace(name, id_);
      if (!is_new) report(ProblemKind::name, "nodes {} and {} have this name", entry->second.value, i);
    }
  }

  // Uses before definitions; where they close a circle, the circle is named instead.
  void check_order() {
    bool any = false;
    for (std::size_t i = 0; i < graph_.size() && !any; ++i) {
      const auto inputs = graph_.inputs(NodeId(i));
      any = std::any_of(inputs.begin(), inputs.end(), [&](NodeId input) { return input.index() >= i; });
    }
    if (!any) return;
    const std::vector<bool> in_cycle = find_cycle();
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId(i);
      for (const NodeId input : graph_.inputs(id_)) {
        if (input.index() >= i && !(in_cycle[i] && in_cycle[input.index()])) {
          report(ProblemKind::order, "uses {} before it is defined", graph_.name(input));
        }
      }
    }
  }

  // Takes away nodes whose inputs are all there, again and again; what is left holds every circle. One is followed and reported.
  std::vector<bool> find_cycle() {
    const std::size_t count = graph_.size();
    std::vector<std::uint32_t> missing(count, 0);
    std::vector<std::vector<NodeId>> users(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (const NodeId input : graph_.inputs(NodeId(i))) {
        ++missing[i];
        users[input.index()].push_back(NodeId(i));
      }
    }
    std::vector<NodeId> ready;
    for (std::size_t i = 0; i < count; ++i) {
      if (missing[i] == 0) ready.emplace_back(i);
    }
    std::size_t removed = 0;
    while (!ready.empty()) {
      const NodeId next = ready.back();
      ready.pop_back();
      ++removed;
      for (const NodeId user : users[next.index()]) {
        if (--missing[user.index()] == 0) ready.push_back(user);
      }
    }
    std::vector<bool> in_cycle(count, false);
    if (removed == count) return in_cycle;
    const auto start = static_cast<std::size_t>(
        std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; }) - missing.begin());
    // every node that is left has an input that is left: walking back must meet itself
    std::vector<std::int64_t> step_of(count, -1);
    std::vector<NodeId> path;
    NodeId at(start);
    while (step_of[at.index()] < 0) {
      step_of[at.index()] = static_cast<std::int64_t>(path.size());
      path.push_back(at);
      const auto inputs = graph_.inputs(at);
      at = *std::find_if(inputs.begin(), inputs.end(), [&](NodeId input) { return missing[input.index()] > 0; });
    }
    path.erase(path.begin(), path.begin() + step_of[at.index()]);
    std::reverse(path.begin(), path.end());
    std::string circle;
    constexpr std::size_t spelled_out = 12;
    for (std::size_t i = 0; i < path.size(); ++i) {
      in_cycle[path[i].index()] = true;
      if (i < spelled_out) circle += std::string(graph_.name(path[i])) + " -> ";
      else if (i == spelled_out) circle += "… -> ";
    }
    id_ = path.front();
    report(ProblemKind::cycle, "depends on itself: {}{}", circle, graph_.name(path.front()));
    return in_cycle;
  }

  void check_structure() {
    const Node& node = graph_.node(id_);
    uses_known_ = true;
    for (const NodeId input : graph_.inputs(id_)) {
      if (input.index() >= id_.index()) uses_known_ = false;  // check_order() has said so
      if (graph_.node(input).kind == NodeKind::output)
        report(ProblemKind::structure, "uses {}, which is an output", graph_.name(input));
      if (graph_.node(input).multi && node.kind == NodeKind::op && !is_getitem(id_)) {
        report(ProblemKind::structure, "uses {}, which is a list; a getitem takes one of its elements",
               graph_.name(input));
      }
    }
    if (node.kind == NodeKind::output) {
      ++outputs_seen_;
      if (id_.index() + 1 != graph_.size()) report(ProblemKind::structure, "an output that is not the last node");
    } else if (node.kind != NodeKind::op && node.inputs.count > 0) {
      report(ProblemKind::structure, "an input of the graph takes no arguments");
    }
    if (node.kind != NodeKind::op &&
        (graph_.collective(id_) != nullptr || node.wait_of.valid() || node.mutates.count > 0)) {
      report(ProblemKind::structure, "only an operator communicates, waits or mutates");
    }
    if (!node.multi && node.outputs.count > 1)
      report(ProblemKind::structure, "{} results, but it is not marked as a list", node.outputs.count);
  }

  // --- types

  bool is_getitem(NodeId id) const { return graph_.node(id).kind == NodeKind::op && graph_.op_name(id) == "getitem"; }

  void check_types() {
    const OpSpec* spec = graph_.op_spec(id_);
    if (spec == nullptr || spec->shape == nullptr) return;
    const Call call(graph_.pool(), graph_.args(id_), graph_.keywords(id_), values_, symbols_);
    const auto inferred = spec->shape(call);
    if (!inferred) {
      if (!is_cannot_infer(inferred.error())) report(ProblemKind::type, "{}", inferred.error().message);
      return;
    }
    const auto outputs = graph_.outputs(id_);
    if (inferred->size() != outputs.size()) {
      report(ProblemKind::type, "{} results, but {} gives {}", outputs.size(), spec->name, inferred->size());
      return;
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const TypeView have = graph_.type(outputs[k]);
      const InferredType& want = (*inferred)[k];
      const TypeView wanted{want.dtype, want.shape.dims, want.strides.dims, want.offset};
      // a view must address the very elements; what an operator allocates it may lay out as it likes
      const bool is_view = graph_.node(id_).view_of.valid();
      const bool same_kind = have.dtype == wanted.dtype && std::ranges::equal(have.shape, wanted.shape);
      const bool same_layout = !same_kind || !is_view || same_elements(have, wanted);
      if (!same_kind || !same_layout) {
        report(ProblemKind::type, "result{} is {}, but {} gives {}", outputs.size() > 1 ? fmt::format(" {}", k) : "",
               describe(have, symbols_, same_kind), spec->name, describe(wanted, symbols_, same_kind));
      }
    }
  }

  // The stride of a dimension with one element has no meaning, nor has any in a tensor without elements.
  static bool same_elements(const TypeView& a, const TypeView& b) {
    if (std::find(a.shape.begin(), a.shape.end(), Dim(0)) != a.shape.end()) return true;
    if (a.offset != b.offset) return false;
    for (std::size_t i = 0; i < a.shape.size(); ++i) {
      if (a.shape[i] != Dim(1) && a.strides[i] != b.strides[i]) return false;
    }
    return true;
  }

  // --- storages

  void check_storage_sizes() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      id_ = NodeId(i);
      for (const Output& output : graph_.outputs(id_)) {
        const Dim bytes = graph_.storage(output.storage).bytes;
        const auto extent = extent_bytes(graph_.type(output), symbols_);
        if (!extent) {
          report(ProblemKind::storage, "it is larger than 2^60 bytes");
        } else if (extent->is_static() && bytes.is_static() && extent->value() > bytes.value()) {
          report(ProblemKind::storage, "reaches {} bytes into a storage of {}", extent->value(), bytes.value());
        }
      }
    }
  }

  bool input_lies_in(StorageId storage) const {
    for (const NodeId input : graph_.inputs(id_)) {
      for (const Output& output : graph_.outputs(input)) {
        if (output.storage == storage) return true;
      }
    }
    return false;
  }

  void check_storages() {
    const Node& node = graph_.node(id_);
    if (node.kind == NodeKind::output && node.outputs.count > 0)
      report(ProblemKind::structure, "an output results in nothing, but types are given");
    if (node.kind == NodeKind::input || node.kind == NodeKind::attribute) check_input_storages();
    if (node.kind != NodeKind::op) return;
    const OpSpec* spec = graph_.op_spec(id_);
    const auto inputs = graph_.inputs(id_);
    if (node.view_of.valid() && std::find(inputs.begin(), inputs.end(), node.view_of) == inputs.end()) {
      report(ProblemKind::storage, "is said to be a view of {}, which is none of its arguments",
             graph_.name(node.view_of));
    }
    if (spec != nullptr) check_alias_kind(*spec);
    const auto outputs = graph_.outputs(id_);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const bool fresh = graph_.storage(outputs[k].storage).allocated_by == id_;
      if (!fresh && !node.view_of.valid()) {
        report(ProblemKind::storage, "creates its result, but lies in the storage of {}",
               graph_.name(graph_.storage(outputs[k].storage).allocated_by));
      } else if (!fresh && !input_lies_in(outputs[k].storage)) {
        report(ProblemKind::storage, "lies in the storage of {}, which is none of its arguments",
               graph_.name(graph_.storage(outputs[k].storage).allocated_by));
      } else if (node.view_of.valid()) {
        check_view(outputs[k], fresh);
      }
      for (std::size_t other = 0; other < k && fresh; ++other) {
        if (outputs[other].storage == outputs[k].storage) {
          report(ProblemKind::storage, "results {} and {} lie in one new storage", other, k);
          break;
        }
      }
    }
    if (is_getitem(id_)) check_element();
  }

  // Inputs may lie in one storage with other inputs, never with what the graph makes.
  void check_input_storages() {
    for (const Output& output : graph_.outputs(id_)) {
      const NodeId maker = graph_.storage(output.storage).allocated_by;
      if (graph_.node(maker).kind == NodeKind::op)
        report(ProblemKind::storage, "an input that lies in the storage of {}", graph_.name(maker));
    }
  }

  void check_alias_kind(const OpSpec& spec) {
    const bool has_results = graph_.node(id_).outputs.count > 0;
    const bool is_view = graph_.node(id_).view_of.valid();
    switch (spec.effects.alias) {
      case Alias::fresh:
        if (is_view)
          report(ProblemKind::storage, "is said to be a view of {}, but {} creates its result",
                 graph_.name(graph_.node(id_).view_of), spec.name);
        break;
      case Alias::first:
      case Alias::out:
        if (!is_view && has_results)
          report(ProblemKind::storage, "{} gives a view or its argument, but none is named", spec.name);
        else if (is_view) check_viewed_argument(spec);
        break;
      case Alias::either:
        if (is_view) check_viewed_argument(spec);
        break;
    }
  }

  // Is it a view of the argument that the operator's row names?
  void check_viewed_argument(const OpSpec& spec) {
    const NodeId source = graph_.node(id_).view_of;
    bool named = false;
    const auto note = [&](const Arg& value) { named = named || value.as_node() == source; };
    const auto args = graph_.args(id_);
    const std::size_t position = spec.effects.alias_arg;
    if (spec.effects.alias == Alias::out) {
      for (const Keyword& keyword : graph_.keywords(id_)) {
        if (graph_.pool().strings[keyword.key] == "out") graph_.pool().for_each_value(keyword.value, note);
      }
    } else if (position < args.size()) {
      graph_.pool().for_each_value(args[position], note);
    }
    const auto inputs = graph_.inputs(id_);
    const bool is_argument =
        std::find(inputs.begin(), inputs.end(), source) != inputs.end();  // otherwise that has been said
    if (is_argument && !named) {
      report(ProblemKind::storage, "is said to be a view of {}, but {} gives its argument {}", graph_.name(source),
             spec.name, spec.effects.alias == Alias::out ? "out" : std::to_string(position));
    }
  }

  void check_view(const Output& output, bool fresh) {
    const auto sources = graph_.outputs(graph_.node(id_).view_of);
    const OpSpec* spec = graph_.op_spec(id_);
    const std::size_t position = spec == nullptr ? 0 : spec->effects.alias_arg;
    const bool on_list = position < graph_.args(id_).size() && graph_.args(id_)[position].is(ArgKind::list);
    if (fresh && spec != nullptr && spec->effects.alias != Alias::either) {
      report(ProblemKind::storage, "is a view of {}, but lies in a storage of its own",
             graph_.name(graph_.node(id_).view_of));
      return;
    }
    const auto source = std::find_if(sources.begin(), sources.end(),
                                     [&](const Output& other) { return other.storage == output.storage; });
    if (source == sources.end()) {
      if (!on_list)
        report(ProblemKind::storage, "is a view of {}, but lies in another storage",
               graph_.name(graph_.node(id_).view_of));
    } else if (source->device != output.device) {
      report(ProblemKind::storage, "is a view of {} on another device ({} and {})",
             graph_.name(graph_.node(id_).view_of), graph_.device(source->device), graph_.device(output.device));
    }
  }

  // A getitem gives one of the outputs of its list, as it is.
  void check_element() {
    const NodeId list = graph_.node(id_).view_of;
    const auto outputs = graph_.outputs(id_);
    if (!list.valid() || outputs.size() != 1) return;
    const auto elements = graph_.outputs(list);
    const auto same = [&](const Output& element) {
      return element.storage == outputs[0].storage && element.type == outputs[0].type &&
             element.offset == outputs[0].offset;
    };
    const auto args = graph_.args(id_);
    const OpSpec* maker = graph_.op_spec(list);  // what an unknown operator gives besides tensors is not known
    if (maker != nullptr && args.size() == 2 && args[1].is(ArgKind::integer) && args[1].as_integer() >= 0) {
      const auto index = static_cast<std::size_t>(args[1].as_integer());
      const bool gives_only_tensors = maker->output_mask_arg < 0 && maker->tensor_results.empty();
      const auto position = values_.position(Arg::value(list), index);
      if (!position && gives_only_tensors) {
        report(ProblemKind::type, "there is no result {} among the {} of {}", index, elements.size(),
               graph_.name(list));
        return;
      }
      if (position && elements[*position].storage != outputs[0].storage) {
        report(ProblemKind::storage, "is result {} of {}, but lies in the storage of another", index,
               graph_.name(list));
        return;
      }
    }
    if (std::none_of(elements.begin(), elements.end(), same)) {
      report(ProblemKind::type, "is none of the {} results of {}", elements.size(), graph_.name(list));
    }
  }

  // --- mutation

  // What the call writes, by its operator's row.
  std::vector<NodeId> written_by_row(const Effects& effects) const {
    std::vector<NodeId> written;
    const auto append = [&](const Arg& value) { written.push_back(value.as_node()); };
    const auto args = graph_.args(id_);
    for (std::size_t i = 0; i < args.size() && i < 32; ++i) {
      if ((effects.mutates >> i & 1U) != 0) graph_.pool().for_each_value(args[i], append);
    }
    for (const Keyword& keyword : graph_.keywords(id_)) {
      if (effects.mutates_out && graph_.pool().strings[keyword.key] == "out")
        graph_.pool().for_each_value(keyword.value, append);
    }
    return written;
  }

  void check_mutation() {
    const OpSpec* spec = graph_.op_spec(id_);
    const auto declared = graph_.mutates(id_);
    const std::vector<NodeId> written = spec == nullptr ? std::vector<NodeId>() : written_by_row(spec->effects);
    if (declared.empty() && written.empty()) return;
    const NodeSet inputs(graph_.inputs(id_));
    const NodeSet declared_set(declared);
    const NodeSet written_set(written);
    for (const NodeId node : declared) {
      if (!inputs.contains(node)) {
        report(ProblemKind::mutation, "is said to write {}, which is none of its arguments", graph_.name(node));
      } else if (spec != nullptr && !written_set.contains(node)) {
        report(ProblemKind::mutation, "is said to write {}, but {} does not", graph_.name(node), spec->name);
      }
    }
    for (const NodeId node : written) {
      if (!declared_set.contains(node))
        report(ProblemKind::mutation, "{} writes {}, but that is not declared", spec->name, graph_.name(node));
    }
  }

  // --- communication

  Bytes bytes_of(std::span<const Output> outputs) const {
    Bytes total;
    for (const Output& output : outputs) total += tensor_bytes(graph_.type(output));
    return total;
  }

  void check_collective() {
    const OpSpec* spec = graph_.op_spec(id_);
    const Collective* have = graph_.collective(id_);
    if (have != nullptr) check_membership(have->group);
    if (spec == nullptr || graph_.node(id_).kind != NodeKind::op) return;
    const auto& comm = spec->effects.comm;
    if (!comm) {
      if (have != nullptr) report(ProblemKind::collective, "is said to communicate, but {} does not", spec->name);
      return;
    }
    const auto args = graph_.args(id_);
    const auto position = static_cast<std::size_t>(comm->group_arg);
    if (comm->group_arg < 0) return;
    if (position >= args.size() || !args[position].is(ArgKind::group)) {
      report(ProblemKind::collective, "argument {} of {} is no group", position, spec->name);
      return;
    }
    if (have == nullptr) {
      report(ProblemKind::collective, "{} communicates, but nothing is said about it", spec->name);
      return;
    }
    if (have->kind != comm->kind)
      report(ProblemKind::collective, "is said to be {}, but {} is {}", name_of(have->kind), spec->name,
             name_of(comm->kind));
    if (have->group != args[position].as_group()) {
      report(ProblemKind::collective, "is said to be on group @{}, but its argument is @{}",
             graph_.group(have->group).name, graph_.group(args[position].as_group()).name);
    }
    Bytes in;
    for (const NodeId input : graph_.inputs(id_)) {
      if (!is_only_out(input)) in += bytes_of(graph_.outputs(input));
    }
    const Bytes out = bytes_of(graph_.outputs(id_));
    if (have->bytes_in != in || have->bytes_out != out) {
      report(ProblemKind::collective, "is said to take {} bytes and give {}, but takes {} and gives {}",
             have->bytes_in.count, have->bytes_out.count, in.count, out.count);
    }
  }

  bool is_only_out(NodeId input) const {
    for (const Keyword& keyword : graph_.keywords(id_)) {
      if (graph_.pool().strings[keyword.key] == "out" && keyword.value.is(ArgKind::value) &&
          keyword.value.as_node() == input)
        return true;
    }
    return false;
  }

  void check_membership(GroupId group) {
    if (graph_.rank() < 0) return;
    const auto& ranks = graph_.group(group).ranks;
    const Rank own{static_cast<std::int32_t>(graph_.rank())};
    if (std::find(ranks.begin(), ranks.end(), own) == ranks.end()) {
      report(ProblemKind::group, "communicates on group @{}, but rank {} is not in it", graph_.group(group).name,
             own.value);
    }
  }

  // --- data in flight: between a collective and its wait, its results can't be touched and its inputs can't be written

  bool is_in_flight_after(NodeId id) const {
    return graph_.collective(id) != nullptr && !is_blocking(graph_.op_spec(id));
  }

  bool only_looks_at_layout() const {
    const OpSpec* spec = graph_.op_spec(id_);
    if (spec == nullptr) return false;
    if (spec->metadata_only) return true;
    const bool is_view = graph_.node(id_).view_of.valid() && spec->effects.mutates == 0 && !spec->effects.mutates_out;
    return (is_view && spec->effects.alias != Alias::fresh && !spec->effects.comm) || is_getitem(id_);
  }

  void check_flight() {
    const Node& node = graph_.node(id_);
    const OpSpec* spec = graph_.op_spec(id_);
    const bool waits = spec != nullptr && spec->effects.waits;
    if (waits || node.wait_of.valid()) {
      check_wait(waits);
      return;
    }
    if (node.kind == NodeKind::op && !only_looks_at_layout()) {
      for (const NodeId input : graph_.inputs(id_)) {
        for (const Output& output : graph_.outputs(input)) {
          const NodeId flying = in_flight_[output.storage.index()];
          if (flying.valid())
            report(ProblemKind::wait, "uses {}, the result of {}, before it is waited for", graph_.name(input),
                   graph_.name(flying));
        }
      }
    }
    for (const NodeId mutated : graph_.mutates(id_)) {
      for (const Output& output : graph_.outputs(mutated)) {
        for (const NodeId reader : read_in_flight_[output.storage.index()]) {
          report(ProblemKind::mutation, "writes {} while {} may still read it; wait for that first",
                 graph_.name(mutated), graph_.name(reader));
        }
      }
    }
    if (node.kind == NodeKind::output) {
      for (const NodeId input : graph_.inputs(id_)) {
        for (const Output& output : graph_.outputs(input)) {
          const NodeId flying = in_flight_[output.storage.index()];
          if (flying.valid())
            report(ProblemKind::wait, "returns {}, the result of {}, which is not waited for", graph_.name(input),
                   graph_.name(flying));
        }
      }
    }
    if (is_in_flight_after(id_)) start_flight();
  }

  void start_flight() {
    for (const Output& output : graph_.outputs(id_)) in_flight_[output.storage.index()] = id_;
    for (const NodeId input : graph_.inputs(id_)) {
      for (const Output& output : graph_.outputs(input)) read_in_flight_[output.storage.index()].push_back(id_);
    }
  }

  void check_wait(bool is_wait) {
    const NodeId collective = graph_.node(id_).wait_of;
    if (!is_wait) {
      report(ProblemKind::wait, "is said to wait for {}, but it is no wait", graph_.name(collective));
      return;
    }
    const auto inputs = graph_.inputs(id_);
    if (!collective.valid()) {
      for (const NodeId input : inputs) {
        for (const Output& output : graph_.outputs(input)) {
          const NodeId flying = in_flight_[output.storage.index()];
          if (flying.valid())
            report(ProblemKind::wait, "waits for {}, but does not say that {} made it", graph_.name(input),
                   graph_.name(flying));
        }
      }
      return;
    }
    if (graph_.collective(collective) == nullptr) {
      report(ProblemKind::wait, "waits for {}, which is no collective", graph_.name(collective));
      return;
    }
    if (collective.index() >= id_.index()) {
      report(ProblemKind::order, "waits for {} before it starts", graph_.name(collective));
      return;
    }
    bool lies_in_result = false;
    for (const NodeId input : inputs) {
      for (const Output& output : graph_.outputs(input)) {
        for (const Output& result : graph_.outputs(collective))
          lies_in_result = lies_in_result || result.storage == output.storage;
      }
    }
    if (!lies_in_result)
      report(ProblemKind::wait, "is said to wait for {}, but its argument is no result of that",
             graph_.name(collective));
    else land(collective);
  }

  void land(NodeId collective) {
    waited_[collective.index()] = true;
    for (const Output& output : graph_.outputs(collective)) {
      NodeId& flying = in_flight_[output.storage.index()];
      if (flying == collective) flying = NodeId::none();
    }
    for (const NodeId input : graph_.inputs(collective)) {
      for (const Output& output : graph_.outputs(input))
        std::erase(read_in_flight_[output.storage.index()], collective);
    }
  }

  const Graph& graph_;
  const GraphValues values_;
  SymbolTable symbols_;
  std::vector<Problem> problems_;
  NodeId id_;
  bool uses_known_ = true;
  std::size_t outputs_seen_ = 0;
  std::vector<NodeId> in_flight_;                    // by storage: the collective that writes it
  std::vector<std::vector<NodeId>> read_in_flight_;  // by storage: collectives that may still read it
  std::vector<bool> waited_;                         // by node
};

}  // namespace

std::vector<Problem> verify(const Graph& graph) { return GraphVerifier(graph).run(); }

}  // namespace hocket
