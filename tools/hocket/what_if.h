// "What if": a change of the machine or of the memory limit, as a user writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hocket/compile/pass.h"
#include "hocket/cost/cost_model.h"

namespace hocket::tool {

// "bandwidth*2", "bandwidth.network/2", "latency*0.5", "compute*1.3", "memory-limit=1.1x".
struct WhatIf {
  enum class What { bandwidth, latency, compute, memory_limit };
  std::string text;
  What what = What::bandwidth;
  std::string level;  // of the topology; empty: all
  double factor = 1;
  MemoryLimit limit;

  bool changes_links() const { return what == What::bandwidth || what == What::latency; }
  // A level that the machine does not have is an error that lists those it has.
  Status apply(CostOptions& cost) const;
};
Result<WhatIf> parse_what_if(std::string_view text);

}  // namespace hocket::tool
