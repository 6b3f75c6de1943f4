// Traces of PyTorch's profiler: whatever the bytes are, there is a trace or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/report/kineto.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = hocket::read_kineto_json(text, "input");
  if (!trace) {
    hocket::fuzz::must_have_place(trace.error());
    return 0;
  }
  for (const auto& [call, times] : trace->calls) {
    if (times.count == 0) hocket::fuzz::violated("a call that is listed was made", call);
  }
  return 0;
}
