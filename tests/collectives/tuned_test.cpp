// What `hocket calibrate` has found is what ranks use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "comm/tuning_file.h"
#include "ranks.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

constexpr std::int64_t count = 1024;

// What 3 ranks with this row of thresholds say.
std::vector<std::string> run_tuned(const Tuning& row, const std::function<std::string(World&)>& body) {
  const TemporaryFolder temporary;
  TuningTable table;
  table.row(TuningTable::row_of(3)) = row;
  EXPECT_TRUE(save_tuning(table, temporary.path()));
  setenv("HOCKET_CACHE", temporary.path().c_str(), 1);
  auto said = run_world(Kind::processes, 3, body);
  unsetenv("HOCKET_CACHE");
  return said;
}

// What was used for the last call of the group, or what was wrong with it.
std::string used_for(const Work& work, const World& world, const Communicator& group) {
  if (const Status status = work.wait(); !status) return status.error().message;
  const auto report = nlohmann::json::parse(group.flight_report().value());
  return report.at("places").at(static_cast<std::size_t>(world.rank())).at("calls").back().at("used");
}

TEST(Tuned, thresholds_of_the_cache_change_the_algorithm_of_all_ranks) {
  Tuning row;
  row.one_shot_until = 0;
  const auto said = run_tuned(row, [](World& world) {
    const Communicator group = group_of(world);
    std::vector<float> data(count, 1.0F);
    return used_for(group.all_reduce(data.data(), data.data(), count, Dtype::f32, ReduceOp::sum, blocking()), world,
                    group);
  });
  for (const std::string& used : said) EXPECT_EQ(used, "two_shot");
}

// A process reads its environment once: both sizes in one world.
TEST(Tuned, a_reduce_scatter_reads_symmetric_memory_where_it_lies_from_its_threshold_on) {
  Tuning row;
  row.pulling_from = 3 * count * 4;
  const auto said = run_tuned(row, [](World& world) -> std::string {
    const Communicator group = group_of(world);
    const Result<SymmetricBuffer> buffer = group.allocate(Bytes(3 * count * 4));
    if (!buffer) return buffer.error().message;
    auto* const input = reinterpret_cast<float*>(buffer->data());
    std::string all;
    for (const std::int64_t elements : {count - 1, count}) {
      std::fill_n(input, 3 * elements, static_cast<float>(world.rank() + 1));
      std::vector<float> output(static_cast<std::size_t>(elements));
      const Work work = group.reduce_scatter(input, output.data(), elements, Dtype::f32, ReduceOp::sum, blocking());
      all += used_for(work, world, group) + " ";
      if (std::ranges::count(output, 6.0F) != elements) all += "with another sum ";
    }
    return all;
  });
  for (const std::string& used : said) EXPECT_EQ(used, "automatic symmetric ");
}

}  // namespace
}  // namespace hocket
