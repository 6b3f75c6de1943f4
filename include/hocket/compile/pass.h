// Passes by name. A pass takes a graph and gives one that computes the same; the registry is where the command line,
// pipelines and users' own passes meet.
//
//   PassRegistry passes = PassRegistry::builtin();
//   passes.add({"my_pass", "what it does, in a line", [](const Graph& graph) -> Result<PassResult> { … }});
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

struct PassResult {
  std::optional<Graph> graph;  // absent: nothing changed
  std::string report;          // what it did, in a line
};

struct Pass {
  std::string name;
  std::string summary;
  std::function<Result<PassResult>(const Graph&)> run;
};

class PassRegistry {
 public:
  // A new registry with hocket's own passes.
  static PassRegistry builtin();

  // A name that is taken already is an error.
  Status add(Pass pass);
  // An unknown name is an error that lists the known ones.
  Result<const Pass*> find(std::string_view name) const;
  std::span<const Pass> passes() const { return passes_; }

 private:
  std::vector<Pass> passes_;
};

}  // namespace hocket
