#include "thresholds.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "comm/calibrate.h"
#include "comm/flag.h"
#include "comm/tuning_file.h"
#include "hocket/base/env.h"

namespace hocket::comm_bench {

namespace {

constexpr double seconds = 20, quick_seconds = 8;  // for each number of ranks, as `hocket calibrate --seconds`

// As far as they differ from the defaults.
std::string text_of(const TuningTable& table, const std::vector<Setting>& settings) {
  const TuningTable defaults(processor_count());
  std::string text;
  for (const Setting& setting : settings) {
    const std::string own = differences(table.for_ranks(setting.ranks), defaults.for_ranks(setting.ranks));
    text += fmt::format("; {}: {}", setting.name, own.empty() ? "the defaults" : own);
  }
  return text;
}

}  // namespace

// Where hocket looks for thresholds from now on.
Result<std::string> Thresholds::make_folder() {
  HOCKET_TRY(folder_, ContestantsFolder::make());
  std::string path = folder_->folder_of("hocket");
  setenv("HOCKET_CACHE", path.c_str(), 1);
  return path;
}

Result<std::string> Thresholds::use_defaults() {
  HOCKET_CHECK(make_folder());
  return "hocket has its default thresholds";
}

Result<std::string> Thresholds::provide(const std::vector<Setting>& settings, bool quick) {
  const std::string& users = Env::get().cache;
  std::error_code ignored;
  if (!users.empty() && std::filesystem::exists(tuning_path(users), ignored))
    return fmt::format("hocket has the thresholds of {}{}", tuning_path(users),
                       text_of(load_tuning(users, processor_count()), settings));
  HOCKET_TRY(const std::string folder, make_folder());
  TuningTable table(processor_count());
  std::set<std::size_t> measured;
  for (const Setting& setting : settings) {
    const std::size_t row = TuningTable::row_of(setting.ranks);
    if (setting.ranks < 2 || !measured.insert(row).second) continue;
    HOCKET_TRY(const Calibration found, calibrate(setting.ranks, {quick ? quick_seconds : seconds, {}}));
    table.row(row) = found.tuning;
  }
  HOCKET_CHECK(save_tuning(table, folder));
  return "hocket has thresholds that were measured for this run, as hocket calibrate does" + text_of(table, settings);
}

}  // namespace hocket::comm_bench
