#include "hocket/schedule/overlap.h"

#include <array>

#include "schedule/overlap_search.h"

namespace hocket {

namespace {
constexpr std::array<Effort, 3> efforts = {Effort::fast, Effort::standard, Effort::max};
}

std::string_view name_of(Effort effort) {
  switch (effort) {
    case Effort::fast: return "fast";
    case Effort::max: return "max";
    case Effort::standard: break;
  }
  return "default";
}

std::optional<Effort> effort_from_name(std::string_view name) {
  for (const Effort effort : efforts) {
    if (name_of(effort) == name) return effort;
  }
  return std::nullopt;
}

OverlapPlan plan_overlap(const StepGraph& steps, const OverlapOptions& options) {
  return overlap::OverlapSearch(steps, options).run();
}

std::vector<StepIndex> early_steps(const StepGraph& steps, const OverlapOptions& options) {
  return overlap::OverlapSearch(steps, options).early_steps();
}

}  // namespace hocket
