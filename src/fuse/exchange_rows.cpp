#include "hocket/fuse/exchange_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "fuse/node_writer.h"
#include "hocket/ir/users.h"
#include "ir/node_facts.h"

namespace hocket {

namespace {

using fuse::NodeWriter;

// A copy of a tensor with one of its dims moved to the front, or the first one moved behind others.
struct Turned {
  NodeId source, copy;       // the copy is dense, and so is what it is made of
  std::int64_t dim = 0;      // that moves to the front, or where the first one goes
  std::vector<NodeId> gone;  // what nobody else uses, the copy among it
};

struct Exchange {
  NodeId collective, wait;
  std::optional<Turned> before, after;  // not both
  NodeId cat, tail;                     // what comes, and the tail behind it; none: nothing is appended
  std::vector<NodeId> views;            // between the wait and the cat
  bool is_asked_for_size = false;       // the collective, by others than its wait
};

class Matcher {
 public:
  Matcher(const Graph& graph, const ExchangeRowsOptions& options)
      : graph_(graph), options_(options), users_(graph), last_write_(last_writes(graph)) {}

  std::optional<Exchange> match(NodeId id) const {
    Exchange found;
    found.collective = id;
    for (const NodeId user : users_.of(id)) {
      if (graph_.node(user).wait_of.valid() && !found.wait.valid()) found.wait = user;
      else if (asks_for_size(user)) found.is_asked_for_size = true;
      else return std::nullopt;
    }
    if (!found.wait.valid() || !is_plain(id) || !is_plain(input(id))) return std::nullopt;
    if (has_equal_parts(id)) {
      found.before = turned_before(id);
      if (!found.before) found.after = turned_after(found.wait);
    }
    if (!found.after) find_tail(found);
    if (!found.before && !found.after && !found.cat.valid()) return std::nullopt;
    return found;
  }

 private:
  NodeId only_user(NodeId id) const {
    const auto uses = users_.of(id);
    return uses.size() == 1 ? uses[0] : NodeId::none();
  }
  NodeId input(NodeId id) const {
    const auto args = graph_.args(id);
    return args.empty() || !args[0].is(ArgKind::value) ? NodeId::none() : args[0].as_node();
  }
  TypeView type(NodeId id) const { return graph_.type(graph_.outputs(id)[0]); }
  bool is_plain(NodeId id) const {
    return id.valid() && graph_.outputs(id).size() == 1 && !graph_.node(id).multi && is_contiguous(type(id));
  }
  // A view of all of a dense tensor, in the same order.
  bool is_plain_view(NodeId id) const {
    return is_plain(id) && graph_.node(id).view_of.valid() && !graph_.node(id).wait_of.valid() && is_plain(input(id)) &&
           fuse::elements_of(graph_, id) == fuse::elements_of(graph_, input(id));
  }
  // The last of the views that follow from each other, each the only user of the one before.
  NodeId behind_views(NodeId at, std::vector<NodeId>& views) const {
    for (NodeId next = only_user(at); next.valid() && is_plain_view(next); next = only_user(at)) {
      views.push_back(next);
      at = next;
    }
    return at;
  }
  bool asks_for_size(NodeId id) const { return is_op(graph_, id, "aten.sym_size.int"); }
  bool is_written_from(NodeId value, NodeId here_on) const {
    const NodeId write = last_write_[graph_.outputs(value)[0].storage.index()];
    return write.valid() && !(write < here_on);
  }
  std::int64_t ranks(NodeId collective) const {
    return static_cast<std::int64_t>(graph_.group(graph_.collective(collective)->group).ranks.size());
  }

  bool has_equal_parts(NodeId id) const {
    const auto args = graph_.args(id);
    return args.size() > 2 && std::ranges::all_of(args.subspan(1, 2), [&](const Arg& sizes) {
             return sizes.is(ArgKind::list) && are_equal_sizes(graph_, sizes);
           });
  }

