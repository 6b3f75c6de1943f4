// Lists of passes and memory limits, as they are typed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/compile/pass.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto passes = parse_passes(text); !passes && passes.error().message.empty())
    fuzz::violated("an error says what", std::string(text));
  if (const auto limit = parse_memory_limit(text); !limit && limit.error().message.empty())
    fuzz::violated("an error says what", std::string(text));
  return 0;
}
