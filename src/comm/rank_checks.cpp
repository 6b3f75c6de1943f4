#include "comm/rank_checks.h"

#include <algorithm>

namespace hocket {

std::optional<std::int32_t> rank_given_twice(Ranks ranks) {
  std::sort(ranks.begin(), ranks.end());
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  return twice == ranks.end() ? std::nullopt : std::optional(*twice);
}

}  // namespace hocket
