// The memory that the ranks of one host share: each has a segment of its own, and all see the segments of all.
//
//   HOCKET_TRY(HostMemory memory, HostMemory::create(link, Sharing::processes, deadline));
//   HOCKET_TRY(std::int64_t offset, memory.allocate(Bytes(4096)));
//   memory.at(memory.self(), offset)   mine; others find it at memory.at(my index, offset) once they know the offset
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/first_fit.h"
#include "comm/host_link.h"
#include "comm/segment.h"
#include "hocket/base/units.h"

namespace hocket {

// Threads of one process have the same addresses, so that tools which watch memory by address see what they share.
enum class Sharing { processes, threads };

// Segments are far larger than they will ever be filled, so they never grow and nothing is ever mapped again.
class HostMemory {
 public:
  // Collective.
  static Result<HostMemory> create(HostLink& link, Sharing sharing, Deadline deadline);

  // Zeroed memory in this rank's own segment, in whole pages, or in huge pages for what is larger than one. Any thread may
  // call it.
  Result<std::int64_t> allocate(Bytes bytes);
  void release(std::int64_t offset);
  // Gives the pages in a part of what was allocated back to the system, if it is as large as a huge page; they are zero when they are
  // touched again.
  void drop_pages(std::int64_t offset, std::int64_t bytes);

  std::byte* at(std::int32_t index, std::int64_t offset) const {
    return begins_[static_cast<std::size_t>(index)] + offset;
  }
  // Where in this rank's own segment it lies, if it does.
  std::optional<std::int64_t> offset_of(const void* address) const;
  std::int32_t self() const { return self_; }
  Bytes used() const;  // of this rank's own segment

 private:
  HostMemory() = default;
  // Not movable by itself; the places are.
  struct Places {
    std::mutex mutex;  // guards what follows
    FirstFit free;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> used;  // offset -> (start of its place, bytes)
  };

  std::int32_t self_ = 0;
  FileDescriptor segment_;  // mine
  // By rank. Threads share theirs, so that what a rank leaves behind stays until the last one is gone.
  std::vector<std::shared_ptr<const Mapping>> mappings_;
  std::vector<std::byte*> begins_;
  std::unique_ptr<Places> places_ = std::make_unique<Places>();
};

}  // namespace hocket
