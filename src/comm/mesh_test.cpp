#include "hocket/comm/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/random.h"

namespace hocket {
namespace {

using testing::ElementsAre;

Mesh mesh_of(std::vector<MeshDim> dims, std::int32_t rank, std::int32_t first_rank = 0) {
  std::int32_t places = 1;
  for (const MeshDim& dim : dims) places *= dim.size;
  Ranks ranks(static_cast<std::size_t>(places));
  std::iota(ranks.begin(), ranks.end(), first_rank);
  return Mesh::make(std::move(dims), std::move(ranks), rank).value();
}

std::string error_of(const Result<Mesh>& mesh) { return mesh ? "no error" : mesh.error().message; }

TEST(Mesh, a_slice_keeps_the_other_coordinates_of_this_rank) {
  const Mesh mesh = mesh_of({{"dp", 2}, {"tp", 4}}, 6);
  EXPECT_THAT(mesh["dp"]->ranks(), ElementsAre(2, 6));
  EXPECT_THAT(mesh["tp"]->ranks(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ((mesh[{"dp", "tp"}]->ranks()), mesh.ranks());
}

TEST(Mesh, a_slice_of_two_dims_keeps_their_names_and_order) {
  const Mesh mesh = mesh_of({{"pp", 2}, {"dp", 2}, {"tp", 2}}, 5);
  const Mesh slice = mesh[{"pp", "tp"}].value();
  EXPECT_THAT(slice.ranks(), ElementsAre(0, 1, 4, 5));
  EXPECT_EQ(slice.dims(), (std::vector<MeshDim>{{"pp", 2}, {"tp", 2}}));
  EXPECT_THAT(slice["pp"]->ranks(), ElementsAre(1, 5));
}

TEST(Mesh, slices_hold_exactly_the_ranks_with_the_same_other_coordinates) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<MeshDim> dims;
    for (const char* name : {"a", "b", "c", "d"}) {
      dims.push_back({name, static_cast<std::int32_t>(random.between(1, 4))});
    }
    Ranks ranks = mesh_of(dims, 0).ranks();
    random.shuffle(ranks);
    const std::int32_t here = random.pick(ranks);
    const Mesh mesh = Mesh::make(dims, ranks, here).value();
    std::vector<std::string_view> names;
    std::vector<bool> kept;
    for (const MeshDim& dim : dims) {
      kept.push_back(random.chance(50));
      if (kept.back()) names.push_back(dim.name);
    }
    if (names.empty()) continue;
    Ranks expected;
    for (const std::int32_t rank : ranks) {
      bool same = true;
      for (std::size_t dim = 0; dim < dims.size(); ++dim) {
        same = same && (kept[dim] || mesh.coordinates(rank)->at(dim) == mesh.coordinates(here)->at(dim));
      }
      if (same) expected.push_back(rank);
    }
    EXPECT_EQ(mesh.slice(names)->ranks(), expected) << "round " << round;
  }
}

TEST(Mesh, knows_where_a_rank_stands) {
  const Mesh mesh = mesh_of({{"dp", 2}, {"tp", 3}}, 10, 10);
  EXPECT_THAT(*mesh.coordinates(10), ElementsAre(0, 0));
  EXPECT_THAT(*mesh.coordinates(14), ElementsAre(1, 1));
  EXPECT_EQ(mesh.coordinates(0), std::nullopt);
}

TEST(Mesh, flattens_adjacent_dims) {
  const Mesh mesh = mesh_of({{"pp", 2}, {"dp", 2}, {"tp", 3}}, 7);
  const Mesh flat = mesh.flatten({"dp", "tp"}).value();
  EXPECT_EQ(flat.dims(), (std::vector<MeshDim>{{"pp", 2}, {"dp_tp", 6}}));
  EXPECT_THAT(flat["dp_tp"]->ranks(), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(mesh.flatten({"pp", "dp", "tp"}, "all")->dims(), (std::vector<MeshDim>{{"all", 12}}));
  EXPECT_EQ(error_of(mesh.flatten({"pp", "tp"})), "dims pp, tp of mesh (pp=2, dp=2, tp=3) are not adjacent");
  EXPECT_EQ(error_of(mesh.flatten({"dp", "tp"}, "pp")), "the mesh has two dims named pp");
}

TEST(Mesh, names_what_is_wrong_with_a_slice) {
  const Mesh mesh = mesh_of({{"data", 2}, {"tensor", 2}}, 0);
  EXPECT_EQ(error_of(mesh["tensro"]), "mesh (data=2, tensor=2) has no dim tensro; did you mean tensor?");
  EXPECT_EQ(error_of(mesh["x"]), "mesh (data=2, tensor=2) has no dim x");
  EXPECT_EQ((error_of(mesh[{"tensor", "data"}])), "dims tensor, data are not in the order of mesh (data=2, tensor=2)");
  EXPECT_EQ((error_of(mesh[{"data", "data"}])), "dims data, data are not in the order of mesh (data=2, tensor=2)");
  EXPECT_EQ(error_of(mesh_of({{"dp", 2}}, 9)["dp"]), "rank 9 is not a member of mesh (dp=2)");
}

TEST(Mesh, names_what_is_wrong_with_its_shape) {
  EXPECT_EQ(error_of(Mesh::make({}, {}, 0)), "a mesh needs at least one dim");
  EXPECT_EQ(error_of(Mesh::make({{"", 2}}, {0, 1}, 0)), "dim 0 of the mesh has no name");
  EXPECT_EQ(error_of(Mesh::make({{"dp", 0}}, {}, 0)), "dim dp of the mesh has size 0, expected at least 1");
  EXPECT_EQ(error_of(Mesh::make({{"dp", 2}, {"dp", 1}}, {0, 1}, 0)), "the mesh has two dims named dp");
  EXPECT_EQ(error_of(Mesh::make({{"dp", 2}, {"tp", 2}}, {0, 1, 2}, 0)),
            "mesh (dp=2, tp=2) has 4 places but 3 ranks were given");
  EXPECT_EQ(error_of(Mesh::make({{"dp", 2}}, {1, 1}, 0)), "rank 1 stands twice in mesh (dp=2)");
  const std::int32_t huge = 2'000'000'000;
  EXPECT_EQ(error_of(Mesh::make({{"a", huge}, {"b", huge}, {"c", huge}}, {0}, 0)),
            "the mesh has more places than there can be ranks");
}

}  // namespace
}  // namespace hocket
