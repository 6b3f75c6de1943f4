// What `hocket calibrate` has found is what ranks use.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "comm/tuning_file.h"
#include "ranks.h"
#include "support/temporary_folder.h"

namespace hocket {
namespace {

TEST(Tuned, thresholds_of_the_cache_change_the_algorithm_of_all_ranks) {
  const TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  TuningTable table;
  table.row(TuningTable::row_of(3)).one_shot_until = 0;
  ASSERT_TRUE(save_tuning(table, folder));
  setenv("HOCKET_CACHE", folder.c_str(), 1);
  const auto said = run_world(Kind::processes, 3, [](World& world) -> std::string {
    const Communicator group = group_of(world);
    std::vector<float> data(1024, 1.0F);
    const Work work = group.all_reduce(data.data(), data.data(), 1024, Dtype::f32, ReduceOp::sum, blocking());
    if (const Status status = work.wait(); !status) return status.error().message;
    const auto report = nlohmann::json::parse(group.flight_report().value());
    return report.at("places").at(static_cast<std::size_t>(world.rank())).at("calls").at(0).at("used");
  });
  for (const std::string& used : said) EXPECT_EQ(used, "two_shot");
  unsetenv("HOCKET_CACHE");
}

}  // namespace
}  // namespace hocket
