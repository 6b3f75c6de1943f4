// The compiler for graphs in JSON, which is how FX graphs come and go.
//
//   CompiledGraph compiled = compile_graph(json, {.machine = "cpu"});
//   compiled.json();     // the same program, communication hidden
#pragma once

#include <stdexcept>
#include <string>

#include "hocket/compile/compile.h"

namespace hocket {

struct GraphRequest {
  std::string passes;        // "overlap(effort=fast)"; empty: what `hocket opt` runs
  std::string machine;       // a ready-made one, or the file of a description
  std::string memory_limit;  // "1.05x", "12GiB"
};

class CompiledGraph {
 public:
  CompiledGraph(Graph original, Compiled compiled, CompileOptions options)
      : original_(std::move(original)), compiled_(std::move(compiled)), options_(std::move(options)) {}

  // Throw ValueError.
  std::string json() const;
  std::string summary() const;  // JSON: what it took, before and after, what each pass says
  std::string page() const;     // HTML, one file

 private:
  Graph original_;
  Compiled compiled_;
  CompileOptions options_;
};

// It is the graph that can't be compiled, whatever the options.
class UnreadableGraph : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UnreadableGraph, and ValueError for a pass, machine or limit that can't be used.
CompiledGraph compile_graph(const std::string& json, const GraphRequest& request);

}  // namespace hocket
