// JSON: whatever the bytes are, reading ends with a graph or an error, and a graph survives writing.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto graph = hocket::read_graph_json(text, "input")) hocket::fuzz::check(*graph);
  else hocket::fuzz::must_have_place(graph.error());
  return 0;
}
