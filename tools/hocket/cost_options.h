// The options of every command that needs times: which machine, which estimates, how much memory.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "hocket/compile/pass.h"
#include "hocket/cost/cost_model.h"

namespace hocket::tool {

struct CostFlags {
  std::string machine = "h100x8";
  std::string estimates = "captured";
  std::string profile;
  double compute_multiplier = 1.0;
  double communication_multiplier = 1.0;
  std::string memory_limit = "1.0x";

  void add_to(CLI::App& command);
  Result<CostOptions> options() const;
  Result<MemoryLimit> limit() const { return parse_memory_limit(memory_limit); }
};

}  // namespace hocket::tool
