// The symmetric memory of one group: places that every rank has at the same offset. It grows by chunks, each of which lies
// somewhere else in every rank's segment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/first_fit.h"
#include "comm/rounds.h"
#include "comm/transport.h"
#include "hocket/comm/symmetric_buffer.h"

namespace hocket {

// Lets the memory go when it goes itself.
class SymmetricBlock {
 public:
  SymmetricBlock(std::int64_t offset, Bytes bytes, std::int32_t place, std::vector<std::byte*> parts,
                 std::function<void(std::int64_t)> release)
      : offset_(offset), bytes_(bytes), place_(place), parts_(std::move(parts)), release_(std::move(release)) {}
  ~SymmetricBlock() { release_(offset_); }
  SymmetricBlock(const SymmetricBlock&) = delete;
  SymmetricBlock& operator=(const SymmetricBlock&) = delete;

  std::int64_t offset() const { return offset_; }
  Bytes bytes() const { return bytes_; }
  std::int32_t place() const { return place_; }
  const std::vector<std::byte*>& parts() const { return parts_; }

 private:
  std::int64_t offset_;
  Bytes bytes_;
  std::int32_t place_;
  std::vector<std::byte*> parts_;  // by place of the group; null on other hosts
  std::function<void(std::int64_t)> release_;
};

// All ranks make the same calls in the same order.
class SymmetricHeap {
 public:
  explicit SymmetricHeap(Rounds& rounds) : rounds_(&rounds) {}
  ~SymmetricHeap();

  // Collective, within the rounds of one call. Detects ranks that released something else before. What all have released, and
  // is not taken again at once, gives its huge pages back to the system now: before, some rank may still read the parts of others.
  Result<SymmetricPlace> allocate(std::int64_t bytes);
  // Any thread.
  void release(std::int64_t offset);

  // Where an address of this rank lies, counted from the start of the group's memory.
  std::optional<std::int64_t> offset_of(const void* address) const;
  // The same place on another rank of the group.
  std::byte* at(std::int32_t place, std::int64_t offset) const;

 private:
  struct Chunk {
    std::int64_t start = 0;  // first offset
    FirstFit places;
    std::vector<std::int64_t> bases;  // by place: where it lies in the segment
  };
  const Chunk& chunk_of(std::int64_t offset) const;
  Result<SymmetricPlace> take(std::int64_t bytes);
  Result<SymmetricPlace> grow_and_take(std::int64_t bytes);
  SymmetricPlace place_in(const Chunk& chunk, std::int64_t inside) const;
  std::int64_t base_of(const Chunk& chunk) const { return chunk.bases[static_cast<std::size_t>(rounds_->place())]; }
  void drop_released_pages();

  Rounds* rounds_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Chunk> chunks_;
  std::uint64_t history_ = 0;              // of all that was allocated and released
  std::vector<FirstFit::Range> released_;  // since the last allocation, counted from the start of the group's memory
};

}  // namespace hocket
