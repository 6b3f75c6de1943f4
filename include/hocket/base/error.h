// Errors of a closed set of kinds, and Result<T>, which every fallible function returns.
//
//   Result<Graph> graph = read_graph("step.json.gz");
//   if (!graph) return fail(graph.error());
//
// A message says what was got, what was expected and what to do next, in lower case, without a full stop.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

#ifdef HOCKET_FMT_MAJOR  // comes with hocket::core and hocket-core.pc
static_assert(
    FMT_VERSION / 10000 == HOCKET_FMT_MAJOR,
    "these headers of fmt are of another major version than the fmt that hocket was built with; libtorch brings "
    "one of its own: link with hocket::hocket, or put hocket's fmt before libtorch's in the include path");
#endif

namespace hocket {

enum class ErrorKind {
  usage,     // a wrong call or command line: the caller can fix it
  input,     // a file or program that is malformed or inconsistent: whoever made it can fix it
  system,    // the operating system refused: no such file, no space, no memory
  peer,      // another rank died, is stuck, or called something else
  internal,  // a defect of hocket itself
};

const char* name_of(ErrorKind kind);

// `where` is as precise as is known: "step.hk:12:7", "node all_reduce_3", or empty.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string where;

  // "step.hk:12:7: unknown value %y", what a user gets to see.
  std::string to_string() const;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// fail(kind, format, arguments…) makes the error that a Result-returning function returns.
template <class... Args>
tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...), {}});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// The same error with a place, unless it has one already.
inline Error at(Error error, std::string where) {
  if (error.where.empty()) error.where = std::move(where);
  return error;
}

}  // namespace hocket

// HOCKET_TRY(auto x, f()) declares x from a Result, or returns its error from the enclosing function.
// HOCKET_CHECK(g()) does the same for a Status.
#define HOCKET_CONCAT_INNER(a, b) a##b
#define HOCKET_CONCAT(a, b) HOCKET_CONCAT_INNER(a, b)
#define HOCKET_TRY_INNER(result, declaration, expression)        \
  auto result = (expression);                                    \
  if (!result) return ::hocket::fail(std::move(result).error()); \
  declaration = std::move(*result)
#define HOCKET_TRY(declaration, expression) \
  HOCKET_TRY_INNER(HOCKET_CONCAT(hocket_result_, __LINE__), declaration, expression)
#define HOCKET_CHECK(expression)                               \
  do {                                                         \
    if (auto hocket_status = (expression); !hocket_status) {   \
      return ::hocket::fail(std::move(hocket_status).error()); \
    }                                                          \
  } while (false)
