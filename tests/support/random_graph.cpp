#include "support/random_graph.h"

#include <fmt/format.h>

#include <array>

#include "support/graph_maker.h"

namespace hocket {

std::string_view name_of(GraphShape shape) {
  static constexpr std::array<std::string_view, 5> names = {"ddp", "fsdp", "tensor", "experts", "dag"};
  return names[static_cast<std::size_t>(shape)];
}

RandomGraphOptions random_graph_options(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  RandomGraphOptions options;
  options.shape = random.chance(50) ? GraphShape::dag : static_cast<GraphShape>(random.below(4));
  options.layers = static_cast<int>(random.between(1, 5));
  options.operators = static_cast<int>(random.between(5, 80));
  options.world = random.pick({2, 4, 8, 16});
  options.width = options.world * static_cast<int>(random.between(1, 2));
  options.coalesced = random.chance(40);
  options.in_place = random.chance(40);
  options.copy_back = random.chance(40);
  options.copy_over = options.shape == GraphShape::ddp && random.chance(20);
  options.views = static_cast<int>(random.between(0, 40));
  options.mutations = static_cast<int>(random.between(0, 20));
  options.collectives = static_cast<int>(random.between(0, 30));
  options.facts = random.pick({0, 50, 100});
  options.integers = random.chance(50);
  options.symbolic = random.chance(30);
  options.opaque = random.chance(30);
  options.side_effects = random.chance(30);
  options.odd_names = random.chance(30);
  return options;
}

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  Random random(seed);
  GraphMaker make(fmt::format("{}_{}", name_of(options.shape), seed), random, options);
  switch (options.shape) {
    case GraphShape::ddp: return make_ddp(make);
    case GraphShape::fsdp: return make_fsdp(make);
    case GraphShape::tensor: return make_tensor_parallel(make);
    case GraphShape::experts: return make_experts(make);
    case GraphShape::dag: break;
  }
  return make_dag(make);
}

Graph random_graph(std::uint64_t seed) { return random_graph(seed, random_graph_options(seed)); }

}  // namespace hocket
