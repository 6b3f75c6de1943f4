#include "hocket/base/env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace hocket {

namespace {

constexpr int widest_terminal = 10'000;  // beyond it the number is a mistake

// 0 for anything that is no sensible width.
int columns_from(std::string_view text) {
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns > 0 && columns <= widest_terminal ? columns : 0;
}

}  // namespace

Env Env::read() {
  Env env;
  if (const char* log = std::getenv("HOCKET_LOG"); log != nullptr && *log != '\0') env.log = log;
  if (const char* no_color = std::getenv("NO_COLOR"); no_color != nullptr && *no_color != '\0') env.color = false;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) env.columns = columns_from(columns);
  return env;
}

const Env& Env::get() {
  static const Env env = read();
  return env;
}

}  // namespace hocket
