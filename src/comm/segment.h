// Shared memory without a name: a sealed memfd, and its mapping.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

// Zeroed memory of exactly this size for ever: nobody who gets the descriptor can shrink it under the others' feet.
// Only this user may open it again (mode 0600). Pages cost memory only once they are touched, so the size may be far beyond
// what the machine has.
Result<FileDescriptor> make_segment(std::int64_t bytes);
// An error if the descriptor is not such a segment of this size.
Status check_segment(const FileDescriptor& segment, std::int64_t bytes);

std::int64_t page_size();
inline constexpr std::int64_t huge_page = std::int64_t{2} << 20;

// A segment at some address, unmapped when this goes.
class Mapping {
 public:
  Mapping() = default;
  // At a multiple of the huge page's size, so that huge pages of the segment can be mapped as such.
  static Result<Mapping> map(const FileDescriptor& segment, std::int64_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* begin() const { return begin_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* begin_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace hocket
