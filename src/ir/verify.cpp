#include "hocket/ir/verify.h"

#include <array>

namespace hocket {

std::string_view name_of(ProblemKind kind) {
  static constexpr std::array<std::string_view, 11> names = {
      "name", "structure", "cycle", "order", "type", "storage", "mutation", "collective", "wait", "group", "memory"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Problem::to_string() const {
  return node.empty() ? fmt::format("{}: {}", name_of(kind), message)
                      : fmt::format("{}: {}: {}", node, name_of(kind), message);
}

Error to_error(const std::vector<Problem>& problems, std::string_view what, std::size_t most) {
  std::string text = fmt::format("{} {} in {}", problems.size(), problems.size() == 1 ? "problem" : "problems", what);
  for (std::size_t i = 0; i < problems.size() && i < most; ++i) text += "\n  " + problems[i].to_string();
  if (problems.size() > most) text += fmt::format("\n  … and {} more", problems.size() - most);
  return {ErrorKind::input, std::move(text), {}};
}

}  // namespace hocket
