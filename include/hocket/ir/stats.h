// What a graph holds and moves: counts, bytes, times, peak memory of its order, critical path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hocket/base/units.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

struct GraphStats {
  std::string name;
  std::size_t nodes = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;  // results that the graph returns
  std::size_t ops = 0;
  std::size_t views = 0;
  std::size_t gemms = 0;
  std::size_t mutations = 0;
  std::size_t waits = 0;
  std::size_t opaque = 0;    // operators that the table does not know
  std::size_t symbolic = 0;  // tensors with a symbolic size; they count as 0 bytes below
  std::map<std::string, std::size_t> opaque_ops;

  struct Communication {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::string group;
    std::size_t ranks = 0;
    std::size_t count = 0;
    Bytes bytes_in;
    Bytes bytes_out;
    Nanoseconds time;
  };
  std::vector<Communication> communication;  // by group, then kind
  std::size_t collectives = 0;

  std::size_t without_estimate = 0;  // operators that would take time but have no estimate: they count as 0
  Nanoseconds compute;               // sum over the compute lane
  Nanoseconds communicate;           // sum over all collectives
  Nanoseconds critical_path;         // longest chain of dependencies
  Bytes input_bytes;
  Bytes peak;           // of the given order
  std::string peak_at;  // the node where it is reached
};

// Memory: a storage lives from the node that creates it to the last that touches it or an alias; what a collective reads
// lives until its wait; inputs live throughout, results to the end.
GraphStats stats_of(const Graph& graph);

std::string summary(const GraphStats& stats);     // for people
std::string stats_json(const GraphStats& stats);  // one JSON object

// A table of the nodes with operator, type, bytes and time; at most `most` rows (0: all).
std::string table_of(const Graph& graph, std::size_t most = 0);
std::string table_of(const Program& program, std::size_t most = 0);

}  // namespace hocket
