// Collectives on buffers that only their own rank can see: data goes through the slots.
#include <algorithm>
#include <cstring>

#include "comm/algorithms.h"
#include "comm/copy.h"
#include "comm/parts.h"
#include "comm/reduce.h"

namespace hocket {

namespace {

// The rounds of a call, cut into blocks of elements. A call without elements has one round, too: the others may have made a
// different call.
class Blocks {
 public:
  Blocks(std::int64_t total, std::int64_t block) : total_(total), block_(std::max<std::int64_t>(block, 1)) {}
  std::int64_t rounds() const { return total_ <= block_ ? 1 : (total_ + block_ - 1) / block_; }
  std::int64_t first(std::int64_t round) const { return std::min(round * block_, total_); }
  std::int64_t count(std::int64_t round) const { return first(round + 1) - first(round); }

 private:
  std::int64_t total_;
  std::int64_t block_;
};

// Waits for all, and says whether all copy.
Result<bool> all_copy(Rounds& rounds) {
  HOCKET_CHECK(rounds.take_all());
  return rounds.notes_are(0);
}

// Copies the elements [first, first + count) of all parts into a slot; `from` says where a stretch of them lies.
template <class From>
void copy_in(Parts& parts, std::int64_t first, std::int64_t count, std::int64_t size, std::byte* slot,
             const From& from) {
  parts.each(first, count, [&](const Stretch& stretch) {
    std::memcpy(slot + stretch.at * size, from(stretch), bytes(stretch.count * size));
  });
}

// Where a stretch of this rank's own input or output lies.
auto inputs(std::int64_t size) {
  return [size](const Stretch& stretch) { return input_at(stretch.part, stretch.first * size); };
}
auto outputs(std::int64_t size) {
  return [size](const Stretch& stretch) { return output_at(stretch.part, stretch.first * size); };
}

// Combines what all ranks have for this one: its own elements, which it need not read from its slot, and what the others have
// at(place) bytes behind the start of theirs.
class Combiner {
 public:
  Combiner(const Rounds& rounds, const GroupCall& call)
      : rounds_(rounds), reduction_(reduction_of(rounds, call)), sources_(rounds.size()) {}

  template <class At>
  void run(const At& at, const std::byte* own, std::byte* output, std::int64_t count, bool streaming) {
    for (std::int32_t place = 0; place < rounds_.size(); ++place) sources_[place] = rounds_.slot_of(place) + at(place);
    sources_[rounds_.place()] = own;
    reduce(reduction_, sources_.span(), output, count, streaming);
  }

 private:
  const Rounds& rounds_;
  Reduction reduction_;
  SourceList sources_;
};

}  // namespace

Status meet(Rounds& rounds) {
  HOCKET_CHECK(rounds.open());
  rounds.post();
  return rounds.take_all();
}

Result<bool> one_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts parts(call);
  Combiner combiner(rounds, call);
  const Blocks blocks(parts.total(), cut.block / size);
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    copy_in(parts, first, count, size, slot, inputs(size));
    rounds.post();
    HOCKET_TRY(const bool go_on, all_copy(rounds));
    if (!go_on) return false;
    parts.each(first, count, [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t) { return stretch.at * size; };
      combiner.run(at, inputs(size)(stretch), outputs(size)(stretch), stretch.count, cut.streaming);
    });
  }
  return true;
}

