// Memory that every rank of a group has at the same offset, each rank's part mapped by all of them.
//
//   HOCKET_TRY(SymmetricMemory memory, SymmetricMemory::create(std::move(link)));
//   HOCKET_TRY(std::int64_t offset, memory.allocate(Bytes(4096), deadline));
//   memory.at(peer, offset)   the peer's 4096 bytes; memory.at(memory.rank(), offset) one's own
#pragma once

#include <cstdint>
#include <vector>

#include "comm/first_fit.h"
#include "comm/host_link.h"
#include "comm/segment.h"
#include "hocket/base/digest.h"
#include "hocket/base/units.h"

namespace hocket {

struct SymmetricMemoryOptions {
  Bytes most{std::int64_t{64} << 30};          // addresses reserved for each rank; costs no memory
  Bytes first_segment{std::int64_t{1} << 20};  // later ones double the whole
};

// Used by one thread at a time. All ranks make the same calls with the same sizes in the same order; most of them talk to
// nobody. The next one that makes the memory grow finds out about a difference and fails on all ranks.
class SymmetricMemory {
 public:
  static Result<SymmetricMemory> create(HostLink link, SymmetricMemoryOptions options = {});

  // The same offset on all ranks, a multiple of 128. Fresh memory is zero, reused memory is as it was left. What was allocated
  // before stays where it is.
  Result<std::int64_t> allocate(Bytes bytes, Deadline deadline);
  Status release(std::int64_t offset);

  // Stays the same for the life of this object.
  std::byte* at(std::int32_t rank, std::int64_t offset) const {
    return parts_[static_cast<std::size_t>(rank)].begin() + offset;
  }
  std::int32_t rank() const { return link_.rank(); }
  std::int32_t size() const { return link_.size(); }
  Bytes mapped() const { return Bytes(places_.size()); }
  HostLink& link() { return link_; }

 private:
  SymmetricMemory(HostLink link, SymmetricMemoryOptions options) : link_(std::move(link)), options_(options) {}
  Status grow(std::int64_t bytes, Deadline deadline);
  Status map_all(const std::vector<Packet>& all, std::int64_t more);

  HostLink link_;
  SymmetricMemoryOptions options_;
  std::vector<AddressRange> parts_;
  FirstFit places_;
  std::int64_t calls_ = 0;
  Digest history_;  // of all calls so far
};

}  // namespace hocket
