#include "hocket/cost/collective_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "hocket/cost/machine.h"
#include "hocket/ir/file.h"
#include "support/captures.h"

namespace hocket {
namespace {

TEST(CollectiveTable, is_linear_between_sizes_and_constant_below) {
  auto table = CollectiveTable::make({100, 200, 400});
  ASSERT_TRUE(table->add(CollectiveKind::all_gather, 4, {10, 20, 60}));
  const auto at = [&](std::int64_t bytes) { return *table->nanoseconds(CollectiveKind::all_gather, 4, Bytes(bytes)); };
  EXPECT_EQ(at(0), 10);
  EXPECT_EQ(at(100), 10);
  EXPECT_EQ(at(150), 15);
  EXPECT_EQ(at(200), 20);
  EXPECT_EQ(at(300), 40);
  EXPECT_EQ(at(400), 60);
  EXPECT_EQ(at(500), 80);  // the last line goes on
  EXPECT_FALSE(table->nanoseconds(CollectiveKind::all_gather, 8, Bytes(100)));
  EXPECT_FALSE(table->nanoseconds(CollectiveKind::all_reduce, 4, Bytes(100)));
}

TEST(CollectiveTable, refuses_what_has_no_meaning) {
  EXPECT_FALSE(CollectiveTable::make({1}));
  EXPECT_FALSE(CollectiveTable::make({2, 1}));
  auto table = CollectiveTable::make({1, 2});
  EXPECT_FALSE(table->add(CollectiveKind::p2p, 1, {1, 1}));
  EXPECT_FALSE(table->add(CollectiveKind::p2p, 2, {1}));
  EXPECT_FALSE(table->add(CollectiveKind::p2p, 2, {1, -1}));
}

TEST(CollectiveTable, knows_the_rows_next_to_a_group_size) {
  auto table = CollectiveTable::make({1, 2});
  for (const std::int64_t ranks : {4, 8}) ASSERT_TRUE(table->add(CollectiveKind::all_gather, ranks, {1, 1}));
  ASSERT_TRUE(table->add(CollectiveKind::reduce_scatter, 2, {1, 1}));
  const auto near = table->neighbours(CollectiveKind::all_gather, 6);
  EXPECT_EQ(near.below, 4);
  EXPECT_EQ(near.above, 8);
  EXPECT_FALSE(table->neighbours(CollectiveKind::all_gather, 3).below);
  EXPECT_FALSE(table->neighbours(CollectiveKind::all_gather, 9).above);
  EXPECT_FALSE(table->neighbours(CollectiveKind::all_reduce, 4).above);
}

// What CollectiveTimes.ms of the judge evaluate.py gives.
struct Judged {
  CollectiveKind kind;
  std::int64_t ranks;
  std::int64_t bytes;
  double ms;
};
constexpr Judged judged[] = {
    {CollectiveKind::all_gather, 2, 0, 0.0072002},
    {CollectiveKind::all_gather, 4, 65, 0.008400308333333334},
    {CollectiveKind::all_gather, 8, 1000, 0.010806238036809817},
    {CollectiveKind::all_gather, 8, 2097152, 0.0238142},
    {CollectiveKind::all_gather, 16, 3000001, 0.1400622683203393},
    {CollectiveKind::all_gather, 32, 7340032, 0.30933224200371934},
    {CollectiveKind::all_gather, 64, 123456789, 2.3800598009719582},
    {CollectiveKind::all_gather, 128, 1048577, 0.210099248636579},
    {CollectiveKind::all_gather, 256, 33554431, 1.8724671662006047},
    {CollectiveKind::all_gather, 512, 68719476736, 404.0028751},
    {CollectiveKind::all_gather, 1024, 200000000000, 1053.4114529815088},
    {CollectiveKind::all_reduce, 2, 64, 0.0078005},
    {CollectiveKind::all_reduce, 4, 65, 0.010200708333333332},
    {CollectiveKind::all_reduce, 8, 1000, 0.015012405521472393},
    {CollectiveKind::all_reduce, 16, 3000001, 0.27172463054949164},
    {CollectiveKind::all_reduce, 32, 7340032, 0.607744288167156},
    {CollectiveKind::all_reduce, 64, 123456789, 4.7517196019439165},
    {CollectiveKind::all_reduce, 128, 1048577, 0.26758058695652176},
    {CollectiveKind::all_reduce, 256, 33554431, 2.2885261378881965},
    {CollectiveKind::all_reduce, 512, 68719476736, 807.9973503},
    {CollectiveKind::all_reduce, 1024, 200000000000, 2106.8145060630172},
    {CollectiveKind::all_to_all, 4, 65, 0.010200708333333332},
    {CollectiveKind::all_to_all, 8, 2097152, 0.0410285},
    {CollectiveKind::all_to_all, 16, 3000001, 0.26112463054949164},
    {CollectiveKind::all_to_all, 128, 1048577, 0.388098497273662},
    {CollectiveKind::all_to_all, 1024, 200000000000, 2105.4683060630173},
    {CollectiveKind::p2p, 2, 0, 0.0072002},
    {CollectiveKind::p2p, 8, 1000, 0.0072008852760736194},
    {CollectiveKind::p2p, 32, 7340032, 0.023943935599681717},
    {CollectiveKind::p2p, 1024, 200000000000, 2.383004084059123},
    {CollectiveKind::reduce_scatter, 2, 64, 0.0072002},
    {CollectiveKind::reduce_scatter, 8, 1000, 0.010806238036809817},
    {CollectiveKind::reduce_scatter, 16, 3000001, 0.1400622683203393},
    {CollectiveKind::reduce_scatter, 64, 123456789, 2.3800598009719582},
    {CollectiveKind::reduce_scatter, 256, 33554431, 1.8724671662006047},
    {CollectiveKind::reduce_scatter, 1024, 200000000000, 1053.4114529815088},
};

TEST(CollectiveTable, of_h100x8_is_the_one_of_the_judge) {
  const auto machine = find_machine("h100x8");
  ASSERT_TRUE(machine);
  for (const Judged& row : judged) {
    const auto ns = machine->collectives->nanoseconds(row.kind, row.ranks, Bytes(row.bytes));
    ASSERT_TRUE(ns) << name_of(row.kind) << "/" << row.ranks;
    EXPECT_NEAR(*ns / 1e6 / row.ms, 1, 1e-12) << name_of(row.kind) << "/" << row.ranks << " " << row.bytes;
  }
}

TEST(CollectiveTable, of_h100x8_has_every_number_of_the_shared_one) {
  if (shared_captures().empty()) GTEST_SKIP() << no_shared_captures;
  const auto folder = std::filesystem::path(shared_captures().front()).parent_path();
  const auto text = read_bytes(folder / "collective_times.json");
  ASSERT_TRUE(text);
  const auto shared = nlohmann::json::parse(*text);
  const auto machine = find_machine("h100x8");
  const CollectiveTable& table = *machine->collectives;
  const auto sizes = shared["sizes"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(std::vector(table.sizes().begin(), table.sizes().end()), sizes);
  EXPECT_EQ(table.rows().size(), shared["times"].size());
  for (const auto& [key, row] : table.rows()) {
    const auto& times = shared["times"][fmt::format("{}/{}", name_of(key.first), key.second)];
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(row[i] / 1e6 / times[i].get<double>(), 1, 1e-12);
  }
  // and the file itself can stand in a machine as it is
  std::string described = write_machine_json(Machine());
  described.insert(described.rfind('}'), ", \"collectives\": " + *text);
  const auto with_table = read_machine_json(described, "machine.json");
  ASSERT_TRUE(with_table) << with_table.error().to_string();
  EXPECT_EQ(with_table->collectives->rows().size(), 50U);
}

}  // namespace
}  // namespace hocket
