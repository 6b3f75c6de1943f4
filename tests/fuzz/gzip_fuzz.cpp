// gzip: damaged data is refused without taking more memory than it could fill, and what is compressed comes back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "hocket/ir/file.h"

namespace {

using hocket::fuzz::violated;

void check_compression(std::string_view plain) {
  const auto packed = hocket::gzip(plain);
  if (!packed) violated("bytes can be compressed", packed.error().to_string());
  const auto again = hocket::gunzip(*packed);
  if (!again) violated("compressed bytes can be decompressed", again.error().to_string());
  if (*again != plain) violated("decompressed bytes are the same", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most_growth = 1032;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto plain = hocket::gunzip(bytes)) {
    if (plain->size() > size * most_growth) violated("gzip grows by no more than deflate can", "");
    check_compression(*plain);
  } else if (plain.error().message.empty()) {
    violated("an error says what", "");
  }
  check_compression(bytes);
  return 0;
}
