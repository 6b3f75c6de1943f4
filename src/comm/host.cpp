#include "comm/host.h"

#include <sched.h>

#include <cstring>
#include <thread>

#include "comm/tuning_file.h"
#include "hocket/base/env.h"

namespace hocket {

namespace {

constexpr std::uint32_t places = 1U << 16;  // a power of two; never more than half full

// Written by its owner, `ready` last; never changed afterwards.
struct Entry {
  std::atomic<std::uint32_t> ready;
  Digest name;
  std::int64_t offset;
};

std::uint32_t first_place(const Digest& name) { return static_cast<std::uint32_t>(name.low) % places; }

}  // namespace

// At the beginning of every segment. Pages of the table that are not in use cost nothing.
struct Host::Header {
  std::atomic<std::uint32_t> left;
  std::uint32_t entries;
  Entry table[places];
};

Host::Header& Host::header_of(std::int32_t index) const { return *reinterpret_cast<Header*>(memory_.at(index, 0)); }

// How many different cores the ranks may use all together. A rank that is bound to a core of its own has one, though it sees
// no other.
static Result<std::int64_t> cores_of_all(HostLink& link, Deadline deadline) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return processor_count();
  const std::string bytes(reinterpret_cast<const char*>(&mine), sizeof mine);
  HOCKET_TRY(const std::vector<Packet> all, link.exchange(bytes, {}, deadline));
  cpu_set_t together;
  CPU_ZERO(&together);
  for (const Packet& packet : all) {
    cpu_set_t theirs;
    if (packet.bytes.size() != sizeof theirs) return processor_count();
    std::memcpy(&theirs, packet.bytes.data(), sizeof theirs);
    CPU_OR(&together, &together, &theirs);
  }
  return CPU_COUNT(&together);
}

Result<std::shared_ptr<Host>> Host::create(HostLink link, Ranks ranks, Sharing sharing, Deadline deadline) {
  HOCKET_TRY(const std::int64_t cores, cores_of_all(link, deadline));
  HOCKET_TRY(const TuningTable tuning, agree_on_tuning(link, Env::get().cache, cores, deadline));
  HOCKET_TRY(HostMemory memory, HostMemory::create(link, sharing, deadline));
  HOCKET_TRY(PeerWatch watch, PeerWatch::create(link, ranks, deadline));
  std::shared_ptr<Host> host(new Host(std::move(link), std::move(ranks), std::move(memory), std::move(watch)));
  host->tuning_ = tuning;
  host->default_tuning_ = TuningTable(cores);
  host->policy_ = WaitPolicy::for_ranks(host->size(), cores);
  HOCKET_TRY(const std::int64_t start, host->memory_.allocate(Bytes(sizeof(Header))));
  if (start != 0) return fail(ErrorKind::internal, "the header of a segment lies at {}, expected 0", start);
  return host;
}

Host::~Host() { header_of(self()).left.store(1, std::memory_order_release); }

bool Host::has_left(std::int32_t index) const { return header_of(index).left.load(std::memory_order_acquire) != 0; }

Status Host::check(std::span<const std::int32_t> indices) const {
  for (const std::int32_t index : indices) {
    if (index == self()) continue;
    HOCKET_CHECK(watch_.check(index));
    if (has_left(index)) {
      return fail(ErrorKind::peer, "rank {} (pid {}) has left the world", world_rank(index), pid(index));
    }
  }
  return {};
}

Status Host::check_crash(std::span<const std::int32_t> indices) const {
  for (const std::int32_t index : indices) {
    if (index != self() && !has_left(index)) HOCKET_CHECK(watch_.check_crash(index));
  }
  return {};
}

Status Host::publish(const Digest& name, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  Header& header = header_of(self());
  if (header.entries >= places / 2) {
    return fail(ErrorKind::system, "a rank can be in {} groups, and this one is in all of them", places / 2);
  }
  std::uint32_t place = first_place(name);
  while (header.table[place].ready.load(std::memory_order_relaxed) != 0) place = (place + 1) % places;
  Entry& entry = header.table[place];
  entry.name = name;
  entry.offset = offset;
  entry.ready.store(1, std::memory_order_release);
  ++header.entries;
  return {};
}

Result<std::int64_t> Host::publish_memory(const Digest& name, Bytes bytes) {
  if (const auto offset = look_up(name, self())) return *offset;
  HOCKET_TRY(const std::int64_t offset, memory_.allocate(bytes));
  const Status published = publish(name, offset);
  if (published) return offset;
  memory_.release(offset);
  return fail(published.error());
}

std::optional<std::int64_t> Host::look_up(const Digest& name, std::int32_t index) const {
  const Header& header = header_of(index);
  for (std::uint32_t place = first_place(name); header.table[place].ready.load(std::memory_order_acquire) != 0;
       place = (place + 1) % places) {
    if (header.table[place].name == name) return header.table[place].offset;
  }
  return std::nullopt;
}

Result<std::int64_t> Host::find(const Digest& name, std::int32_t index, Deadline deadline) const {
  using namespace std::chrono_literals;
  for (std::chrono::microseconds pause = 10us;;) {
    const Status alive = check({&index, 1});
    if (const auto offset = look_up(name, index)) return *offset;
    if (!alive) return fail(alive.error());
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(ErrorKind::peer,
                  "rank {} (pid {}) is alive but did not come to form the group in time; asking for the group's "
                  "communicator again waits for it once more",
                  world_rank(index), pid(index));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, 1ms);
  }
}

}  // namespace hocket
