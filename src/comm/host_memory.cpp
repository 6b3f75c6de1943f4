#include "comm/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hocket {

namespace {

// The addresses of a process end at 128 TiB; all segments of a host together stay well below.
constexpr std::int64_t all_segments = std::int64_t{16} << 40;
constexpr std::int64_t largest_segment = std::int64_t{256} << 30;
// ThreadSanitizer keeps shadow memory for what is mapped.
constexpr std::int64_t segment_of_thread = std::int64_t{16} << 30;

std::int64_t segment_size(Sharing sharing, std::int32_t ranks) {
  const std::int64_t most = sharing == Sharing::threads ? segment_of_thread : largest_segment;
  return std::min(most, all_segments / ranks / huge_page * huge_page);
}

using SharedMapping = std::shared_ptr<const Mapping>;

// What a thread tells the others.
struct WhereItIs {
  const SharedMapping* mapping = nullptr;
};

std::string bytes_of(const WhereItIs& where) {
  return std::string(reinterpret_cast<const char*>(&where), sizeof where);
}

Result<SharedMapping> mapping_of(const Packet& packet, Sharing sharing, std::int64_t size) {
  if (sharing == Sharing::threads) {
    WhereItIs theirs;
    std::memcpy(&theirs, packet.bytes.data(), sizeof theirs);
    return *theirs.mapping;
  }
  if (packet.descriptors.size() != 1) {
    return fail(ErrorKind::peer, "a rank of this host sent {} descriptors, expected that of its memory",
                packet.descriptors.size());
  }
  HOCKET_CHECK(check_segment(packet.descriptors[0], size));
  HOCKET_TRY(Mapping theirs, Mapping::map(packet.descriptors[0], size));
  return std::make_shared<const Mapping>(std::move(theirs));
}

}  // namespace

Result<HostMemory> HostMemory::create(HostLink& link, Sharing sharing, Deadline deadline) {
  const std::int64_t size = segment_size(sharing, link.size());
  HostMemory memory;
  memory.self_ = link.rank();
  HOCKET_TRY(memory.segment_, make_segment(size));
  HOCKET_TRY(Mapping mapped, Mapping::map(memory.segment_, size));
  const SharedMapping mine = std::make_shared<const Mapping>(std::move(mapped));
  HOCKET_TRY(const std::vector<Packet> all, link.exchange(bytes_of({&mine}), {memory.segment_.number()}, deadline));
  Status status;
  for (std::int32_t index = 0; index < link.size() && status; ++index) {
    Result<SharedMapping> theirs = mine;
    if (index != link.rank()) theirs = mapping_of(all[static_cast<std::size_t>(index)], sharing, size);
    if (!theirs) {
      status = fail(std::move(theirs).error());
      continue;
    }
    memory.begins_.push_back((*theirs)->begin());
    memory.mappings_.push_back(std::move(*theirs));
  }
  // Threads have looked into each other's variables, which must be there until all have.
  HOCKET_TRY(const std::vector<Packet> looked, link.exchange("", {}, deadline));
  if (!status) return fail(std::move(status).error());
  memory.places_->free.grow(size);
  return memory;
}

Result<std::int64_t> HostMemory::allocate(Bytes bytes) {
  const std::int64_t alignment = bytes.count >= huge_page ? huge_page : page_size();
  const std::int64_t slack = alignment == huge_page ? huge_page - page_size() : 0;  // all places are whole pages
  const std::lock_guard lock(places_->mutex);
  const bool fits = bytes.count >= 0 && bytes.count <= places_->free.size();
  const std::int64_t whole =
      fits ? std::max<std::int64_t>((bytes.count + page_size() - 1) / page_size(), 1) * page_size() : 0;
  const auto taken = fits ? places_->free.take(whole + slack) : std::nullopt;
  if (!taken) {
    return fail(ErrorKind::system, "no place for {} in the shared memory of this rank, of which {} are taken",
                to_string(bytes), to_string(Bytes(places_->free.taken())));
  }
  const std::int64_t aligned = (*taken + alignment - 1) / alignment * alignment;
  places_->used.emplace(aligned, std::pair(*taken, whole));
  return aligned;
}

void HostMemory::release(std::int64_t offset) {
  const std::lock_guard lock(places_->mutex);
  const auto found = places_->used.find(offset);
  if (found == places_->used.end()) return;
  const auto [taken, bytes] = found->second;
  // Gives the pages back to the system; the next to get them finds zeros.
  fallocate(segment_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  places_->used.erase(found);
  places_->free.give_back(taken);
}

void HostMemory::drop_pages(std::int64_t offset, std::int64_t bytes) {
  if (bytes < huge_page) return;  // the huge page that it is part of is worth more to the others in it
  const std::int64_t begin = (offset + page_size() - 1) / page_size() * page_size();
  const std::int64_t end = (offset + bytes) / page_size() * page_size();
  if (begin < end) fallocate(segment_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
}

std::optional<std::int64_t> HostMemory::offset_of(const void* address) const {
  const Mapping& mine = *mappings_[static_cast<std::size_t>(self_)];
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(mine.begin());
  if (offset >= static_cast<std::uintptr_t>(mine.bytes())) return std::nullopt;
  return static_cast<std::int64_t>(offset);
}

Bytes HostMemory::used() const {
  const std::lock_guard lock(places_->mutex);
  return Bytes(places_->free.taken());
}

}  // namespace hocket
