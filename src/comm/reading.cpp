// Collectives that read what they need where the other ranks have it, in private memory: everyone says where its input lies, reads, and
// waits until all have read. One copy and two synchronisations, whatever the size: where ranks share cores, each synchronisation more
// is a turn of all of them.
#include <cerrno>
#include <cstring>
#include <thread>

#include "comm/algorithms.h"
#include "comm/copy.h"
#include "comm/peer_memory.h"

namespace hocket {

namespace {

constexpr std::chrono::microseconds between_looks{100};
// The note of a first round in which a rank says where its input is. A rank that works in place copies, whatever the others do.
constexpr std::uint64_t reads = 2;

// What a rank says of itself in the first round.
struct Whereabouts {
  const std::byte* input;
  const std::byte* proof;
};

Whereabouts whereabouts_of(const Rounds& rounds, std::int32_t place) {
  Whereabouts told;
  std::memcpy(&told, rounds.slot_of(place), sizeof told);
  return told;
}

// In the first call of a group everyone reads a number that it knows from all others. If one can't, nobody reads.
Status find_out(Rounds& rounds, PeerReading& reading) {
  bool can = true;
  for (std::int32_t place = 0; place < rounds.size() && can; ++place) {
    std::uint64_t proof = 0;
    can = read_peer(rounds.pid(place), whereabouts_of(rounds, place).proof, reinterpret_cast<std::byte*>(&proof),
                    sizeof proof) == 0 &&
          proof == reading.proof;
  }
  HOCKET_CHECK(rounds.open_empty());
  rounds.post(can ? 0 : 1);
  HOCKET_CHECK(rounds.take_all());
  reading.allowed = can && rounds.notes_are(0) ? PeerReading::Allowed::yes : PeerReading::Allowed::no;
  return {};
}

// A rank that has given up the call may have let go of its memory. The memory of one that dies is gone a moment before the process
// is, and also where that rank has done its part of the call: so its death is waited for, not its flag.
Status could_not_read(Rounds& rounds, const GroupCall& call, std::int32_t place, int number) {
  if (const auto reason = rounds.failure()) return fail(ErrorKind::peer, "{}", *reason);
  const std::int32_t gone[] = {rounds.member(place)};
  while (number == ESRCH && std::chrono::steady_clock::now() < call.deadline()) {
    if (Status death = rounds.host().check(gone); !death) {
      rounds.fail_all(death.error());
      return death;
    }
    std::this_thread::sleep_for(between_looks);
  }
  Error error{
      ErrorKind::system,
      fmt::format("rank {} could not read the memory of rank {} (pid {}) in {}: {}", rounds.world_rank(rounds.place()),
                  rounds.world_rank(place), rounds.pid(place), call.to_string(), std::strerror(number)),
      ""};
  rounds.fail_all(error);
  return fail(std::move(error));
}

}  // namespace

Result<bool> reading_all_to_all(Rounds& rounds, const GroupCall& call, Cut cut, PeerReading& reading) {
  const auto* const input = static_cast<const std::byte*>(call.first.input);
  auto* const output = static_cast<std::byte*>(call.first.output);
  HOCKET_TRY(std::byte * slot, rounds.open());
  const Whereabouts mine{input, reinterpret_cast<const std::byte*>(&reading.proof)};
  std::memcpy(slot, &mine, sizeof mine);
  rounds.post(reads);
  HOCKET_CHECK(rounds.take_all());
  if (!rounds.notes_are(reads)) return false;
  // Read before the next round, whose slots are others.
  SourceList inputs(rounds.size());
  for (std::int32_t place = 0; place < rounds.size(); ++place) inputs[place] = whereabouts_of(rounds, place).input;
  if (reading.allowed == PeerReading::Allowed::unknown) {
    HOCKET_CHECK(find_out(rounds, reading));
    if (reading.allowed == PeerReading::Allowed::no) return false;
  }

  const std::int64_t share = call.count * size_of(call.dtype);
  for (std::int32_t i = 1; i < rounds.size(); ++i) {
    const std::int32_t place = (rounds.place() + i) % rounds.size();
    const std::byte* const from = inputs[place] + rounds.place() * share;
    const int failure = read_peer(rounds.pid(place), from, output + place * share, share);
    if (failure != 0) HOCKET_CHECK(could_not_read(rounds, call, place, failure));
  }
  if (share > 0) copy(input + rounds.place() * share, output + rounds.place() * share, share, cut.streaming);
  HOCKET_CHECK(meet(rounds));
  return true;
}

}  // namespace hocket
