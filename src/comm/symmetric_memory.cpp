#include "comm/symmetric_memory.h"

#include <algorithm>

namespace hocket {

namespace {

Digest after(const Digest& history, std::string_view call, std::int64_t argument) {
  return Digester().add(history.to_string()).add(call).add(argument).finish();
}

std::int64_t round_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// All packets say the same, or the first that differs from rank 0 is named.
Status check_same(const std::vector<Packet>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].bytes == all[0].bytes) continue;
    return fail(ErrorKind::peer, "ranks use symmetric memory differently: rank 0 made {}, rank {} made {}",
                all[0].bytes, rank, all[rank].bytes);
  }
  return {};
}

}  // namespace

Result<SymmetricMemory> SymmetricMemory::create(HostLink link, SymmetricMemoryOptions options) {
  SymmetricMemory memory(std::move(link), options);
  for (std::int32_t rank = 0; rank < memory.size(); ++rank) {
    HOCKET_TRY(AddressRange part, AddressRange::reserve(round_up(options.most.count, page_size())));
    memory.parts_.push_back(std::move(part));
  }
  return memory;
}

Result<std::int64_t> SymmetricMemory::allocate(Bytes bytes, Deadline deadline) {
  if (bytes.count < 0 || bytes > options_.most) {
    return fail(ErrorKind::usage, "can't allocate {} bytes of symmetric memory, expected 0 to {}", bytes.count,
                options_.most.count);
  }
  ++calls_;
  history_ = after(history_, "allocate", bytes.count);
  if (const auto offset = places_.take(bytes.count)) return *offset;
  HOCKET_CHECK(grow(bytes.count, deadline));
  if (const auto offset = places_.take(bytes.count)) return *offset;
  return fail(ErrorKind::internal, "symmetric memory grew for {} bytes and has no place for them", bytes.count);
}

Status SymmetricMemory::release(std::int64_t offset) {
  if (!places_.give_back(offset)) {
    return fail(ErrorKind::usage, "nothing was allocated at offset {} of symmetric memory, or it was released", offset);
  }
  ++calls_;
  history_ = after(history_, "release", offset);
  return {};
}

// Two exchanges: the segments, and whether everyone could map them, so that all ranks grow or none.
Status SymmetricMemory::grow(std::int64_t bytes, Deadline deadline) {
  const std::int64_t needed = round_up(std::max(bytes, FirstFit::alignment), page_size());
  const std::int64_t left = parts_[0].bytes() - places_.size();
  const std::int64_t wanted = std::max({needed, places_.size(), round_up(options_.first_segment.count, page_size())});
  const std::int64_t more = std::min(wanted, left);
  const std::string call =
      fmt::format("{} calls up to allocate({}) (history {})", calls_, bytes, history_.to_string().substr(0, 8));
  Result<FileDescriptor> segment = more < needed
                                       ? fail(ErrorKind::usage, "symmetric memory is full: {} of {} are taken",
                                              to_string(Bytes(places_.taken())), to_string(options_.most))
                                       : make_segment(more);
  std::vector<int> descriptors;
  if (segment) descriptors.push_back(segment->number());
  HOCKET_TRY(const std::vector<Packet> all, link_.exchange(call, descriptors, deadline));
  HOCKET_CHECK(check_same(all));

  const Status mapped = segment ? map_all(all, more) : Status(fail(segment.error()));
  HOCKET_TRY(const std::vector<Packet> outcomes, link_.exchange(mapped ? "" : mapped.error().message, {}, deadline));
  if (!mapped) return mapped;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (outcomes[rank].bytes.empty()) continue;
    return fail(ErrorKind::peer, "rank {} could not make symmetric memory larger: {}", rank, outcomes[rank].bytes);
  }
  places_.grow(more);
  return {};
}

Status SymmetricMemory::map_all(const std::vector<Packet>& all, std::int64_t more) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].descriptors.size() != 1) return fail(ErrorKind::peer, "rank {} sent no shared memory", rank);
    const FileDescriptor& segment = all[rank].descriptors[0];
    if (const Status checked = check_segment(segment, more); !checked) {
      return fail(ErrorKind::peer, "rank {}: {}", rank, checked.error().message);
    }
    HOCKET_CHECK(parts_[rank].map(segment, places_.size(), more));
  }
  return {};
}

}  // namespace hocket
