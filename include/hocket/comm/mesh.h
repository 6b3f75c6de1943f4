// Ranks arranged in a grid with named dims, the last dim the fastest, as one rank sees it.
//
//   HOCKET_TRY(Mesh mesh, groups.mesh({{"dp", 2}, {"tp", 4}}));
//   mesh["tp"]          the 4 ranks that differ from this one in tp only
//   mesh[{"dp", "tp"}]  a slice with two dims
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/base/error.h"

namespace hocket {

using Ranks = std::vector<std::int32_t>;

struct MeshDim {
  std::string name;
  std::int32_t size = 1;
  friend bool operator==(const MeshDim&, const MeshDim&) = default;
};

// A value; copies share the list of ranks.
class Mesh {
 public:
  // `ranks` in row-major order, one for each place. `rank` is the one that looks at the mesh; it need not be in it, but
  // then the mesh has no slices.
  static Result<Mesh> make(std::vector<MeshDim> dims, Ranks ranks, std::int32_t rank);

  const std::vector<MeshDim>& dims() const { return dims_; }
  const Ranks& ranks() const { return *ranks_; }
  // Where a rank stands, one number for each dim; nothing if it is not in the mesh.
  std::optional<std::vector<std::int32_t>> coordinates(std::int32_t rank) const;

  // The part of the mesh that keeps this rank's coordinates in all other dims. Dims are named in the mesh's order.
  Result<Mesh> slice(std::span<const std::string_view> names) const;
  Result<Mesh> operator[](std::string_view name) const { return slice({&name, 1}); }
  Result<Mesh> operator[](std::initializer_list<std::string_view> names) const {
    return slice({names.begin(), names.size()});
  }
  // The same ranks with these adjacent dims as one, called `name` or, without one, "dp_tp".
  Result<Mesh> flatten(std::initializer_list<std::string_view> names, std::string name = "") const;

  // "mesh (dp=2, tp=4)", for messages.
  std::string to_string() const;

 private:
  Mesh() = default;
  Result<std::vector<std::size_t>> find_dims(std::span<const std::string_view> names) const;

  std::vector<MeshDim> dims_;
  std::shared_ptr<const Ranks> ranks_;
  std::int32_t rank_ = 0;
};

}  // namespace hocket
