// What strangers may send to a rank that waits for others, and what a variable may say of where they meet.
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/meeting.h"
#include "comm/rendezvous.h"
#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto hello = Hello::from_bytes(bytes); hello && hello->to_bytes() != bytes)
    fuzz::violated("a greeting is what was sent", bytes);
  const auto place = from_variable(bytes);
  if (!place && place.error().message.empty()) fuzz::violated("an error says what", bytes);
  if (!place) return 0;
  const auto again = from_variable(to_variable(*place));
  if (!again || again->name != place->name || again->token != place->token)
    fuzz::violated("a variable gives the same place", bytes);
  return 0;
}
