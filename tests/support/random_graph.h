// Random graphs, valid ones: verify() finds nothing wrong with them. The same seed and options give the same graph everywhere.
//
//   const Graph graph = random_graph(seed);                                     // any shape
//   const Graph step = random_graph(seed, {.shape = GraphShape::fsdp, .layers = 4});
//
// Sizes are small and divide by the sizes of the groups; most tensors are f32, some i64.
#pragma once

#include <cstdint>
#include <string_view>

#include "hocket/ir/graph.h"

namespace hocket {

enum class GraphShape : std::uint8_t {
  ddp,      // a backward chain; every gradient divided by the number of ranks and all-reduced
  fsdp,     // forward and backward; parameters gathered before use, gradients reduce-scattered
  tensor,   // matrices split over one group: activations communicated there, gradients over the other group
  experts,  // tokens sent to experts and back with all-to-all
  dag,      // any operators in any order, with views, mutation, several groups
};

std::string_view name_of(GraphShape shape);

struct RandomGraphOptions {
  GraphShape shape = GraphShape::dag;
  int layers = 3;          // of all shapes but dag
  int operators = 40;      // of a dag, about
  int world = 8;           // ranks; a power of two
  int width = 8;           // of matrices; a multiple of the world
  bool coalesced = false;  // bundle collectives in the coalesced forms
  bool in_place = false;   // collectives that write their argument or an `out`
  bool copy_over = false;  // ddp: results are copied over the gradients that were averaged, which are then used
  bool averages =
      false;  // ddp: by all_reduce itself, and the results are used; not with in_place, coalesced, copy_back
  bool copy_back = false;     // ddp: results are copied into the gradients instead of returned
  int views = 25;             // dag: percent of operators that are views
  int mutations = 10;         // dag: percent of operators that write in place
  int collectives = 15;       // dag: percent of operators that start communication
  int facts = 80;             // percent of operators with estimates, FLOPs and bytes
  bool integers = false;      // dag: sizes computed as integer values
  bool symbolic = false;      // dag: inputs of symbolic size
  bool opaque = false;        // dag: operators that the table does not know
  bool side_effects = false;  // dag: random numbers, assertions
  bool odd_names = false;     // names with blanks, quotes and other letters; facts about the whole; unknown members
};

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options);
Graph random_graph(std::uint64_t seed);                       // the options are drawn too
RandomGraphOptions random_graph_options(std::uint64_t seed);  // those

}  // namespace hocket
