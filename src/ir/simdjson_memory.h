// simdjson tells by a code that there is no memory, and gives an empty copy of a text that it could not copy. Readers would take both
// for a wrong file: here they are std::bad_alloc, as everywhere else.
#pragma once

#include <simdjson.h>

#include <new>
#include <string_view>

namespace hocket {

inline simdjson::padded_string padded_copy(std::string_view text) {
  simdjson::padded_string copy(text);
  if (copy.size() != text.size()) throw std::bad_alloc();
  return copy;
}

inline void check_memory(simdjson::error_code code) {
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();
}

}  // namespace hocket
