// Lowerings by operator. An operator without a row becomes a step of its own, as its row of the operator table says; a row
// here makes it something else.
//
//   LoweringRegistry registry = LoweringRegistry::builtin();
//   registry.set({"mylib.all_mean.default", "as a sum and a division", [](Emitter& emit, NodeId node) -> Status { … }});
//   Result<Lowered> lowered = lower(graph, {}, registry);
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "hocket/base/error.h"
#include "hocket/ir/ids.h"

namespace hocket {

class Emitter;

struct Lowering {
  std::string op;       // the operator's full name: "_c10d_functional.all_reduce.default"
  std::string summary;  // what it becomes, in a line
  std::function<Status(Emitter& emit, NodeId node)> run;
};

class LoweringRegistry {
 public:
  // hocket's own lowerings. Copy it to change it.
  static const LoweringRegistry& builtin();

  // Adds a row, or replaces the one for the same operator.
  void set(Lowering lowering);
  const Lowering* find(std::string_view op) const;  // nullptr: the operator becomes a step as it is
  const std::map<std::string, Lowering, std::less<>>& rows() const { return rows_; }

 private:
  std::map<std::string, Lowering, std::less<>> rows_;
};

}  // namespace hocket
