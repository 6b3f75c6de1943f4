// Any operators in any order. What the verifier demands is kept by bookkeeping: which storages are in flight, who reads them.
#include <algorithm>
#include <set>

#include "support/graph_maker.h"

namespace hocket {

namespace {

Arg value(NodeId node) { return Arg::value(node); }

class Dag {
 public:
  explicit Dag(GraphMaker& make) : make_(make), random_(make.random()), options_(make.options()) {}

  Graph run() {
    add_groups();
    add_inputs();
    for (int i = 0; i < options_.operators; ++i) step();
    while (!flights_.empty()) wait();
    return make_.finish(results());
  }

 private:
  // A tensor and the storage that it lies in.
  struct Value {
    NodeId node;
    std::size_t storage;
    bool repeats = false;  // elements of it share memory (expand): it must not be written
  };
  struct Flight {
    std::vector<Value> results;        // each wants a wait
    std::vector<std::size_t> written;  // storages
    std::vector<std::size_t> read;
  };

  void add_groups() {
    groups_.push_back(make_.group("all", options_.world));
    groups_.push_back(make_.group("near", std::max(2, options_.world / 4)));
    groups_.push_back(make_.group("far", 2, options_.world / 2));
    make_.builder().group("others", {options_.world - 1});  // nobody here uses it
  }

  void add_inputs() {
    const std::int64_t width = options_.width;
    for (int i = 0; i < 5; ++i) remember(make_.input("input", {width, width}), new_storage());
    remember(make_.input("batch", {width, 2, width}), new_storage());
    remember(make_.input("scalar", {}), new_storage());
    remember(make_.input("ids", {width}, Dtype::i64), new_storage());
    remember(make_.input("half", {width, width}, Dtype::bf16), new_storage());
    if (!options_.symbolic) return;
    const Dim rows = *make_.builder().symbols().parse("s0");
    const Dim columns = *make_.builder().symbols().parse("2*s1 + 4");
    remember(make_.input("rows", {rows, width}), new_storage());
    remember(make_.input("both", {rows, columns}), new_storage());
  }

  void step() {
    const int dice = static_cast<int>(random_.below(100));
    if (dice < options_.views) return view();
    if (dice < options_.views + options_.mutations) return mutate();
    if (dice < options_.views + options_.mutations + options_.collectives)
      return flights_.size() < 4 ? communicate() : wait();
    switch (random_.below(10)) {
      case 0: return reduce();
      case 1: return several_results();
      case 2: return create();
      case 3: return multiply();
      case 4: return options_.integers ? count() : pointwise();
      case 5: return options_.opaque && random_.chance(40) ? unknown() : pointwise();
      case 6: return options_.side_effects ? side_effect() : pointwise();
      case 7: return flights_.empty() ? pointwise() : wait();
      default: return pointwise();
    }
  }

  // --- bookkeeping

  std::size_t new_storage() { return storages_++; }
  void remember(NodeId node, std::size_t storage, bool repeats = false) { values_.push_back({node, storage, repeats}); }
  void fresh(NodeId node) { remember(node, new_storage()); }

  bool flies(std::size_t storage) const {
    return std::any_of(flights_.begin(), flights_.end(), [&](const Flight& flight) {
      return std::find(flight.written.begin(), flight.written.end(), storage) != flight.written.end();
    });
  }
  bool is_read_in_flight(std::size_t storage) const {
    return std::any_of(flights_.begin(), flights_.end(), [&](const Flight& flight) {
      return std::find(flight.read.begin(), flight.read.end(), storage) != flight.read.end();
    });
  }

