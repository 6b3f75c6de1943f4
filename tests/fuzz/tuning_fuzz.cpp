// Thresholds that `hocket calibrate` has stored, or a peer has sent: whatever the bytes are, there is a table or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "comm/tuning_file.h"
#include "fuzz/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = parse_tuning(text, "agreed");
  if (!table) {
    if (table.error().message.empty()) fuzz::violated("an error says what", std::string(text));
    return 0;
  }
  const auto again = parse_tuning(to_json(*table, "agreed"), "agreed");
  if (!again || !(*again == *table)) fuzz::violated("JSON gives the same table", to_json(*table, "agreed"));
  return 0;
}
