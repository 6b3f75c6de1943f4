// A group of ranks that communicate with each other: a name, the ranks in ascending order, and this rank's place.
//
//   GroupTable groups(world_size, rank);
//   HOCKET_TRY(GroupHandle tp, groups.resolve(mesh["tp"]));
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"
#include "hocket/comm/group_ref.h"

namespace hocket {

class RankGroup {
 public:
  // "world", or what the ranks are: "ranks:0-3", "ranks:1-7/2" (every second), "ranks:0,3,9".
  const std::string& name() const { return name_; }
  const Ranks& ranks() const { return ranks_; }
  std::int32_t size() const { return static_cast<std::int32_t>(ranks_.size()); }
  // The place of this rank, 0 … size-1: the part that it gives to an all_gather.
  std::int32_t place() const { return place_; }
  std::optional<std::int32_t> place_of(std::int32_t rank) const;

 private:
  friend class GroupTable;
  RankGroup(std::string name, Ranks ranks, std::int32_t place);
  std::string name_;
  Ranks ranks_;
  std::int32_t place_;
};

// The groups that one rank has. The same ranks, whatever their order and however they were said, are the same group.
// Makes no communication; may be called from any thread.
class GroupTable {
 public:
  // world_size >= 1 and 0 <= rank < world_size; anything else is an internal error of the first resolve().
  GroupTable(std::int32_t world_size, std::int32_t rank);

  Result<GroupHandle> resolve(const GroupRef& ref);
  // From now on `name` is another name of that group.
  Status add_name(std::string name, const GroupRef& ref);
  // A mesh over all ranks of the world in order, or over these.
  Result<Mesh> mesh(std::vector<MeshDim> dims) const;
  Result<Mesh> mesh(std::vector<MeshDim> dims, Ranks ranks) const;

  std::int32_t world_size() const { return world_size_; }
  std::int32_t rank() const { return rank_; }

 private:
  Status check_ranks(const Ranks& ranks) const;
  Result<GroupHandle> from_name(const std::string& name) const;
  Result<GroupHandle> from_ranks(Ranks ranks);
  Result<GroupHandle> from_rows(const std::vector<Ranks>& rows);
  Result<GroupHandle> from_mesh(const GroupRef::OfMesh& of);

  std::int32_t world_size_;
  std::int32_t rank_;
  mutable std::mutex mutex_;  // guards by_name_
  std::map<std::string, GroupHandle, std::less<>> by_name_;
};

// The name of the group of these ascending ranks. Long lists without a pattern are named by a digest.
std::string canonical_group_name(const Ranks& ranks);

}  // namespace hocket