  // The order that a permute gives dims, if the copy of it is dense.
  std::optional<std::vector<std::int64_t>> order_of(NodeId copy) const {
    const NodeId permute = input(copy);
    if (!is_op(graph_, copy, "aten.clone.default") || !is_plain(copy) || !permute.valid() ||
        !is_op(graph_, permute, "aten.permute.default") || !is_plain(input(permute)))
      return std::nullopt;
    const auto args = graph_.args(permute);
    if (args.size() != 2 || !args[1].is(ArgKind::list)) return std::nullopt;
    const auto dims = static_cast<std::int64_t>(type(copy).shape.size());
    std::vector<std::int64_t> order;
    for (const Arg& arg : graph_.pool().elements(args[1])) {
      if (!arg.is(ArgKind::integer)) return std::nullopt;
      order.push_back(arg.as_integer() < 0 ? arg.as_integer() + dims : arg.as_integer());
    }
    return order;
  }

  // clone(permute(source)) -> views -> the collective. The part for each rank is one index of a dim.
  std::optional<Turned> turned_before(NodeId collective) const {
    Turned turned;
    NodeId user = collective;
    NodeId at = input(collective);
    while (at.valid() && is_plain_view(at) && only_user(at) == user) {
      turned.gone.push_back(at);
      user = at;
      at = input(at);
    }
    const auto order = order_of(at);
    if (!order || only_user(at) != user) return std::nullopt;
    turned.copy = at;
    turned.source = input(input(at));
    turned.gone.push_back(at);
    if (only_user(input(at)) == at) turned.gone.push_back(input(at));
    turned.dim = order->front();
    std::vector<std::int64_t> expected = {turned.dim};
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(order->size()); ++d) {
      if (d != turned.dim) expected.push_back(d);
    }
    const bool fits = *order == expected && turned.dim > 0 && type(at).shape[0].value() == ranks(collective) &&
                      are_few(type(turned.source), 0, turned.dim) && !is_written_from(turned.source, at);
    return fits ? std::optional(std::move(turned)) : std::nullopt;
  }

  // The wait -> views -> clone(permute()). The part of each rank goes behind other dims.
  std::optional<Turned> turned_after(NodeId wait) const {
    Turned turned;
    const NodeId at = behind_views(wait, turned.gone);
    const NodeId permute = only_user(at);
    const NodeId copy = permute.valid() ? only_user(permute) : NodeId::none();
    const auto order = copy.valid() && input(permute) == at && input(copy) == permute ? order_of(copy) : std::nullopt;
    if (!order) return std::nullopt;
    turned.source = at;
    turned.copy = copy;
    turned.gone.push_back(permute);
    turned.gone.push_back(copy);
    turned.dim = std::find(order->begin(), order->end(), 0) - order->begin();
    std::vector<std::int64_t> expected;
    for (std::int64_t d = 1; d < static_cast<std::int64_t>(order->size()); ++d) {
      expected.push_back(d);
      if (d == turned.dim) expected.push_back(0);
    }
    const TypeView from = type(at);
    const bool fits = *order == expected && turned.dim > 0 && turned.dim + 1 < std::ssize(from.shape) &&
                      from.shape[0].value() == ranks(graph_.node(wait).wait_of) && are_few(from, 1, turned.dim + 1);
    return fits ? std::optional(std::move(turned)) : std::nullopt;
  }

  // Rows that lie apart, in the dims from `first` up to `last`.
  bool are_few(const TypeView& type, std::int64_t first, std::int64_t last) const {
    std::int64_t rows = 1;
    for (std::int64_t d = first; d < last; ++d) rows *= type.shape[static_cast<std::size_t>(d)].value();
    return rows > 0 && rows <= options_.most_rows;
  }

