// Graphs on the machine: every storage is a memory, every node a call.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "support/interpreter_machine.h"

namespace hocket::interpreter {

namespace {

class GraphRun {
 public:
  // `current` is kept at the node that runs.
  GraphRun(const Graph& graph, const RunOptions& options, std::string& current)
      : graph_(graph),
        options_(options),
        machine_(options, graph.groups(), std::max(options.world, graph.world_size()),
                 options.rank >= 0 ? options.rank : graph.rank()),
        values_(graph),
        symbols_(graph.symbols()),
        current_(current) {}

  RunResult run() {
    refuse_what_is_too_large();
    add_memories();
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      current_ = fmt::format("node {}", graph_.name(id));
      for (const NodeId input : graph_.inputs(id)) {
        if (input >= id) throw Halt(fmt::format("uses {}, which has not run yet", graph_.name(input)));
      }
      if (graph_.node(id).kind == NodeKind::op) step(id);
      if (graph_.node(id).kind == NodeKind::output) return_results(id);
    }
    current_ = "the end";
    for (std::size_t i = 0; i < graph_.storages().size(); ++i) {
      if (is_given(StorageId(i))) machine_.return_input(input_name(StorageId(i)), whole(StorageId(i)));
    }
    return machine_.finish();
  }

 private:
  // ---- memory

  std::int64_t bytes(StorageId id) const {
    const Dim size = graph_.storage(id).bytes;
    if (!size.is_static()) throw Halt("a storage of symbolic size: the interpreter needs numbers", ErrorKind::usage);
    return size.value();
  }
  bool is_given(StorageId id) const {
    const NodeId maker = graph_.storage(id).allocated_by;
    return maker.valid() && graph_.node(maker).kind != NodeKind::op;
  }
  std::string_view input_name(StorageId id) const { return graph_.name(graph_.storage(id).allocated_by); }
  std::int64_t element_bytes(StorageId id) const {
    for (const Output& output : graph_.outputs(graph_.storage(id).allocated_by)) {
      if (output.storage == id) return size_of(graph_.type(output).dtype);
    }
    return 1;
  }
  Place whole(StorageId id) const { return {id.index(), whole_layout(bytes(id), element_bytes(id))}; }
  Place place(const Output& output) const { return {output.storage.index(), layout_of(graph_.type(output))}; }

  void refuse_what_is_too_large() const {
    std::int64_t words = 0;
    std::int64_t products = 0;
    const auto world = static_cast<std::int64_t>(machine_.world());
    for (std::size_t i = 0; i < graph_.storages().size(); ++i) {
      const StorageId id(i);
      words += bytes(id) / element_bytes(id) * world;
      if (words > options_.most_words) refuse("words", words, options_.most_words);
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const OpSpec* spec = graph_.op_spec(NodeId(i));
      if (spec == nullptr || !spec->effects.gemm || graph_.outputs(NodeId(i)).empty()) continue;
      const Place result = place(graph_.outputs(NodeId(i))[0]);
      for (const Output& operand : graph_.outputs(graph_.inputs(NodeId(i))[0])) {
        const std::int64_t width = result.layout.shape.empty() ? 1 : result.layout.shape.back();
        products += place(operand).layout.count() * width * world;
      }
      if (products / products_per_word > options_.most_words)
        refuse("products", products, options_.most_words * products_per_word);
    }
  }
  void refuse(std::string_view what, std::int64_t needed, std::int64_t most) const {
    throw Halt(fmt::format("@{} is too large to interpret: it needs at least {} {} on {} ranks, the limit is {}; "
                           "use a smaller graph or raise RunOptions::most_words",
                           graph_.name(), needed, what, machine_.world(), most),
               ErrorKind::usage);
  }

