#include "comm/symmetric_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace hocket {

namespace {

constexpr std::int64_t smallest_chunk = std::int64_t{1} << 20;

std::uint64_t after(std::uint64_t history, std::int64_t what) {
  return std::rotl((history ^ static_cast<std::uint64_t>(what)) * 0x9e3779b97f4a7c15ULL, 31);
}

// Where the kernel can: huge pages need fewer faults and fewer entries of the address cache. Only whole ones, and only while nobody
// uses the memory; a refusal leaves ordinary pages.
void use_huge_pages(std::byte* begin, std::int64_t bytes) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % huge_page);
  const std::int64_t before = over == 0 ? 0 : huge_page - over;
  if (bytes - before < huge_page) return;
  const auto whole = static_cast<std::size_t>((bytes - before) / huge_page * huge_page);
  if (madvise(begin + before, whole, MADV_POPULATE_WRITE) == 0) madvise(begin + before, whole, MADV_COLLAPSE);
}

// How much of a new chunk gets huge pages, if so much of it is taken. All of the last page, which nobody else uses yet: but what is taken
// shall not take much more memory than it has bytes, unless it is small, where a huge page is worth most.
std::int64_t with_huge_pages(std::int64_t bytes) {
  constexpr std::int64_t small = 2 * huge_page;
  constexpr std::int64_t most_waste = 32;  // one part in so many
  const std::int64_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
  return bytes <= small || (rounded - bytes) * most_waste <= bytes ? rounded : bytes;
}

}  // namespace

SymmetricHeap::~SymmetricHeap() {
  for (const Chunk& chunk : chunks_) {
    rounds_->host().memory().release(base_of(chunk));
  }
}

Result<SymmetricPlace> SymmetricHeap::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  HOCKET_CHECK(rounds_->open());
  rounds_->post(history_ | 1U);
  HOCKET_CHECK(rounds_->take_all());
  if (!rounds_->notes_are(history_ | 1U)) {
    Error error{
        ErrorKind::peer,
        "ranks have released different symmetric buffers: they must let go of the same ones before each allocation",
        ""};
    rounds_->fail_all(error);
    return fail(std::move(error));
  }
  Result<SymmetricPlace> place = take(bytes);
  drop_released_pages();
  return place;
}

Result<SymmetricPlace> SymmetricHeap::take(std::int64_t bytes) {
  for (Chunk& chunk : chunks_) {
    const auto inside = chunk.places.take(bytes);
    if (!inside) continue;
    history_ = after(history_, chunk.start + *inside);
    use_huge_pages(rounds_->at(rounds_->place(), base_of(chunk) + *inside), bytes);  // it may have lost them
    return place_in(chunk, *inside);
  }
  return grow_and_take(bytes);
}

void SymmetricHeap::drop_released_pages() {
  for (const auto& [offset, bytes] : released_) {
    const Chunk& chunk = chunk_of(offset);
    for (const FirstFit::Range& range : chunk.places.free_around({offset - chunk.start, bytes})) {
      rounds_->host().memory().drop_pages(base_of(chunk) + range.offset, range.bytes);
    }
  }
  released_.clear();
}

Result<SymmetricPlace> SymmetricHeap::grow_and_take(std::int64_t bytes) {
  const std::int64_t start = chunks_.empty() ? 0 : chunks_.back().start + chunks_.back().places.size();
  const std::int64_t needed = std::max(bytes, std::max(smallest_chunk, std::min(start, smallest_chunk * 64)));
  // A buffer of some size gets huge pages; many small groups shall not have one each.
  const std::int64_t multiple = bytes > huge_page / 4 ? huge_page : smallest_chunk;
  const std::int64_t size = (needed + multiple - 1) / multiple * multiple;
  HOCKET_TRY(std::byte * slot, rounds_->open());
  const Result<std::int64_t> base = rounds_->host().memory().allocate(Bytes(size));
  const std::int64_t mine = base ? *base : -1;
  // Not the whole chunk, part of which may never be taken.
  if (base) use_huge_pages(rounds_->at(rounds_->place(), mine), std::min(with_huge_pages(bytes), size));
  std::memcpy(slot, &mine, sizeof mine);
  rounds_->post();
  HOCKET_CHECK(rounds_->take_all());
  Chunk chunk;
  chunk.start = start;
  chunk.places.grow(size);
  for (std::int32_t place = 0; place < rounds_->size(); ++place) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, rounds_->slot_of(place), sizeof theirs);
    if (theirs < 0) {
      if (base) rounds_->host().memory().release(mine);
      return fail(ErrorKind::system, "rank {} has no place for {} of symmetric memory", rounds_->world_rank(place),
                  to_string(Bytes(size)));
    }
    chunk.bases.push_back(theirs);
  }
  chunks_.push_back(std::move(chunk));
  const auto inside = chunks_.back().places.take(bytes);
  if (!inside) return fail(ErrorKind::internal, "a chunk of {} bytes has no room for {}", size, bytes);
  history_ = after(history_, start + *inside);
  return place_in(chunks_.back(), *inside);
}

SymmetricPlace SymmetricHeap::place_in(const Chunk& chunk, std::int64_t inside) const {
  SymmetricPlace place{chunk.start + inside, {}};
  for (std::int32_t i = 0; i < rounds_->size(); ++i) {
    place.parts.push_back(rounds_->at(i, chunk.bases[static_cast<std::size_t>(i)] + inside));
  }
  return place;
}

void SymmetricHeap::release(std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  Chunk& chunk = const_cast<Chunk&>(chunk_of(offset));
  released_.push_back({offset, chunk.places.give_back(offset - chunk.start).value_or(0)});
  // In any order: buffers that calls keep alive are let go by the threads that complete the calls.
  history_ += after(0, ~offset);
}

const SymmetricHeap::Chunk& SymmetricHeap::chunk_of(std::int64_t offset) const {
  const auto behind = std::upper_bound(chunks_.begin(), chunks_.end(), offset,
                                       [](std::int64_t value, const Chunk& chunk) { return value < chunk.start; });
  return *std::prev(behind);
}

std::optional<std::int64_t> SymmetricHeap::offset_of(const void* address) const {
  const auto in_segment = rounds_->host().memory().offset_of(address);
  if (!in_segment) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const Chunk& chunk : chunks_) {
    const std::int64_t inside = *in_segment - base_of(chunk);
    if (inside >= 0 && inside < chunk.places.size()) return chunk.start + inside;
  }
  return std::nullopt;
}

std::byte* SymmetricHeap::at(std::int32_t place, std::int64_t offset) const {
  const std::lock_guard lock(mutex_);
  const Chunk& chunk = chunk_of(offset);
  return rounds_->at(place, chunk.bases[static_cast<std::size_t>(place)] + offset - chunk.start);
}

}  // namespace hocket
