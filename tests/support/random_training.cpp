// Training steps as data, fully sharded, tensor and expert parallelism make them.
#include <fmt/format.h>

#include "support/graph_maker.h"

namespace hocket {

namespace {

Arg value(NodeId node) { return Arg::value(node); }

NodeId mm(GraphMaker& make, NodeId a, NodeId b) { return make.op("aten.mm", {value(a), value(b)}); }
NodeId transposed(GraphMaker& make, NodeId a) { return make.op("aten.permute", {value(a), make.sizes({1, 0})}); }
NodeId relu(GraphMaker& make, NodeId a) { return make.op("aten.relu", {value(a)}); }
NodeId add(GraphMaker& make, NodeId a, NodeId b) { return make.op("aten.add.Tensor", {value(a), value(b)}); }

}  // namespace

// Gradients of one layer after the other; each is averaged over the ranks.
Graph make_ddp(GraphMaker& make) {
  const RandomGraphOptions& options = make.options();
  const GroupId dp = make.group("dp", options.world);
  const Dim width = options.width;
  std::vector<NodeId> weights;
  std::vector<NodeId> activations;
  std::vector<NodeId> gradients;
  for (int layer = 0; layer < options.layers; ++layer) {
    weights.push_back(make.input("weight", {width, width}));
    activations.push_back(make.input("activation", {width, width}));
    if (options.copy_back) gradients.push_back(make.input("grad", {width, width}));
  }
  NodeId flowing = make.input("loss_grad", {width, width});
  std::vector<NodeId> results;
  std::vector<std::pair<NodeId, std::size_t>> bundle;  // averages and their layers

  const auto deliver = [&](NodeId sum, std::size_t layer) {
    const NodeId done = make.wait(sum);
    results.push_back(options.copy_back ? make.op("aten.copy_", {value(gradients[layer]), value(done)}) : done);
  };
  const auto communicate = [&] {
    std::vector<NodeId> averages;
    for (const auto& [average, layer] : bundle) averages.push_back(average);
    const char* op =
        options.in_place ? "_c10d_functional.all_reduce_coalesced_" : "_c10d_functional.all_reduce_coalesced";
    const NodeId sums = make.op(op, {make.values(averages), make.text("sum"), Arg::group(dp)});
    for (std::size_t i = 0; i < bundle.size(); ++i)
      deliver(make.getitem(sums, static_cast<std::int64_t>(i)), bundle[i].second);
    bundle.clear();
  };
  for (auto layer = static_cast<std::size_t>(options.layers); layer-- > 0;) {
    const NodeId gradient = mm(make, transposed(make, activations[layer]), flowing);
    if (options.copy_over) {
      const NodeId sum = make.wait(make.all_reduce(gradient, dp));
      const NodeId before = make.random().chance(50) ? relu(make, gradient) : flowing;
      make.op("aten.copy_", {value(gradient), value(sum)});
      results.push_back(add(make, weights[layer], gradient));
      if (make.random().chance(20)) results.push_back(sum);  // then it must stay
      flowing = mm(make, before, transposed(make, weights[layer]));
      continue;
    }
    if (options.averages) {
      const NodeId average =
          make.op("_c10d_functional.all_reduce", {value(gradient), make.text("avg"), Arg::group(dp)});
      results.push_back(add(make, weights[layer], make.wait(average)));
      flowing = mm(make, flowing, transposed(make, weights[layer]));
      continue;
    }
    const NodeId average = make.op("aten.div.Tensor", {value(gradient), Arg::real(options.world)});
    if (options.coalesced) {
      bundle.emplace_back(average, layer);
      if (make.random().chance(40)) communicate();
    } else if (options.in_place) {
      deliver(make.op("_c10d_functional.all_reduce_", {value(average), make.text("sum"), Arg::group(dp)}), layer);
    } else {
      deliver(make.all_reduce(average, dp), layer);
    }
    flowing = relu(make, mm(make, flowing, transposed(make, weights[layer])));
  }
  if (!bundle.empty()) communicate();
  results.push_back(flowing);
  return make.finish(results);
}

namespace {

// Whole parameters from this rank's shards, in one of the ways that FSDP programs have.
std::vector<NodeId> gather(GraphMaker& make, const std::vector<NodeId>& shards, GroupId fsdp) {
  const RandomGraphOptions& options = make.options();
  const Dim width = options.width;
  std::vector<NodeId> whole;
  if (options.in_place) {
    for (const NodeId shard : shards) {
      const std::int64_t own = options.width * options.width / make.size_of(fsdp);
      const NodeId buffer = make.op("aten.empty.memory_format", {make.sizes({own * make.size_of(fsdp)})});
      const NodeId flat = make.op("aten.view", {value(shard), make.sizes({own})});
      const NodeId copied = make.op("fsdp.all_gather_copy_in", {make.values({flat}), value(buffer), make.sizes({own}),
                                                                Arg::integer(own), Arg::integer(0)});
      const NodeId out = make.getitem(copied, 1);
      const NodeId gathered = make.op(
          "_c10d_functional.all_gather_into_tensor_out",
          {value(make.getitem(copied, 0)), Arg::integer(make.size_of(fsdp)), Arg::group(fsdp)}, {{"out", value(out)}});
      whole.push_back(make.op("aten.view", {value(make.wait(gathered)), make.sizes({width.value(), width.value()})}));
    }
  } else if (options.coalesced && shards.size() > 1) {
    const NodeId gathered = make.op("_c10d_functional.all_gather_into_tensor_coalesced",
                                    {make.values(shards), Arg::integer(make.size_of(fsdp)), Arg::group(fsdp)});
    std::vector<NodeId> parts;
    for (std::size_t i = 0; i < shards.size(); ++i)
      parts.push_back(make.getitem(gathered, static_cast<std::int64_t>(i)));
    for (const NodeId part : parts) whole.push_back(make.wait(part));
  } else {
    for (const NodeId shard : shards) whole.push_back(make.wait(make.all_gather(shard, fsdp)));
  }
  return whole;
}

void scatter(GraphMaker& make, const std::vector<NodeId>& gradients, GroupId fsdp, std::vector<NodeId>& results) {
  if (make.options().coalesced && gradients.size() > 1) {
    const NodeId scattered =
        make.op("_c10d_functional.reduce_scatter_tensor_coalesced",
                {make.values(gradients), make.text("avg"), Arg::integer(make.size_of(fsdp)), Arg::group(fsdp)});
    for (std::size_t i = 0; i < gradients.size(); ++i)
      results.push_back(make.wait(make.getitem(scattered, static_cast<std::int64_t>(i))));
    return;
  }
  for (const NodeId gradient : gradients) results.push_back(make.wait(make.reduce_scatter(gradient, fsdp, "avg")));
}

}  // namespace

// Two matrices for each layer, gathered before the forward pass of the layer and again before the backward pass.
Graph make_fsdp(GraphMaker& make) {
  const RandomGraphOptions& options = make.options();
  const GroupId fsdp = make.group("fsdp", options.world);
  const std::int64_t width = options.width;
  std::vector<std::vector<NodeId>> shards;
  for (int layer = 0; layer < options.layers; ++layer) {
    shards.emplace_back();
    for (int i = 0; i < 2; ++i) shards.back().push_back(make.input("shard", {width / options.world, width}));
  }
  NodeId flowing = make.input("x", {4, width});
  std::vector<std::vector<NodeId>> saved;  // of each layer: its input and what comes after its first matrix
  for (const auto& layer : shards) {
    const std::vector<NodeId> whole = gather(make, layer, fsdp);
    const NodeId middle = relu(make, mm(make, flowing, whole[0]));
    saved.push_back({flowing, middle});
    flowing = add(make, flowing, mm(make, middle, whole[1]));
  }
  std::vector<NodeId> results = {flowing};
  NodeId gradient = make.op("aten.mul.Tensor", {value(flowing), Arg::real(2)});
  for (std::size_t layer = shards.size(); layer-- > 0;) {
    const std::vector<NodeId> whole = gather(make, shards[layer], fsdp);
    const NodeId second = mm(make, transposed(make, saved[layer][1]), gradient);
    const NodeId back = mm(make, gradient, transposed(make, whole[1]));
    const NodeId masked = make.op("aten.threshold_backward", {value(back), value(saved[layer][1]), Arg::integer(0)});
    const NodeId first = mm(make, transposed(make, saved[layer][0]), masked);
    scatter(make, {second, first}, fsdp, results);
    gradient = add(make, gradient, mm(make, masked, transposed(make, whole[0])));
  }
  return make.finish(results);
}

// Matrices split by columns and then by rows over tp; with sequence parallelism the activations are split in between.
Graph make_tensor_parallel(GraphMaker& make) {
  const RandomGraphOptions& options = make.options();
  const int split = options.world >= 4 ? options.world / 2 : options.world;
  const GroupId tp = make.group("tp", split);
  const GroupId dp = make.group("dp", options.world / split, split);
  const std::int64_t width = options.width;
  const bool sequence = make.random().chance(50);
  const std::int64_t tokens = width;
  NodeId flowing = make.input("x", {sequence ? tokens / split : tokens, width});
  std::vector<NodeId> results;
  for (int layer = 0; layer < options.layers; ++layer) {
    const NodeId columns = make.input("columns", {width, width / split});
    const NodeId rows = make.input("rows", {width / split, width});
    const NodeId whole = sequence ? make.wait(make.all_gather(flowing, tp)) : flowing;
    const NodeId middle = relu(make, mm(make, whole, columns));
    const NodeId partial = mm(make, middle, rows);
    const NodeId sum = sequence ? make.reduce_scatter(partial, tp) : make.all_reduce(partial, tp);
    const NodeId gradient = mm(make, transposed(make, middle), partial);  // independent of the sum: hides it
    const NodeId average = make.all_reduce(gradient, dp, "avg");
    flowing = add(make, flowing, make.wait(sum));
    results.push_back(make.wait(average));
  }
  results.push_back(flowing);
  return make.finish(results);
}

// Each layer sends its tokens to the experts, which sit on other ranks, and gets them back.
Graph make_experts(GraphMaker& make) {
  const RandomGraphOptions& options = make.options();
  const GroupId ep = make.group("ep", options.world);
  const GroupId dp = make.group("dp", 2, options.world / 2);
  const std::int64_t width = options.width;
  const std::int64_t tokens = std::int64_t{2} * options.world;
  NodeId flowing = make.input("tokens", {tokens, width});
  std::vector<NodeId> results;
  for (int layer = 0; layer < options.layers; ++layer) {
    const NodeId expert = make.input("expert", {width, width});
    const NodeId router = make.input("router", {width, options.world});
    const NodeId scores = mm(make, flowing, router);
    const NodeId best = make.op("aten.topk", {value(scores), Arg::integer(2)});
    const NodeId weights =
        make.op("aten.sum.dim_IntList", {value(make.getitem(best, 0)), make.sizes({1}), Arg::boolean(true)});
    std::vector<std::int64_t> sent(static_cast<std::size_t>(options.world), 0);
    std::vector<std::int64_t> received(static_cast<std::size_t>(options.world), 0);
    for (std::int64_t token = 0; token < tokens; ++token) {
      ++sent[make.random().index(sent.size())];
      ++received[make.random().index(received.size())];
    }
    const bool even = make.random().chance(25);
    const auto exchange = [&](NodeId what, const std::vector<std::int64_t>& out, const std::vector<std::int64_t>& in) {
      return make.op("_c10d_functional.all_to_all_single", {value(what), even ? make.sizes({}) : make.sizes(out),
                                                            even ? make.sizes({}) : make.sizes(in), Arg::group(ep)});
    };
    const NodeId there = exchange(flowing, received, sent);
    const NodeId scaled = make.op("aten.mul.Tensor", {value(flowing), value(weights)});  // hides the way there
    const NodeId done = relu(make, mm(make, make.wait(there), expert));
    const NodeId back = exchange(done, sent, received);
    const NodeId statistics = make.all_reduce(make.op("aten.mean.dim", {value(scores), make.sizes({0})}), dp, "avg");
    flowing = add(make, scaled, make.wait(back));
    results.push_back(make.wait(statistics));
  }
  results.push_back(flowing);
  return make.finish(results);
}

}  // namespace hocket