  void add_memories() {
    std::vector<std::int64_t> granules(graph_.storages().size(), 16);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const Output& output : graph_.outputs(NodeId(i))) {
        std::int64_t& granule = granules[output.storage.index()];
        granule = std::min<std::int64_t>(granule, size_of(graph_.type(output).dtype));
      }
    }
    for (std::size_t i = 0; i < granules.size(); ++i) {
      const StorageId id(i);
      const NodeId maker = graph_.storage(id).allocated_by;
      machine_.add_memory(maker.valid() ? std::string(graph_.name(maker)) : fmt::format("storage {}", i), bytes(id),
                          granules[i]);
      if (is_given(id)) machine_.fill(input_name(id), whole(id));
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) start_inputs_in_flight(NodeId(i));
  }

  // A wait for no collective of this graph: its argument, an input, is in flight from the beginning.
  void start_inputs_in_flight(NodeId id) {
    const OpSpec* spec = graph_.op_spec(id);
    if (spec == nullptr || !spec->effects.waits || graph_.node(id).wait_of.valid()) return;
    for (const Output& output : graph_.outputs(id)) {
      if (is_given(output.storage) && flying_inputs_.insert(output.storage).second)
        machine_.start_input(input_name(output.storage), flight_of_input(output.storage), whole(output.storage));
    }
  }
  std::size_t flight_of_input(StorageId id) const { return graph_.size() + id.index(); }

  // ---- calls

  Item value_item(const Arg& arg, Invocation& call) const {
    const NodeId id = arg.as_node();
    Item item;
    if (const auto known = graph_.integer(id)) {
      item.kind = Item::Kind::integer;
      item.integer = *known;
      return item;
    }
    for (const Output& output : graph_.outputs(id)) {
      Item tensor;
      tensor.kind = Item::Kind::tensor;
      tensor.tensor = call.tensors.size();
      call.tensors.push_back(place(output));
      item.elements.push_back(std::move(tensor));
    }
    if (!graph_.node(id).multi && item.elements.size() == 1) return Item(item.elements[0]);
    item.kind = graph_.node(id).multi ? Item::Kind::list : Item::Kind::word;
    item.tensor = id.index();
    return item;
  }

  Invocation invocation(NodeId id) const {
    Invocation call;
    call.id = id.index();
    call.name = graph_.name(id);
    call.op = graph_.op_name(id);
    call.spec = graph_.op_spec(id);
    const auto value = [&](const Arg& arg) { return value_item(arg, call); };
    for (const Arg& arg : graph_.args(id)) call.args.push_back(item_of(graph_.pool(), arg, value));
    for (const Keyword& keyword : graph_.keywords(id)) {
      call.keywords.emplace_back(graph_.pool().strings[keyword.key], item_of(graph_.pool(), keyword.value, value));
    }
    for (const Output& output : graph_.outputs(id)) {
      const bool shared = std::any_of(call.tensors.begin(), call.tensors.end(),
                                      [&](const Place& one) { return one.memory == output.storage.index(); });
      if (!shared) call.results.push_back(place(output));
    }
    for (const NodeId mutated : graph_.mutates(id)) {
      for (const Output& output : graph_.outputs(mutated)) call.mutated.push_back(place(output));
    }
    call.makes_number = graph_.outputs(id).empty() && !graph_.integer(id);
    return call;
  }

  void step(NodeId id) {
    const OpSpec* spec = graph_.op_spec(id);
    const Invocation call = invocation(id);
    if (spec != nullptr && spec->effects.waits) {
      const NodeId collective = graph_.node(id).wait_of;
      const std::size_t memory = call.tensors.at(0).memory;
      if (collective.valid()) machine_.wait(collective.index(), call.tensors[0]);
      else if (flying_inputs_.contains(StorageId(memory)))
        machine_.wait(flight_of_input(StorageId(memory)), call.tensors[0]);
    }
    const bool is_view = spec != nullptr && !spec->effects.comm && spec->effects.mutates == 0 &&
                         (spec->effects.alias == Alias::first || spec->effects.alias == Alias::either);
    if (is_view && call.results.empty()) return check_view(id);
    machine_.execute(call);
  }

  // A view moves nothing: what its arguments say must be where its result lies.
  void check_view(NodeId id) {
    const OpSpec* spec = graph_.op_spec(id);
    if (graph_.op_name(id) == "getitem") check_item(id);
    if (spec->shape == nullptr) return;
    const hocket::Call typed(graph_.pool(), graph_.args(id), graph_.keywords(id), values_, symbols_);
    const auto views = spec->shape(typed);
    if (!views) {
      if (is_cannot_infer(views.error())) return;
      throw Halt(views.error().message);
    }
    const auto outputs = graph_.outputs(id);
    require(outputs.size() == views->size(), "has another number of results than its operator gives");
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const InferredType& view = (*views)[k];
      const Layout said = place(outputs[k]).layout;
      const Layout meant = layout_of({view.dtype, view.shape.dims, view.strides.dims, view.offset});
      require(said.shape == meant.shape && (said.count() == 0 || said == meant),
              "is another view than its arguments say");
    }
  }

  void check_item(NodeId id) {
    const Arg list = graph_.args(id)[0];
    const auto position = values_.position(list, static_cast<std::size_t>(graph_.args(id)[1].as_integer()));
    require(position && graph_.outputs(list.as_node())[*position].storage == graph_.outputs(id)[0].storage,
            "lies elsewhere than the element that it takes");
  }

  void return_results(NodeId id) {
    for (const Arg& arg : graph_.args(id)) {
      graph_.pool().for_each_value(arg, [&](const Arg& value) {
        for (const Output& output : graph_.outputs(value.as_node())) machine_.return_tensor(place(output));
      });
    }
  }

  // A multiplication takes about this much less time than all that is done for a word of memory.
  static constexpr std::int64_t products_per_word = 50;

  const Graph& graph_;
  const RunOptions& options_;
  Machine machine_;
  std::set<StorageId> flying_inputs_;
  GraphValues values_;
  SymbolTable symbols_;
  std::string& current_;
};

}  // namespace

Result<RunResult> run(const Graph& graph, const RunOptions& options) {
  std::string current;
  try {
    return GraphRun(graph, options, current).run();
  } catch (const Halt& halt) {
    return fail(Error{halt.kind, halt.what(), current});
  } catch (const std::out_of_range&) {
    return fail(Error{ErrorKind::input, "its arguments are not what its operator takes", current});
  }
}

}  // namespace hocket::interpreter
