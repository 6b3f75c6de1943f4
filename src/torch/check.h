// Errors of calls on tensors, as exceptions.
#pragma once

#include <utility>

#include "hocket/torch/async_tensor.h"

namespace hocket {

// fail_call("all_reduce", "group {} …", …) throws CollectiveError{usage, "all_reduce: group …"}.
template <class... Args>
[[noreturn]] void fail_call(const char* op, fmt::format_string<Args...> format, Args&&... args) {
  throw CollectiveError(
      {ErrorKind::usage, fmt::format("{}: {}", op, fmt::format(format, std::forward<Args>(args)...)), ""});
}

template <class T>
T value_or_throw(const char* op, Result<T> result) {
  if (!result) throw CollectiveError({result.error().kind, fmt::format("{}: {}", op, result.error().to_string()), ""});
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace hocket
