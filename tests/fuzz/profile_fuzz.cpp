// Profiles of kernels: whatever the bytes are, there is a profile or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/cost/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto profile = hocket::read_profile_json(text, "input"); !profile)
    hocket::fuzz::must_have_place(profile.error());
  return 0;
}
