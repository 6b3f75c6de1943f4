// Descriptions of machines: whatever the bytes are, there is a machine that a cost model can use, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/cost/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto machine = read_machine_json(text, "input");
  if (!machine) {
    fuzz::must_have_place(machine.error());
    return 0;
  }
  if (const Status sound = check(*machine); !sound)
    fuzz::violated("a machine that is read is sound", sound.error().to_string());
  const std::string json = write_machine_json(*machine);
  const auto again = read_machine_json(json, "again");
  if (!again) fuzz::violated("a machine that was written is read", again.error().to_string() + "\n" + json);
  if (!(*again == *machine)) fuzz::violated("JSON gives the same machine", json);
  return 0;
}
