// Chakra traces: whatever the bytes are, there is a trace that can be written and simulated, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/report/chakra.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto trace = read_chakra_bytes(bytes, "input");
  if (!trace) {
    fuzz::must_have_place(trace.error());
    return 0;
  }
  if (const auto program = sim_program(*trace); !program && program.error().message.empty())
    fuzz::violated("what can't be simulated is said", "");
  const auto again = read_chakra_bytes(chakra_bytes(*trace), "again");
  if (!again) fuzz::violated("a trace that was written is read", again.error().to_string());
  for (std::size_t i = 0; i < trace->nodes.size(); ++i) {
    const ChakraNode& node = trace->nodes[i];
    if (i >= again->nodes.size() || !(again->nodes[i] == node))
      fuzz::violated("bytes give the same nodes", fmt::format("node {} ({}) at {}", node.id, node.name, i));
  }
  return 0;
}
