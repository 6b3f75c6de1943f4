#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "comm/meeting.h"

namespace hocket {

namespace {

constexpr std::string_view greeting = "hocket-1";  // changes when the protocol does
constexpr std::size_t hello_size = greeting.size() + 32 + 2 * sizeof(std::int32_t);

}  // namespace

Result<MeetingPlace> MeetingPlace::random() {
  std::array<std::uint8_t, 16> name{};
  MeetingPlace place;
  // Up to 256 bytes come whole or not at all.
  if (getrandom(name.data(), name.size(), 0) < 0 || getrandom(place.token.data(), place.token.size(), 0) < 0) {
    return fail(ErrorKind::system, "can't get random bytes: {}", std::strerror(errno));
  }
  place.name = "hocket-";
  for (const std::uint8_t byte : name) place.name += fmt::format("{:02x}", byte);
  return place;
}

std::string Hello::to_bytes() const {
  std::string bytes(greeting);
  bytes.append(reinterpret_cast<const char*>(token.data()), token.size());
  bytes.append(reinterpret_cast<const char*>(&rank), sizeof rank);
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes;
}

std::optional<Hello> Hello::from_bytes(const std::string& bytes) {
  if (bytes.size() != hello_size || !bytes.starts_with(greeting)) return std::nullopt;
  Hello hello;
  const char* at = bytes.data() + greeting.size();
  std::memcpy(hello.token.data(), at, hello.token.size());
  std::memcpy(&hello.rank, at + hello.token.size(), sizeof hello.rank);
  std::memcpy(&hello.size, at + hello.token.size() + sizeof hello.rank, sizeof hello.size);
  return hello;
}

bool same_token(const std::array<std::uint8_t, 32>& a, const std::array<std::uint8_t, 32>& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace hocket
