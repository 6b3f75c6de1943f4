// What a Graph and a Program have in common: the types, operators, groups, devices, texts and symbols that they refer to by id.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/ir/arg.h"
#include "hocket/ir/op_table.h"

namespace hocket {

// Ranks that communicate with each other.
struct Group {
  std::string name;
  std::vector<Rank> ranks;
  friend bool operator==(const Group&, const Group&) = default;
};

// One communication, as a node or step carries it out.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  GroupId group;
  Bytes bytes_in;
  Bytes bytes_out;
  friend bool operator==(const Collective&, const Collective&) = default;
};

// dtype, shape and strides. Types are interned: in one Graph or Program, equal types have equal ids.
struct TensorType {
  Dtype dtype = Dtype::f32;
  std::uint32_t rank = 0;
  std::uint32_t dims_begin = 0;  // shape, then strides, in the pool of dims
};

// What a capture says about a call; -1 where it says nothing.
struct Measured {
  std::int64_t picoseconds = -1;
  std::int64_t flops = -1;
  std::int64_t read = -1;
  std::int64_t written = -1;
  friend constexpr bool operator==(const Measured&, const Measured&) = default;
};

class Tables {
 public:
  const OpTable& op_table() const { return *table_; }
  std::string_view op_name(OpId id) const { return pool_.strings[ops_[id.index()].name]; }
  const OpSpec* op_spec(OpId id) const { return ops_[id.index()].spec; }  // nullptr: not in the operator table
  TypeView type(TypeId id) const;
  std::span<const Group> groups() const { return groups_; }
  const Group& group(GroupId id) const { return groups_[id.index()]; }
  std::string_view device(DeviceId id) const { return devices_[id.index()]; }
  std::span<const std::string> devices() const { return devices_; }
  const ArgPool& pool() const { return pool_; }
  const SymbolTable& symbols() const { return symbols_; }

 protected:
  friend class TablesBuilder;

  struct Op {
    StringId name;
    const OpSpec* spec = nullptr;
  };

  std::size_t tables_memory() const;

  const OpTable* table_ = nullptr;
  std::vector<Group> groups_;
  std::vector<std::string> devices_;
  std::vector<Op> ops_;
  std::vector<TensorType> types_;
  std::vector<Dim> dims_;
  ArgPool pool_;
  SymbolTable symbols_;
};

// Adds entries to Tables, each once.
class TablesBuilder {
 public:
  TablesBuilder(Tables& tables, const OpTable& table) : tables_(tables) { tables_.table_ = &table; }

  TypeId type(Dtype dtype, Dims shape, Dims strides);
  DeviceId device(std::string_view name);
  OpId op(std::string_view full_name);
  GroupId group(Group group) {
    tables_.groups_.push_back(std::move(group));
    return GroupId(tables_.groups_.size() - 1);
  }
  std::optional<GroupId> find_group(std::string_view name) const;
  ArgPool& pool() { return tables_.pool_; }
  SymbolTable& symbols() { return tables_.symbols_; }

 private:
  Tables& tables_;
  std::unordered_map<std::uint64_t, std::vector<TypeId>> type_index_;
  std::unordered_map<std::string, OpId> op_index_;
};

}  // namespace hocket
