#include "hocket/comm/group.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "comm/rank_checks.h"
#include "hocket/base/nearest.h"

namespace hocket {

namespace {

constexpr std::string_view world_name = "world";
constexpr std::string_view reserved_prefix = "ranks:";

Ranks all_ranks(std::int32_t world_size) {
  Ranks ranks(static_cast<std::size_t>(std::max(world_size, 0)));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

RankGroup::RankGroup(std::string name, Ranks ranks, std::int32_t place)
    : name_(std::move(name)), ranks_(std::move(ranks)), place_(place) {}

std::optional<std::int32_t> RankGroup::place_of(std::int32_t rank) const {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (found == ranks_.end() || *found != rank) return std::nullopt;
  return static_cast<std::int32_t>(found - ranks_.begin());
}

GroupTable::GroupTable(std::int32_t world_size, std::int32_t rank) : world_size_(world_size), rank_(rank) {
  const GroupHandle world(new RankGroup(std::string(world_name), all_ranks(world_size), rank));
  by_name_.emplace(world_name, world);
  by_name_.emplace(canonical_group_name(world->ranks()), world);
}

Result<GroupHandle> GroupTable::resolve(const GroupRef& ref) {
  if (rank_ < 0 || rank_ >= world_size_) {
    return fail(ErrorKind::internal, "rank {} is not in a world of {} ranks", rank_, world_size_);
  }
  struct Resolver {
    GroupTable& table;
    Result<GroupHandle> operator()(const GroupHandle& group) const {
      if (!group) return fail(ErrorKind::usage, "the group is null");
      return group;
    }
    Result<GroupHandle> operator()(const std::string& name) const { return table.from_name(name); }
    Result<GroupHandle> operator()(const Ranks& ranks) const { return table.from_ranks(ranks); }
    Result<GroupHandle> operator()(const Rows& rows) const { return table.from_rows(rows); }
    Result<GroupHandle> operator()(const GroupRef::OfMesh& of) const { return table.from_mesh(of); }
  };
  return std::visit(Resolver{*this}, ref.value());
}

Status GroupTable::add_name(std::string name, const GroupRef& ref) {
  if (name.empty() || name.starts_with(reserved_prefix)) {
    return fail(ErrorKind::usage, "\"{}\" can't name a group: names are not empty and don't begin with {}", name,
                reserved_prefix);
  }
  HOCKET_TRY(const GroupHandle group, resolve(ref));
  const std::lock_guard lock(mutex_);
  const auto [entry, added] = by_name_.emplace(std::move(name), group);
  if (!added && entry->second != group) {
    return fail(ErrorKind::usage, "group {} is {} already and can't be {} too", entry->first, entry->second->name(),
                group->name());
  }
  return {};
}

Status GroupTable::check_ranks(const Ranks& ranks) const {
  if (ranks.empty()) return fail(ErrorKind::usage, "a group needs at least one rank");
  for (const std::int32_t rank : ranks) {
    if (rank < 0 || rank >= world_size_) {
      return fail(ErrorKind::usage, "rank {} is not in the world, which has ranks 0 to {}", rank, world_size_ - 1);
    }
  }
  return {};
}

Result<GroupHandle> GroupTable::from_name(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [other, group] : by_name_) known.push_back(other);
  const std::string_view near = nearest(name, known);
  return fail(ErrorKind::usage, "no group is named {}{}", name,
              near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

Result<GroupHandle> GroupTable::from_ranks(Ranks ranks) {
  HOCKET_CHECK(check_ranks(ranks));
  std::sort(ranks.begin(), ranks.end());
  if (const auto twice = rank_given_twice(ranks)) {
    return fail(ErrorKind::usage, "rank {} stands twice in the list of ranks {}", *twice, fmt::join(ranks, ", "));
  }
  const std::string name = canonical_group_name(ranks);
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank_);
  if (place == ranks.end() || *place != rank_) {
    return fail(ErrorKind::usage, "rank {} is not a member of group {}", rank_, name);
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  const auto index = static_cast<std::int32_t>(place - ranks.begin());
  const GroupHandle group(new RankGroup(name, std::move(ranks), index));
  by_name_.emplace(name, group);
  return group;
}

Result<GroupHandle> GroupTable::from_rows(const std::vector<Ranks>& rows) {
  if (rows.empty()) return fail(ErrorKind::usage, "a list of rows of ranks needs at least one row");
  Ranks all;
  const Ranks* mine = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    HOCKET_CHECK(check_ranks(rows[i]));
    if (rows[i].size() != rows[0].size()) {
      return fail(ErrorKind::usage, "rows of ranks have unequal lengths: row 0 has {} and row {} has {}",
                  rows[0].size(), i, rows[i].size());
    }
    if (std::find(rows[i].begin(), rows[i].end(), rank_) != rows[i].end()) mine = &rows[i];
    all.insert(all.end(), rows[i].begin(), rows[i].end());
  }
  if (const auto twice = rank_given_twice(std::move(all))) {
    return fail(ErrorKind::usage, "rank {} stands twice in the rows of ranks", *twice);
  }
  if (mine == nullptr) return fail(ErrorKind::usage, "rank {} is in none of the {} rows of ranks", rank_, rows.size());
  return from_ranks(*mine);
}

Result<GroupHandle> GroupTable::from_mesh(const GroupRef::OfMesh& of) {
  HOCKET_TRY(const Mesh mesh, of.mesh);
  if (of.dim) {
    HOCKET_TRY(const Mesh line, mesh[*of.dim]);
    return from_ranks(line.ranks());
  }
  if (mesh.dims().size() > 1) {
    return fail(ErrorKind::usage, "{} has {} dims: name the one to communicate along, as in mesh[\"{}\"]",
                mesh.to_string(), mesh.dims().size(), mesh.dims().back().name);
  }
  return from_ranks(mesh.ranks());
}

Result<Mesh> GroupTable::mesh(std::vector<MeshDim> dims) const {
  return Mesh::make(std::move(dims), all_ranks(world_size_), rank_);
}

Result<Mesh> GroupTable::mesh(std::vector<MeshDim> dims, Ranks ranks) const {
  HOCKET_CHECK(check_ranks(ranks));
  return Mesh::make(std::move(dims), std::move(ranks), rank_);
}

}  // namespace hocket
