#include "comm/slurm_tasks.h"

#include <algorithm>
#include <charconv>

namespace hocket {

namespace {

// Takes a positive number from the front of the text.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::optional<std::int32_t> tasks_of_node(std::string_view list, std::int32_t node) {
  while (!list.empty()) {
    const std::optional<std::int32_t> tasks = take_number(list);
    if (!tasks) return std::nullopt;
    std::optional<std::int32_t> nodes = 1;
    if (take(list, "(x")) {
      nodes = take_number(list);
      if (!nodes || !take(list, ")")) return std::nullopt;
    }
    if (node < *nodes) return tasks;
    node -= *nodes;
    if (!list.empty() && !take(list, ",")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hocket
