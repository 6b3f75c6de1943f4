// Calls of one part that fits into a slot: one round for all of it. At this size the instructions between two rounds count as much as the
// way of a cache line to another core, so there is nothing here but copies.
#include "comm/algorithms.h"
#include "comm/copy.h"
#include "comm/parts.h"
#include "comm/reduce.h"

namespace hocket {

namespace {

std::int64_t bytes_of_part(const GroupCall& call) { return call.count * size_of(call.dtype); }

// From one share in a slot to the next.
std::int64_t distance_of(std::int64_t share) {
  return share < cache_line ? share : (share + cache_line - 1) / cache_line * cache_line;
}

void move(const std::byte* from, std::byte* to, std::int64_t count, bool streaming = false) {
  if (from != to && count > 0) copy(from, to, count, streaming);
}

void fill(const Rounds& rounds, const GroupCall& call, std::byte* slot) {
  const std::int64_t part = bytes_of_part(call);
  if (!gives_shares(call.op)) {
    const bool gives = call.op != Operator::broadcast || rounds.place() == call.root;
    if (gives) move(input_at(call.first, 0), slot, part);
    return;
  }
  for (std::int32_t place = 0; place < rounds.size(); ++place) {
    if (place == rounds.place()) continue;
    move(input_at(call.first, place * part), slot + share_for(rounds.place(), place) * distance_of(part), part);
  }
}

// What a place has for this one. This rank's own is read where it lies.
const std::byte* given_by(const Rounds& rounds, const GroupCall& call, std::int32_t place) {
  const std::int64_t part = bytes_of_part(call);
  if (place == rounds.place()) return input_at(call.first, gives_shares(call.op) ? place * part : 0);
  const std::int64_t share = gives_shares(call.op) ? share_for(place, rounds.place()) : 0;
  return rounds.slot_of(place) + share * distance_of(part);
}

void combine(const Rounds& rounds, const GroupCall& call, bool streaming) {
  if (call.count == 0) return;
  SourceList sources(rounds.size());
  for (std::int32_t place = 0; place < rounds.size(); ++place) sources[place] = given_by(rounds, call, place);
  reduce(reduction_of(rounds, call), sources.span(), output_at(call.first, 0), call.count, streaming);
}

void collect(const Rounds& rounds, const GroupCall& call, bool streaming) {
  const std::int64_t part = bytes_of_part(call);
  for (std::int32_t place = 0; place < rounds.size(); ++place) {
    move(given_by(rounds, call, place), output_at(call.first, place * part), part, streaming);
  }
}

}  // namespace

bool fits_one_round(const Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t part = bytes_of_part(call);
  const std::int64_t gives = part + (gives_shares(call.op) ? distance_of(part) * (shares_of(rounds) - 1) : 0);
  return call.many.empty() && call.input_splits.empty() && gives <= cut.block;
}

Result<bool> one_round(Rounds& rounds, const GroupCall& call, Cut cut) {
  HOCKET_TRY(std::byte * slot, rounds.open());
  fill(rounds, call, slot);
  rounds.post();
  HOCKET_CHECK(rounds.take_all());
  if (!rounds.notes_are(0)) return false;
  if (reduces(call.op)) combine(rounds, call, cut.streaming);
  else if (call.op != Operator::broadcast) collect(rounds, call, cut.streaming);
  else move(given_by(rounds, call, call.root), output_at(call.first, 0), bytes_of_part(call), cut.streaming);
  return true;
}

}  // namespace hocket
