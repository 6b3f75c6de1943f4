// Nodes of a Graph and steps of a Program as the cost model sees them: calls of operators, by position.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hocket/cost/profile.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

class GraphCalls {
 public:
  explicit GraphCalls(const Graph& graph) : graph_(graph), values_(graph), symbols_(graph.symbols()) {}

  std::size_t size() const { return graph_.size(); }
  std::string_view name(std::size_t i) const { return graph_.name(NodeId(i)); }
  std::string_view op_name(std::size_t i) const { return graph_.op_name(NodeId(i)); }
  const OpSpec* row(std::size_t i) const { return graph_.op_spec(NodeId(i)); }
  const Measured& measured(std::size_t i) const { return graph_.node(NodeId(i)).measured; }
  const Collective* collective(std::size_t i) const { return graph_.collective(NodeId(i)); }
  std::span<const Rank> ranks(const Collective& comm) const { return graph_.group(comm.group).ranks; }
  std::string key(std::size_t i) const { return call_key(graph_, NodeId(i)); }
  Call call(std::size_t i) {
    return {graph_.pool(), graph_.args(NodeId(i)), graph_.keywords(NodeId(i)), values_, symbols_};
  }
  SymbolTable& symbols() { return symbols_; }

  bool takes_nothing(std::size_t i) const;  // an input, the output, a view, a wait
  Bytes moved(std::size_t i, const Collective& comm) const;
  std::vector<TypeView> results(std::size_t i) const;

 private:
  const Graph& graph_;
  GraphValues values_;
  SymbolTable symbols_;  // shape functions make new expressions
};

class ProgramCalls {
 public:
  explicit ProgramCalls(const Program& program) : program_(program), values_(program), symbols_(program.symbols()) {}

  std::size_t size() const { return program_.size(); }
  std::string_view name(std::size_t i) const { return program_.name(StepId(i)); }
  std::string_view op_name(std::size_t i) const { return program_.op_name(StepId(i)); }
  const OpSpec* row(std::size_t i) const { return program_.op_spec(StepId(i)); }
  const Measured& measured(std::size_t i) const { return program_.step(StepId(i)).measured; }
  const Collective* collective(std::size_t i) const { return program_.collective(StepId(i)); }
  std::span<const Rank> ranks(const Collective& comm) const { return program_.group(comm.group).ranks; }
  std::string key(std::size_t i) const { return call_key(program_, StepId(i)); }
  Call call(std::size_t i) {
    return {program_.pool(), program_.args(StepId(i)), program_.keywords(StepId(i)), values_, symbols_};
  }
  SymbolTable& symbols() { return symbols_; }

  bool takes_nothing(std::size_t i) const;
  Bytes moved(std::size_t i, const Collective& comm) const;
  std::vector<TypeView> results(std::size_t i) const;

 private:
  const Program& program_;
  ProgramValues values_;
  SymbolTable symbols_;
};

}  // namespace hocket
