#include "torch/captured_groups.h"

#include <algorithm>

#include "hocket/comm/world.h"

namespace hocket {

namespace {

std::vector<int> ascending(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Result<GroupSpec> spec_of(const Result<GroupHandle>& group) {
  if (!group) return fail(group.error());
  return GroupSpec{(*group)->name(), (*group)->ranks()};
}

// What a reference says by itself, whoever asks.
struct WithoutWorld {
  Result<GroupSpec> operator()(const GroupHandle& group) const {
    if (!group) return fail(ErrorKind::usage, "the group is null");
    return GroupSpec{group->name(), group->ranks()};
  }
  Result<GroupSpec> operator()(const Ranks& ranks) const {
    if (ranks.empty()) return fail(ErrorKind::usage, "a group needs at least one rank");
    const Ranks sorted = ascending(ranks);
    if (sorted.front() < 0) return fail(ErrorKind::usage, "rank {} is negative", sorted.front());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) return fail(ErrorKind::usage, "rank {} stands twice in the list of ranks", *twice);
    return GroupSpec{canonical_group_name(sorted), sorted};
  }
  Result<GroupSpec> operator()(const GroupRef::OfMesh& of) const {
    HOCKET_TRY(Mesh mesh, of.mesh);
    if (of.dim) {
      HOCKET_TRY(mesh, mesh[*of.dim]);
    }
    if (mesh.dims().size() > 1) {
      return fail(ErrorKind::usage, "{} has {} dims: name the one to communicate along, as in mesh[\"{}\"]",
                  mesh.to_string(), mesh.dims().size(), mesh.dims().back().name);
    }
    return (*this)(mesh.ranks());
  }
  Result<GroupSpec> operator()(const std::string& name) const {
    return fail(ErrorKind::usage, "no group is named {}: declare it in CaptureOptions::groups, or join a world", name);
  }
  Result<GroupSpec> operator()(const Rows&) const {
    return fail(ErrorKind::usage,
                "rows of ranks mean another group on every rank: say which one in CaptureOptions::world_size and rank, "
                "or join a world");
  }
};

}  // namespace

CapturedGroups::CapturedGroups(const CaptureOptions& options) : options_(options) {
  if (options.world_size < 0 || options.rank < 0) return;
  table_ = std::make_unique<GroupTable>(static_cast<std::int32_t>(options.world_size),
                                        static_cast<std::int32_t>(options.rank));
}

Result<GroupSpec> CapturedGroups::find(const GroupRef& ref) const {
  if (const auto* name = std::get_if<std::string>(&ref.value())) {
    for (const GroupSpec& known : options_.groups) {
      if (known.name == *name) return known;
    }
  }
  if (table_) return spec_of(table_->resolve(ref));
  if (const Result<World> world = World::current()) return spec_of(world->group(ref));
  return std::visit(WithoutWorld(), ref.value());
}

Result<CapturedGroup> CapturedGroups::resolve(const GroupRef& ref) const {
  HOCKET_TRY(CapturedGroup group, find(ref).map([](GroupSpec spec) { return CapturedGroup{std::move(spec), {}}; }));
  for (const GroupSpec& known : options_.groups) {
    if (ascending(known.ranks) == ascending(group.spec.ranks)) group.spec = known;
  }
  std::int64_t rank = options_.rank;
  if (!table_ && rank < 0) {
    if (const Result<World> world = World::current()) rank = world->rank();
  }
  const std::vector<int> ranks = ascending(group.spec.ranks);
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  if (place != ranks.end()) group.place = static_cast<std::int32_t>(place - ranks.begin());
  return group;
}

}  // namespace hocket
