// What the two sides of a meeting say to each other. HostLink::meet() is the way in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/host_link.h"

namespace hocket {

// The first packet of a client.
struct Hello {
  std::array<std::uint8_t, 32> token{};
  std::int32_t rank = 0;
  std::int32_t size = 0;

  std::string to_bytes() const;
  // Nothing if it is no hello of this version.
  static std::optional<Hello> from_bytes(const std::string& bytes);
};

// Takes the same time wherever the first difference is.
bool same_token(const std::array<std::uint8_t, 32>& a, const std::array<std::uint8_t, 32>& b);

// Every other packet begins with one of these.
inline constexpr char parcel_mark = 'P';
inline constexpr char failure_mark = 'F';  // and the reason follows

// Waits at the place until all ranks 1 … size-1 have come. Index 0 of the result is invalid.
Result<std::vector<FileDescriptor>> receive_ranks(const MeetingPlace& place, std::int32_t size, Deadline deadline);
// Goes to the place, and returns when all have come.
Result<FileDescriptor> go_to(const MeetingPlace& place, std::int32_t rank, std::int32_t size, Deadline deadline);

}  // namespace hocket
