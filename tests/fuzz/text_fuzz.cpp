// Program text: whatever the bytes are, parsing ends with a program or an error, and a program survives printing.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (hocket::looks_like_program(text)) {
    if (const auto program = hocket::parse_program(text, "input")) hocket::fuzz::check(*program);
    else hocket::fuzz::must_have_place(program.error());
  } else {
    if (const auto graph = hocket::parse_graph(text, "input")) hocket::fuzz::check(*graph);
    else hocket::fuzz::must_have_place(graph.error());
  }
  return 0;
}