  // The wait -> views -> cat([it, tail]).
  void find_tail(Exchange& found) const {
    std::vector<NodeId> views;
    const NodeId at = behind_views(found.wait, views);
    const NodeId cat = only_user(at);
    if (!cat.valid() || !is_op(graph_, cat, "aten.cat.default") || !is_plain(cat)) return;
    const auto args = graph_.args(cat);
    if (!args[0].is(ArgKind::list) || (args.size() > 1 && !(args[1].is(ArgKind::integer) && args[1].as_integer() == 0)))
      return;
    const auto parts = graph_.pool().elements(args[0]);
    if (parts.size() != 2 || !parts[0].is(ArgKind::value) || !parts[1].is(ArgKind::value) || parts[0].as_node() != at)
      return;
    const NodeId tail = parts[1].as_node();
    const bool is_there =
        tail < found.collective || (graph_.node(tail).kind == NodeKind::op && graph_.inputs(tail).empty());
    if (tail == at || !is_plain(tail) || fuse::elements_of(graph_, tail) == 0 || type(tail).dtype != type(at).dtype ||
        type(at).shape.empty() || !is_there || is_written_from(tail, std::min(tail, found.collective)))
      return;
    found.views = std::move(views);
    found.cat = cat;
    found.tail = tail;
  }

  const Graph& graph_;
  const ExchangeRowsOptions& options_;
  Users users_;
  std::vector<NodeId> last_write_;  // by storage
};

// Most graphs have no all-to-all: nothing is asked of them.
std::vector<Exchange> find_exchanges(const Graph& graph, const ExchangeRowsOptions& options) {
  std::vector<Exchange> list;
  std::optional<Matcher> matcher;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (!is_op(graph, NodeId(i), "_c10d_functional.all_to_all_single.default")) continue;
    if (!matcher) matcher.emplace(graph, options);
    if (auto found = matcher->match(NodeId(i))) list.push_back(std::move(*found));
  }
  return list;
}

class ExchangeWriter {
 public:
  ExchangeWriter(const Graph& graph, const ExchangeRowsOptions& options, const std::vector<Exchange>& list)
      : graph_(graph), options_(options), rewriter_(graph), list_(list) {
    for (std::size_t k = 0; k < list.size(); ++k) note(list[k], k);
  }

  Result<Graph> rewritten() {
    for (std::size_t i = 0; i < graph_.size(); ++i) write(NodeId(i));
    return rewriter_.finish();
  }

 private:
  void note(const Exchange& exchange, std::size_t index) {
    for (const auto* turned : {&exchange.before, &exchange.after}) {
      if (*turned) gone_.insert((*turned)->gone.begin(), (*turned)->gone.end());
    }
    gone_.insert(exchange.views.begin(), exchange.views.end());
    if (exchange.cat.valid()) gone_.insert(exchange.cat);
    by_node_[exchange.collective] = by_node_[exchange.wait] = index;
  }

  void write(NodeId id) {
    if (const auto found = by_node_.find(id); found != by_node_.end()) {
      const Exchange& exchange = list_[found->second];
      NodeWriter writer(rewriter_, options_.cost, fmt::format("{}_rows", graph_.name(exchange.collective)));
      if (id == exchange.collective) write_collective(exchange, writer);
      else write_wait(exchange, writer);
    } else if (!gone_.contains(id)) {
      copy(id);
    }
  }

  void copy(NodeId id) {
    if (!rewriter_.now(id).valid()) rewriter_.copy(id);
  }

  ArgInit mapped(const Arg& arg) const {
    if (arg.is(ArgKind::value)) return ArgInit(rewriter_.now(arg.as_node()));
    if (!arg.is(ArgKind::list)) return NodeWriter::same(arg);
    std::vector<ArgInit> elements;
    for (const Arg& element : graph_.pool().elements(arg)) elements.push_back(mapped(element));
    return ArgInit(std::move(elements));
  }

