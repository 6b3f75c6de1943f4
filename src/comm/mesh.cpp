#include "hocket/comm/mesh.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "comm/rank_checks.h"
#include "hocket/base/nearest.h"

namespace hocket {

namespace {

Result<std::int64_t> count_places(const std::vector<MeshDim>& dims) {
  std::int64_t places = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const MeshDim& dim = dims[i];
    if (dim.name.empty()) return fail(ErrorKind::usage, "dim {} of the mesh has no name", i);
    if (dim.size < 1) {
      return fail(ErrorKind::usage, "dim {} of the mesh has size {}, expected at least 1", dim.name, dim.size);
    }
    const auto same_name = [&](const MeshDim& other) { return other.name == dim.name; };
    if (std::any_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i), same_name)) {
      return fail(ErrorKind::usage, "the mesh has two dims named {}", dim.name);
    }
    if (__builtin_mul_overflow(places, std::int64_t{dim.size}, &places)) {
      return fail(ErrorKind::usage, "the mesh has more places than there can be ranks");
    }
  }
  return places;
}

}  // namespace

Result<Mesh> Mesh::make(std::vector<MeshDim> dims, Ranks ranks, std::int32_t rank) {
  if (dims.empty()) return fail(ErrorKind::usage, "a mesh needs at least one dim");
  Mesh mesh;
  mesh.dims_ = std::move(dims);
  mesh.rank_ = rank;
  HOCKET_TRY(const std::int64_t places, count_places(mesh.dims_));
  if (places != static_cast<std::int64_t>(ranks.size())) {
    return fail(ErrorKind::usage, "{} has {} places but {} ranks were given", mesh.to_string(), places, ranks.size());
  }
  if (const auto twice = rank_given_twice(ranks)) {
    return fail(ErrorKind::usage, "rank {} stands twice in {}", *twice, mesh.to_string());
  }
  mesh.ranks_ = std::make_shared<const Ranks>(std::move(ranks));
  return mesh;
}

std::optional<std::vector<std::int32_t>> Mesh::coordinates(std::int32_t rank) const {
  const auto found = std::find(ranks_->begin(), ranks_->end(), rank);
  if (found == ranks_->end()) return std::nullopt;
  std::int64_t place = found - ranks_->begin();
  std::vector<std::int32_t> coordinates(dims_.size());
  for (std::size_t dim = dims_.size(); dim-- > 0;) {
    coordinates[dim] = static_cast<std::int32_t>(place % dims_[dim].size);
    place /= dims_[dim].size;
  }
  return coordinates;
}

Result<std::vector<std::size_t>> Mesh::find_dims(std::span<const std::string_view> names) const {
  if (names.empty()) return fail(ErrorKind::usage, "no dim of {} was named", to_string());
  std::vector<std::string_view> known;
  for (const MeshDim& dim : dims_) known.push_back(dim.name);
  std::vector<std::size_t> found;
  for (const std::string_view name : names) {
    const auto dim = std::find(known.begin(), known.end(), name);
    if (dim == known.end()) {
      const std::string_view near = nearest(name, known);
      return fail(ErrorKind::usage, "{} has no dim {}{}", to_string(), name,
                  near.empty() ? "" : fmt::format("; did you mean {}?", near));
    }
    found.push_back(static_cast<std::size_t>(dim - known.begin()));
    if (found.size() > 1 && found[found.size() - 2] >= found.back()) {
      return fail(ErrorKind::usage, "dims {} are not in the order of {}", fmt::join(names, ", "), to_string());
    }
  }
  return found;
}

Result<Mesh> Mesh::slice(std::span<const std::string_view> names) const {
  HOCKET_TRY(const std::vector<std::size_t> kept, find_dims(names));
  const auto here = coordinates(rank_);
  if (!here) return fail(ErrorKind::usage, "rank {} is not a member of {}", rank_, to_string());

  std::vector<std::int64_t> strides(dims_.size(), 1);
  for (std::size_t dim = dims_.size() - 1; dim-- > 0;) strides[dim] = strides[dim + 1] * dims_[dim + 1].size;
  std::int64_t corner = 0;  // this rank's place with all kept dims at 0
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) corner += strides[dim] * (*here)[dim];
  for (const std::size_t dim : kept) corner -= strides[dim] * (*here)[dim];

  std::vector<std::int64_t> places = {corner};
  std::vector<MeshDim> dims;
  for (const std::size_t dim : kept) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int32_t i = 0; i < dims_[dim].size; ++i) next.push_back(place + i * strides[dim]);
    }
    places = std::move(next);
    dims.push_back(dims_[dim]);
  }
  Ranks ranks;
  for (const std::int64_t place : places) ranks.push_back((*ranks_)[static_cast<std::size_t>(place)]);
  return make(std::move(dims), std::move(ranks), rank_);
}

Result<Mesh> Mesh::flatten(std::initializer_list<std::string_view> names, std::string name) const {
  HOCKET_TRY(const std::vector<std::size_t> merged, find_dims({names.begin(), names.size()}));
  if (merged.back() - merged.front() + 1 != merged.size()) {
    return fail(ErrorKind::usage, "dims {} of {} are not adjacent", fmt::join(names, ", "), to_string());
  }
  if (name.empty()) name = fmt::format("{}", fmt::join(names, "_"));
  std::vector<MeshDim> dims;
  for (std::size_t dim = 0; dim < dims_.size(); ++dim) {
    if (dim <= merged.front() || dim > merged.back()) dims.push_back(dims_[dim]);
    else dims.back().size *= dims_[dim].size;
    if (dim == merged.front()) dims.back().name = name;
  }
  return make(std::move(dims), *ranks_, rank_);
}

std::string Mesh::to_string() const {
  std::vector<std::string> dims;
  for (const MeshDim& dim : dims_) dims.push_back(fmt::format("{}={}", dim.name, dim.size));
  return fmt::format("mesh ({})", fmt::join(dims, ", "));
}

}  // namespace hocket
