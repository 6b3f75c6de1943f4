// Collectives as rounds between ranks of one host. docs/collectives.md has the steps, bytes and synchronisations of each.
//
// In the first round of each everyone waits for everyone, so that a rank which made another call is noticed before a result is
// written.
#pragma once

#include <algorithm>
#include <span>

#include "comm/copy.h"
#include "comm/peer_memory.h"
#include "comm/reduce.h"
#include "comm/rounds.h"

namespace hocket {

// How a call is cut: bytes for each round, and whether results go past the cache.
struct Cut {
  std::int64_t block = 0;
  bool streaming = false;
};

inline Reduction reduction_of(const Rounds& rounds, const GroupCall& call) {
  return {call.dtype, call.reduce, call.factor, rounds.size()};
}

// Slots that have a share for each of the others: how many, and which of them is for `to` in the slot of `from`.
inline std::int32_t shares_of(const Rounds& rounds) { return std::max(rounds.size() - 1, 1); }
inline std::int32_t share_for(std::int32_t from, std::int32_t to) { return to < from ? to : to - 1; }
// In whole cache lines, unless the slot is a small one: a stream that is cut between them takes up to three times as long.
inline std::int64_t bytes_of_share(const Rounds& rounds, const Cut& cut) {
  const std::int64_t share = cut.block / shares_of(rounds);
  return share < cache_line ? share : share / cache_line * cache_line;
}

Status meet(Rounds& rounds);  // barrier

// False if somebody has asked in the first round whether all have their buffers in symmetric memory. Nothing is written then,
// and all begin again.
Result<bool> one_round(Rounds& rounds, const GroupCall& call, Cut cut);  // any of these that fits_one_round()
bool fits_one_round(const Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> one_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> two_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> copying_all_gather(Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> copying_reduce_scatter(Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> copying_all_to_all(Rounds& rounds, const GroupCall& call, Cut cut);
Result<bool> copying_broadcast(Rounds& rounds, const GroupCall& call, Cut cut);
// False where not all read, or if it turns out that some rank can't read the memory of another. Of equal parts, not in place.
Result<bool> reading_all_to_all(Rounds& rounds, const GroupCall& call, Cut cut, PeerReading& reading);

// The buffers of all ranks that a call works on in place.
struct SharedBuffers {
  std::span<std::byte* const> input;  // by place
  std::span<std::byte* const> output;
};

// These run after a round in which everyone has said where its buffers are, and end with one in which everyone says that it
// is done.
Status fused_all_reduce(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers);
Status pushing_all_gather(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, Cut cut);
Status pulling_reduce_scatter(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers);
Status pushing_all_to_all(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, Cut cut);
// `source_is_shared`: what is sent lies where the source's output is, so that everyone can read it.
Status shared_broadcast(Rounds& rounds, const GroupCall& call, const SharedBuffers& buffers, bool source_is_shared,
                        Cut cut);

}  // namespace hocket