  // A random value that can be used now and fulfils a condition; an input of the right kind always does.
  template <class Condition>
  Value pick(Condition condition) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!flies(values_[i].storage) && condition(values_[i])) fitting.push_back(i);
    }
    if (fitting.empty()) return {NodeId::none(), 0, false};
    // recent values are preferred: programs go on with what they just made
    return values_[fitting[random_.chance(50)
                               ? fitting.size() - 1 - random_.index(std::min<std::size_t>(5, fitting.size()))
                               : random_.index(fitting.size())]];
  }
  Value pick() {
    return pick([](const Value&) { return true; });
  }
  bool is_float(const Value& v) const { return is_floating(make_.type(v.node).dtype); }
  bool is_static(const Value& v) const { return all_static(make_.type(v.node).shape); }
  std::size_t rank(const Value& v) const { return make_.type(v.node).shape.size(); }
  std::int64_t size(const Value& v, std::size_t dim) const { return make_.type(v.node).shape[dim].value(); }
  bool same_type(const Value& a, const Value& b) const {
    const TypeView type_a = make_.type(a.node);
    const TypeView type_b = make_.type(b.node);
    return type_a.dtype == type_b.dtype &&
           std::equal(type_a.shape.begin(), type_a.shape.end(), type_b.shape.begin(), type_b.shape.end());
  }

  // --- operators

  void pointwise() {
    const Value a = pick([&](const Value& v) { return is_float(v); });
    if (random_.chance(40))
      return fresh(
          make_.op(random_.pick({"aten.relu", "aten.exp", "aten.neg", "aten.tanh", "aten.abs"}), {value(a.node)}));
    if (random_.chance(20)) return fresh(make_.op("aten.mul.Tensor", {value(a.node), Arg::real(0.5)}));
    if (random_.chance(10))
      return fresh(
          make_.op("prims.convert_element_type", {value(a.node), Arg::dtype(random_.pick({Dtype::f32, Dtype::bf16}))}));
    const Value b = pick([&](const Value& v) { return same_type(a, v); });
    fresh(make_.op(random_.pick({"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.maximum"}),
                   {value(a.node), value(b.node)}));
  }

  void multiply() {
    const Value a = pick([&](const Value& v) { return rank(v) == 2 && is_float(v); });
    const Value b = pick([&](const Value& v) {
      return rank(v) == 2 && make_.type(v.node).dtype == make_.type(a.node).dtype &&
             make_.type(v.node).shape[0] == make_.type(a.node).shape[1];
    });
    if (!b.node.valid()) return pointwise();
    fresh(make_.op("aten.mm", {value(a.node), value(b.node)}));
  }

  void reduce() {
    const Value a = pick([&](const Value& v) { return rank(v) > 0; });
    if (random_.chance(30)) return fresh(make_.op("aten.sum", {value(a.node)}));
    const auto dim = static_cast<std::int64_t>(random_.index(rank(a)));
    fresh(make_.op("aten.sum.dim_IntList", {value(a.node), make_.sizes({dim}), Arg::boolean(random_.chance(50))}));
  }

  void several_results() {
    const Value a = pick([&](const Value& v) { return rank(v) > 0 && is_float(v) && is_static(v) && size(v, 0) > 0; });
    if (random_.chance(50)) {
      const NodeId both = make_.op("aten.var_mean.correction", {value(a.node), make_.sizes({0})},
                                   {{"correction", Arg::integer(0)}, {"keepdim", Arg::boolean(true)}});
      for (int i = 0; i < 2; ++i) fresh(make_.getitem(both, i));
    } else {
      const NodeId sorted = make_.op("aten.sort", {value(a.node), Arg::integer(-1)});
      fresh(make_.getitem(sorted, 0));
      if (random_.chance(60)) fresh(make_.getitem(sorted, 1));  // the other result is not used
    }
  }

  void create() {
    const std::int64_t width = options_.width;
    if (random_.chance(40)) return fresh(make_.op("aten.full", {make_.sizes({width, width}), Arg::real(1.5)}));
    if (random_.chance(50))
      return fresh(make_.op("aten.arange", {Arg::integer(width)}, {{"dtype", Arg::dtype(Dtype::i64)}}));
    fresh(make_.op("aten.full_like", {value(pick().node), Arg::integer(0)}));
  }

  // A size as an integer value, and a tensor made of it.
  void count() {
    const Value a = pick([&](const Value& v) { return rank(v) > 0 && is_static(v); });
    const std::int64_t known = size(a, 0);
    const NodeId own = make_.integer("aten.sym_size.int", {value(a.node), Arg::integer(0)}, known);
    const NodeId twice = make_.integer("_operator.mul", {value(own), Arg::integer(2)}, 2 * known);
    const std::vector<Arg> shape = {value(twice), Arg::integer(3)};
    fresh(make_.op("aten.full", {make_.list(shape), Arg::real(0)}));
  }

  void unknown() {
    const Value a = pick();
    fresh(make_.opaque("mylib.fused_thing.default",
                       {value(a.node), make_.sizes({1, 2}), Arg::none(), make_.text("mode")}, Dtype::f32,
                       {options_.width, options_.width}));
  }

  void side_effect() {
    if (random_.chance(50)) return fresh(make_.op("aten.randn", {make_.sizes({options_.width, options_.width})}));
    const NodeId sum = make_.op("aten.sum", {value(pick([&](const Value& v) { return rank(v) > 0; }).node)});
    make_.op("aten._assert_async.msg", {value(sum), make_.text("the sum is zero")});
  }

  // --- views

  void view() {
    // a view of data in flight is allowed: it looks at no element
    const Value a = random_.chance(15) ? values_[random_.index(values_.size())] : pick();
    const std::size_t dims = rank(a);
    if (dims == 0 || !is_static(a))
      return remember(make_.op("aten.unsqueeze", {value(a.node), Arg::integer(0)}), a.storage, a.repeats);
    const std::size_t dim = random_.index(dims);
    const auto at = Arg::integer(static_cast<std::int64_t>(dim));
    const std::int64_t length = size(a, dim);
    switch (random_.below(8)) {
      case 0: {
        std::vector<std::int64_t> order(dims);
        for (std::size_t i = 0; i < dims; ++i) order[i] = static_cast<std::int64_t>(i);
        random_.shuffle(order);
        return remember(make_.op("aten.permute", {value(a.node), make_.sizes(order)}), a.storage, a.repeats);
      }
      case 1: {
        const std::int64_t begin = random_.between(0, length / 2);
        return remember(make_.op("aten.slice.Tensor",
                                 {value(a.node), at, Arg::integer(begin), Arg::integer(random_.between(begin, length)),
                                  Arg::integer(random_.between(1, 2))}),
                        a.storage, a.repeats);
      }
      case 2:
        if (length == 0) break;
        return remember(
            make_.op("aten.select.int", {value(a.node), at, Arg::integer(random_.between(-length, length - 1))}),
            a.storage, a.repeats);
      case 3: {
        if (length < 2) break;
        const std::int64_t part = random_.between(1, length);
        const NodeId parts = make_.op("aten.split.Tensor", {value(a.node), Arg::integer(part), at});
        for (std::int64_t i = 0; i * part < length && i < 3; ++i)
          remember(make_.getitem(parts, i), a.storage, a.repeats);
        return;
      }
      case 4: return remember(make_.op("aten.unsqueeze", {value(a.node), at}), a.storage, a.repeats);
      case 5: {
        std::vector<std::int64_t> wanted = {3};
        for (std::size_t i = 0; i < dims; ++i) wanted.push_back(-1);
        return remember(make_.op("aten.expand", {value(a.node), make_.sizes(wanted)}), a.storage, true);
      }
      case 6: {
        std::int64_t elements = 1;
        for (std::size_t i = 0; i < dims; ++i) elements *= size(a, i);
        if (!is_dense(a) || elements == 0) break;
        return remember(make_.op("aten.view", {value(a.node), make_.sizes({-1, length})}), a.storage, a.repeats);
      }
      default: break;
    }
    remember(make_.op(random_.pick({"aten.alias", "aten.detach"}), {value(a.node)}), a.storage, a.repeats);
  }

  bool is_dense(const Value& v) {
    const TypeView type = make_.type(v.node);
    const auto dense = contiguous_strides(type.shape, make_.builder().symbols());
    return dense && std::equal(type.strides.begin(), type.strides.end(), dense->dims.begin());
  }

  // --- writes in place

  void mutate() {
    const Value target =
        pick([&](const Value& v) { return is_float(v) && !v.repeats && !is_read_in_flight(v.storage); });
    if (!target.node.valid()) return pointwise();
    if (random_.chance(30))
      return remember(make_.op("aten.mul_.Tensor", {value(target.node), Arg::real(0.5)}), target.storage);
    const Value source = pick([&](const Value& v) { return same_type(target, v) && v.storage != target.storage; });
    if (!source.node.valid()) return remember(make_.op("aten.relu_", {value(target.node)}), target.storage);
    remember(make_.op(random_.pick({"aten.copy_", "aten.add_.Tensor"}), {value(target.node), value(source.node)}),
             target.storage);
  }

  // --- communication

  void communicate() {
    const GroupId group = random_.pick(groups_);
    const std::int64_t members = make_.size_of(group);
    const auto usable = [&](const Value& v) {
      return is_float(v) && rank(v) > 0 && is_static(v) && size(v, 0) % members == 0 && size(v, 0) > 0 &&
             size(v, 0) <= 64;
    };
    const Value a = pick(usable);
    if (options_.in_place && random_.chance(30)) return communicate_in_place(group);
    if (options_.coalesced && random_.chance(30)) return communicate_coalesced(group, {a, pick(usable), pick(usable)});
    switch (random_.below(5)) {
      case 0: return take_off(make_.all_reduce(a.node, group, random_.pick({"sum", "avg", "max"})), {a});
      case 1: return take_off(make_.all_gather(a.node, group), {a});
      case 2: return take_off(make_.reduce_scatter(a.node, group), {a});
      case 3:
        return take_off(make_.op("_c10d_functional.all_to_all_single",
                                 {value(a.node), make_.sizes({}), make_.sizes({}), Arg::group(group)}),
                        {a});
      default:
        return take_off(make_.op("_c10d_functional.broadcast", {value(a.node), Arg::integer(0), Arg::group(group)}),
                        {a});
    }
  }

  void take_off(NodeId collective, const std::vector<Value>& inputs) {
    Flight flight;
    flight.results.push_back({collective, new_storage(), false});
    flight.written.push_back(flight.results[0].storage);
    for (const Value& input : inputs) flight.read.push_back(input.storage);
    values_.push_back(flight.results[0]);
    flights_.push_back(std::move(flight));
  }

  void communicate_in_place(GroupId group) {
    const Value a =
        pick([&](const Value& v) { return is_float(v) && !v.repeats && !is_read_in_flight(v.storage) && is_dense(v); });
    if (!a.node.valid()) return pointwise();
    const NodeId collective =
        random_.chance(70)
            ? make_.op("_c10d_functional.all_reduce_", {value(a.node), make_.text("sum"), Arg::group(group)})
            : make_.op("_c10d_functional.broadcast_", {value(a.node), Arg::integer(0), Arg::group(group)});
    Flight flight;
    flight.results.push_back({collective, a.storage, false});
    flight.written.push_back(a.storage);
    flight.read.push_back(a.storage);
    flights_.push_back(std::move(flight));
  }

  void communicate_coalesced(GroupId group, const std::vector<Value>& inputs) {
    std::vector<NodeId> nodes;
    Flight flight;
    for (const Value& input : inputs) {
      nodes.push_back(input.node);
      flight.read.push_back(input.storage);
    }
    const NodeId collective =
        random_.chance(50) ? make_.op("_c10d_functional.all_reduce_coalesced",
                                      {make_.values(nodes), make_.text("sum"), Arg::group(group)})
                           : make_.op("_c10d_functional.all_gather_into_tensor_coalesced",
                                      {make_.values(nodes), Arg::integer(make_.size_of(group)), Arg::group(group)});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      flight.results.push_back({make_.getitem(collective, static_cast<std::int64_t>(i)), new_storage(), false});
      flight.written.push_back(flight.results.back().storage);
    }
    flights_.push_back(std::move(flight));
  }

  // Waits for one of the collectives, of a coalesced one for every result.
  void wait() {
    if (flights_.empty()) return pointwise();
    const std::size_t which = random_.index(flights_.size());
    const Flight flight = flights_[which];
    flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(which));
    for (const Value& result : flight.results) {
      NodeId awaited = result.node;
      if (random_.chance(15)) awaited = make_.op("aten.alias", {value(awaited)});
      remember(make_.wait(awaited), result.storage);
    }
    // what was waited for is a value like any other, but programs go on with the wait's result
    std::erase_if(values_, [&](const Value& v) { return v.node == flight.results[0].node; });
  }

  std::vector<NodeId> results() {
    std::set<NodeId> chosen;
    for (int i = 0; i < 4; ++i) chosen.insert(pick().node);
    chosen.insert(values_.back().node);
    return {chosen.begin(), chosen.end()};
  }

  GraphMaker& make_;
  Random& random_;
  const RandomGraphOptions& options_;
  std::vector<GroupId> groups_;
  std::vector<Value> values_;
  std::vector<Flight> flights_;
  std::size_t storages_ = 0;
};

}  // namespace

Graph make_dag(GraphMaker& make) { return Dag(make).run(); }

}  // namespace hocket
