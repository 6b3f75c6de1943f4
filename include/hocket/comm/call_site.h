// Where in the source a call was made, for error messages and flight records.
//
//   Work barrier(CallSite site = CallSite::current());   // the caller's line
#pragma once

#include <cstdint>

namespace hocket {

// As std::source_location, which clang++ has only from 16 on.
struct CallSite {
  const char* file = "";  // a literal
  std::uint32_t line = 0;

  static constexpr CallSite current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace hocket
