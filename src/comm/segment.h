// Shared memory without a name: a sealed memfd, and address space that segments are mapped into one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

// Zeroed memory of exactly this size for ever: nobody who gets the descriptor can shrink it under the others' feet.
// Only this user may open it again (mode 0600).
Result<FileDescriptor> make_segment(std::int64_t bytes);
// An error if the descriptor is not such a segment of this size.
Status check_segment(const FileDescriptor& segment, std::int64_t bytes);

std::int64_t page_size();

// Addresses that are kept for segments. Costs no memory. Unmaps all when it goes.
class AddressRange {
 public:
  AddressRange() = default;
  static Result<AddressRange> reserve(std::int64_t bytes);
  AddressRange(AddressRange&& other) noexcept;
  AddressRange& operator=(AddressRange&& other) noexcept;
  ~AddressRange();

  std::byte* begin() const { return begin_; }
  std::int64_t bytes() const { return bytes_; }
  // `offset` is a multiple of the page size and nothing there is in use.
  Status map(const FileDescriptor& segment, std::int64_t offset, std::int64_t bytes);

 private:
  std::byte* begin_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace hocket