// Round n hands over the inputs of block n and the results of block n-1, so there is one synchronisation for each block.
Result<bool> two_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const std::int64_t ranks = rounds.size();
  Parts parts(call);
  Combiner combiner(rounds, call);
  // A slot holds a block of inputs and one part of it, the results.
  const std::int64_t part =
      std::max<std::int64_t>(cut.block / (ranks + 1) / cache_line * cache_line, cache_line) / size;
  const std::int64_t results_at = ranks * part * size;
  const Blocks blocks(parts.total(), part * ranks);
  const auto part_of = [&](std::int64_t block, std::int64_t place) {  // first element and count
    const std::int64_t from = std::min(place * part, blocks.count(block));
    return std::pair(blocks.first(block) + from, std::min((place + 1) * part, blocks.count(block)) - from);
  };
  for (std::int64_t round = 0; round <= blocks.rounds(); ++round) {
    const bool has_inputs = round < blocks.rounds();
    HOCKET_TRY(std::byte * slot, rounds.open());
    if (round > 0) {
      const auto [first, count] = part_of(round - 1, rounds.place());
      copy_in(parts, first, count, size, slot + results_at, outputs(size));
    }
    for (std::int64_t place = 0; has_inputs && place < ranks; ++place) {
      if (place == rounds.place()) continue;
      const auto [first, count] = part_of(round, place);
      copy_in(parts, first, count, size, slot + place * part * size, inputs(size));
    }
    rounds.post();
    HOCKET_TRY(const bool go_on, all_copy(rounds));
    if (!go_on) return false;
    for (std::int64_t i = 1; round > 0 && i < ranks; ++i) {
      const auto place = static_cast<std::int32_t>((rounds.place() + i) % ranks);
      const auto [first, count] = part_of(round - 1, place);
      const std::byte* theirs = rounds.slot_of(place) + results_at;
      parts.each(first, count, [&](const Stretch& stretch) {
        copy(theirs + stretch.at * size, outputs(size)(stretch), stretch.count * size, cut.streaming);
      });
    }
    if (!has_inputs) break;
    const auto [first, count] = part_of(round, rounds.place());
    parts.each(first, count, [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t) { return (rounds.place() * part + stretch.at) * size; };
      combiner.run(at, inputs(size)(stretch), outputs(size)(stretch), stretch.count,
                   false);  // read again in the next round
    });
  }
  return true;
}

Result<bool> copying_all_gather(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts parts(call);
  const Blocks blocks(parts.total(), cut.block / size);
  const auto gathered = [&](const Stretch& stretch, std::int64_t place) {
    return output_at(stretch.part, (place * stretch.part.count + stretch.first) * size);
  };
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    copy_in(parts, first, count, size, slot, inputs(size));
    rounds.post();
    if (round == 0) {
      HOCKET_TRY(const bool go_on, all_copy(rounds));
      if (!go_on) return false;
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      const std::byte* mine = inputs(size)(stretch);
      std::byte* to = gathered(stretch, rounds.place());
      if (to != mine) copy(mine, to, stretch.count * size, cut.streaming);
    });
    for (std::int32_t i = 1; i < rounds.size(); ++i) {
      const std::int32_t place = (rounds.place() + i) % rounds.size();
      HOCKET_TRY(const std::byte* theirs, rounds.take(place));
      parts.each(first, count, [&](const Stretch& stretch) {
        copy(theirs + stretch.at * size, gathered(stretch, place), stretch.count * size, cut.streaming);
      });
    }
  }
  return true;
}

Result<bool> copying_reduce_scatter(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts parts(call);
  Combiner combiner(rounds, call);
  const std::int64_t share = cut.block / shares_of(rounds) / size;
  const Blocks blocks(parts.total(), share);
  const auto scattered = [&](const Stretch& stretch, std::int64_t place) {
    return input_at(stretch.part, (place * stretch.part.count + stretch.first) * size);
  };
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    for (std::int32_t place = 0; place < rounds.size(); ++place) {
      if (place == rounds.place()) continue;
      copy_in(parts, first, count, size, slot + share_for(rounds.place(), place) * share * size,
              [&](const Stretch& stretch) { return scattered(stretch, place); });
    }
    rounds.post();
    HOCKET_TRY(const bool go_on, all_copy(rounds));
    if (!go_on) return false;
    parts.each(first, count, [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t from) { return (share_for(from, rounds.place()) * share + stretch.at) * size; };
      combiner.run(at, scattered(stretch, rounds.place()), outputs(size)(stretch), stretch.count, cut.streaming);
    });
  }
  return true;
}

Result<bool> copying_broadcast(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const bool is_source = rounds.place() == call.root;
  Parts parts(call);
  const Blocks blocks(parts.total(), cut.block / size);
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    if (is_source) copy_in(parts, first, count, size, slot, inputs(size));
    rounds.post();
    if (round == 0) {
      HOCKET_TRY(const bool go_on, all_copy(rounds));
      if (!go_on) return false;
    }
    const std::byte* from = nullptr;
    if (!is_source) {
      HOCKET_TRY(from, rounds.take(call.root));
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      const std::byte* data = is_source ? inputs(size)(stretch) : from + stretch.at * size;
      std::byte* to = outputs(size)(stretch);
      if (to != data) copy(data, to, stretch.count * size, cut.streaming);
    });
  }
  return true;
}

}  // namespace hocket
