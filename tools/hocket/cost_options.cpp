#include "cost_options.h"

namespace hocket::tool {

void CostFlags::add_to(CLI::App& command) {
  command.add_option("--machine", machine, "a ready-made machine (h100x8, a100x8, cpu) or the file of a description")
      ->capture_default_str();
  command
      .add_option("--estimates", estimates,
                  "captured: the times in the file go first; machine: all from the description")
      ->check(CLI::IsMember({"captured", "machine"}))
      ->capture_default_str();
  command.add_option("--profile", profile, "a file of measured times");
  command.add_option("--compute-multiplier", compute_multiplier, "of all compute times")->capture_default_str();
  command.add_option("--communication-multiplier", communication_multiplier, "of all communication times")
      ->capture_default_str();
  command.add_option("--memory-limit", memory_limit, "a multiple of the original peak (1.05x) or a size (12GiB)")
      ->capture_default_str();
}

Result<CostOptions> CostFlags::options() const {
  CostOptions options;
  HOCKET_TRY(options.machine, find_machine(machine));
  options.captured = estimates == "captured";
  if (!profile.empty()) {
    HOCKET_TRY(options.profile, read_profile(profile));
  }
  options.compute_multiplier = compute_multiplier;
  options.communication_multiplier = communication_multiplier;
  HOCKET_CHECK(check(options));
  return options;
}

}  // namespace hocket::tool
