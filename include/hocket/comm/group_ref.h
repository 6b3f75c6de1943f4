// What a caller may say where a group is asked for. GroupTable::resolve() gives the group.
//
//   resolve("tp"), resolve({0, 1, 2}), resolve(Rows{{0, 1}, {2, 3}}), resolve(mesh["tp"]), resolve({mesh, "tp"})
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hocket/comm/mesh.h"

namespace hocket {

class RankGroup;
using GroupHandle = std::shared_ptr<const RankGroup>;

// Many groups side by side, of equal length: each rank is in the row that contains it.
using Rows = std::vector<Ranks>;

class GroupRef {
 public:
  // A misnamed slice (`mesh["typo"]`) is an error when the group is resolved. Without `dim` the mesh must have one.
  struct OfMesh {
    Result<Mesh> mesh;
    std::optional<std::string> dim;
  };
  using Value = std::variant<GroupHandle, std::string, Ranks, Rows, OfMesh>;

  // Implicit, so that a function with a GroupRef parameter takes all of them.
  GroupRef(GroupHandle group) : value_(std::move(group)) {}
  GroupRef(std::string name) : value_(std::move(name)) {}
  GroupRef(const char* name) : value_(std::string(name)) {}
  GroupRef(Ranks ranks) : value_(std::move(ranks)) {}
  GroupRef(std::initializer_list<std::int32_t> ranks) : value_(Ranks(ranks)) {}
  GroupRef(Rows rows) : value_(std::move(rows)) {}
  GroupRef(Mesh mesh) : value_(OfMesh{std::move(mesh), std::nullopt}) {}
  GroupRef(Result<Mesh> mesh) : value_(OfMesh{std::move(mesh), std::nullopt}) {}
  GroupRef(Mesh mesh, std::string dim) : value_(OfMesh{std::move(mesh), std::move(dim)}) {}

  const Value& value() const { return value_; }

 private:
  Value value_;
};

}  // namespace hocket
