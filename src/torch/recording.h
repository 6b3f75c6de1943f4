// The calls of a step as they were recorded, and the graph that they make. A Recording refers to its records by their
// positions; the graph leaves out views, list elements and fresh memory that nobody used.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/ir/builder.h"
#include "hocket/torch/capture.h"

namespace hocket {

struct Record {
  NodeKind kind = NodeKind::op;
  std::string name;  // of an input or attribute; operators get theirs in the graph
  std::string op;
  std::vector<Arg> args;
  std::vector<Keyword> keywords;
  std::vector<OutputSpec> outputs;
  bool multi = false;
  bool only_if_used = false;                   // does nothing but name memory
  std::optional<NodeId> view_of;               // absent: as the operator's row says
  std::optional<std::vector<NodeId>> mutates;  // absent: as the operator's row says
  at::Tensor tensor;                           // an attribute's
};

class Recording final : public Call::Values {
 public:
  NodeId add(Record record);
  const Record& operator[](NodeId id) const { return records_[id.index()]; }
  ArgPool& pool() { return pool_; }

  // Declares the group, or finds it if it was declared with the same ranks.
  Result<GroupId> group(const GroupSpec& spec);
  Result<GroupId> find_group(std::string_view name) const;

  // The types of a call's results by the operator table.
  Result<Outputs> infer(std::string_view op, const std::vector<Arg>& args, const std::vector<Keyword>& keywords);

  Result<Capture> finish(const CaptureOptions& options) const;

  std::size_t output_count(Arg value) const override { return (*this)[value.as_node()].outputs.size(); }
  TypeView output(Arg value, std::size_t index) const override;
  std::optional<std::int64_t> integer(Arg) const override { return std::nullopt; }
  std::int64_t group_size(GroupId group) const override;
  std::size_t group_count() const override { return groups_.size(); }

 private:
  std::vector<bool> used() const;

  std::vector<Record> records_;
  std::vector<Group> groups_;
  ArgPool pool_;
  SymbolTable symbols_;
};

}  // namespace hocket
