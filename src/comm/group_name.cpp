#include <fmt/format.h>

#include "hocket/base/digest.h"
#include "hocket/comm/group.h"

namespace hocket {

namespace {

// Longer names are no help in a message.
constexpr std::size_t longest_name = 80;

// Where the run of equal steps that starts at `first` ends (one past it).
std::size_t end_of_run(const Ranks& ranks, std::size_t first) {
  if (first + 1 >= ranks.size()) return ranks.size();
  const std::int32_t step = ranks[first + 1] - ranks[first];
  std::size_t end = first + 2;
  while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
  return end;
}

std::string digest_name(const Ranks& ranks) {
  Digester digester;
  for (const std::int32_t rank : ranks) digester.add(std::int64_t{rank});
  return fmt::format("ranks:{}@{}", ranks.size(), digester.finish().to_string());
}

}  // namespace

std::string canonical_group_name(const Ranks& ranks) {
  std::string name = "ranks:";
  for (std::size_t first = 0; first < ranks.size();) {
    if (first > 0) name += ',';
    std::size_t end = end_of_run(ranks, first);
    // Two ranks far apart are no run: 0,9 and not 0-9/9.
    const std::int32_t step = first + 1 < ranks.size() ? ranks[first + 1] - ranks[first] : 1;
    if (end - first == 1 || (end - first == 2 && step > 1)) {
      name += fmt::format("{}", ranks[first]);
      end = first + 1;
    } else {
      name += fmt::format("{}-{}", ranks[first], ranks[end - 1]);
      if (step > 1) name += fmt::format("/{}", step);
    }
    if (name.size() > longest_name) return digest_name(ranks);
    first = end;
  }
  return name;
}

}  // namespace hocket
