#include "hocket/base/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hocket {

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference >= limit) return limit;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
    if (*std::min_element(row.begin(), row.end()) >= limit) return limit;
  }
  return std::min(row.back(), limit);
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t longest_name = 200;  // names beyond any real length are not worth the time
  if (name.size() > longest_name) return {};
  std::size_t best = name.size() / 3 + 1;
  std::string_view result;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate, best);
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

}  // namespace hocket
