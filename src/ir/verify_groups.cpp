#include "ir/verify_groups.h"

#include <algorithm>
#include <unordered_set>

namespace hocket {

void verify_groups(std::span<const Group> groups, std::int64_t world_size, std::vector<Problem>& problems) {
  std::unordered_set<std::string> names;
  for (const Group& group : groups) {
    const auto report = [&](std::string message) {
      problems.push_back({ProblemKind::group, "@" + group.name, std::move(message)});
    };
    if (!names.insert(group.name).second) report("two groups have this name");
    if (group.ranks.empty()) report("it has no ranks");
    std::vector<Rank> ranks = group.ranks;
    std::sort(ranks.begin(), ranks.end());
    if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end()) {
      report(fmt::format("rank {} is in it twice", twice->value));
    }
    for (const Rank rank : ranks) {
      if (rank.value < 0 || (world_size >= 0 && rank.value >= world_size)) {
        report(fmt::format("rank {} is not in the world of {} ranks", rank.value, world_size));
        break;
      }
    }
  }
}

std::string describe(const TypeView& type, const SymbolTable& symbols, bool with_layout) {
  const auto list = [&](Dims dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + symbols.to_string(dims[i]);
    return text + "]";
  };
  std::string text = std::string(short_name(type.dtype)) + list(type.shape);
  if (with_layout) text += " strides" + list(type.strides) + " offset " + symbols.to_string(type.offset);
  return text;
}

}  // namespace hocket