  // (input, gather_dim, shard_dim, group, tail), or (input, output_splits, input_splits, group, tail)
  void write_collective(const Exchange& exchange, NodeWriter& writer) {
    if (exchange.tail.valid()) copy(exchange.tail);
    const auto args = graph_.args(exchange.collective);
    std::vector<ArgInit> call;
    std::vector<OutputSpec> outputs;
    if (exchange.before) {
      call = {writer.now(exchange.before->source), std::int64_t{0}, exchange.before->dim};
    } else if (exchange.after) {
      const NodeId parts = writer.op(
          "aten.view", {writer.now(args[0].as_node()), fuse::sizes_of(graph_, exchange.after->source)}, "parts");
      call = {parts, exchange.after->dim + 1, std::int64_t{0}};
    } else {
      call = {mapped(args[0]), mapped(args[1]), mapped(args[2])};
      const TypeView type =
          graph_.type(graph_.outputs(exchange.cat)[0]);  // splits may be numbers that no one knows yet
      OutputSpec& output = outputs.emplace_back();
      output.dtype = type.dtype;
      output.shape.assign(type.shape.begin(), type.shape.end());
    }
    call.push_back(mapped(args[3]));
    if (exchange.tail.valid()) call.emplace_back(writer.now(exchange.tail));
    const bool turned = exchange.before || exchange.after;
    const NodeId collective = writer.op(turned ? "hocket.all_to_all_along" : "hocket.all_to_all_single", call,
                                        "exchange", -1, std::move(outputs));
    in_flight_[exchange.collective] = collective;
    rewriter_.replace(exchange.collective,
                      exchange.is_asked_for_size ? like_old(exchange, collective, writer) : collective);
  }

  // A view as large as what the old collective gave.
  NodeId like_old(const Exchange& exchange, NodeId collective, NodeWriter& writer) {
    const NodeId old = exchange.collective;
    if (!exchange.tail.valid()) return writer.op("aten.view", {collective, fuse::sizes_of(graph_, old)}, "sized");
    const std::int64_t tail = fuse::elements_of(graph_, exchange.tail);
    const std::int64_t row = tail / graph_.type(graph_.outputs(exchange.tail)[0]).shape[0].value();
    const NodeId rows =
        writer.op("aten.slice.Tensor",
                  {collective, std::int64_t{0}, std::int64_t{0}, fuse::elements_of(graph_, old) / row}, "front");
    return writer.op("aten.view", {rows, fuse::sizes_of(graph_, old)}, "sized");
  }

  void write_wait(const Exchange& exchange, NodeWriter& writer) {
    const NodeId wait = writer.wait(in_flight_.at(exchange.collective));
    rewriter_.replace(exchange.wait, wait);
    if (exchange.cat.valid()) return rewriter_.replace(exchange.cat, wait);
    const NodeId like = exchange.after ? exchange.after->copy : exchange.wait;
    rewriter_.replace(like, writer.op("aten.view", {wait, fuse::sizes_of(graph_, like)}, "placed"));
  }

  const Graph& graph_;
  const ExchangeRowsOptions& options_;
  GraphRewriter rewriter_;
  const std::vector<Exchange>& list_;
  std::map<NodeId, std::size_t> by_node_;  // collectives and waits
  std::map<NodeId, NodeId> in_flight_;     // by the old collective: the new one
  std::set<NodeId> gone_;
};

}  // namespace

Result<RewriteResult> exchange_rows(const Graph& graph, const ExchangeRowsOptions& options) {
  const std::vector<Exchange> list = find_exchanges(graph, options);
  const auto turned = std::count_if(list.begin(), list.end(),
                                    [](const Exchange& exchange) { return exchange.before || exchange.after; });
  const auto with_tail =
      std::count_if(list.begin(), list.end(), [](const Exchange& exchange) { return exchange.cat.valid(); });
  RewriteResult result;
  result.report = fmt::format("{} all-to-alls move rows to where they belong, {} leave room for what is appended",
                              turned, with_tail);
  if (!list.empty()) {
    HOCKET_TRY(result.graph, ExchangeWriter(graph, options, list).rewritten());
  }
  return result;
}

}  // namespace hocket
