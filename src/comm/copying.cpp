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

// Runs rounds in which every rank writes, fill(round, slot), and reads, use(round, back). A slot is filled before the round before it is
// read, so that ranks need not keep step within a block. Round 0 is taken when it is used. False if somebody does not copy.
template <class Fill, class Use>
Result<bool> in_rounds(Rounds& rounds, std::int64_t count, const Fill& fill, const Use& use) {
  for (std::int64_t round = 0; round < count; ++round) {
    HOCKET_TRY(std::byte * slot, rounds.open());
    fill(round, slot);
    if (round > 0) HOCKET_CHECK(use(round - 1, 1));
    rounds.post();
    if (round == 0) {
      HOCKET_TRY(const bool go_on, all_copy(rounds));
      if (!go_on) return false;
    }
  }
  HOCKET_CHECK(use(count - 1, 0));
  return true;
}

// Combines what all ranks have for this one: its own elements, which it need not read from its slot, and what the others have in
// theirs, at(place) bytes behind the start.
class Combiner {
 public:
  Combiner(const Rounds& rounds, const GroupCall& call)
      : rounds_(rounds), reduction_(reduction_of(rounds, call)), sources_(rounds.size()) {}

  template <class At>
  void run(std::uint32_t back, const At& at, const std::byte* own, std::byte* output, std::int64_t count,
           bool streaming) {
    for (std::int32_t place = 0; place < rounds_.size(); ++place) {
      sources_[place] = rounds_.slot_of(place, back) + at(place);
    }
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
  HOCKET_CHECK(rounds.open_empty());
  rounds.post();
  return rounds.take_all();
}

Result<bool> one_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts given(call);
  Parts got(call);
  Combiner combiner(rounds, call);
  const Blocks blocks(given.total(), cut.block / size);
  const auto fill = [&](std::int64_t round, std::byte* slot) {
    copy_in(given, blocks.first(round), blocks.count(round), size, slot, inputs(size));
  };
  const auto use = [&](std::int64_t round, std::uint32_t back) -> Status {
    if (round > 0) HOCKET_CHECK(rounds.take_all(back));
    got.each(blocks.first(round), blocks.count(round), [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t) { return stretch.at * size; };
      combiner.run(back, at, inputs(size)(stretch), outputs(size)(stretch), stretch.count, cut.streaming);
    });
    return {};
  };
  return in_rounds(rounds, blocks.rounds(), fill, use);
}

// Round n hands over the inputs of block n and the results of block n-1, so there is one synchronisation for each block. Results are
// combined in the slot, where the others read them, and go from there to this rank's own output, past the cache if it is a long one.
Result<bool> two_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const std::int64_t ranks = rounds.size();
  Parts given(call);
  Parts combined(call);
  Parts got(call);
  Combiner combiner(rounds, call);
  // A slot holds a share for each of the others, and the results.
  const std::int64_t part = std::max<std::int64_t>(cut.block / ranks / cache_line * cache_line, cache_line) / size;
  const std::int64_t results_at = (ranks - 1) * part * size;
  const Blocks blocks(given.total(), part * ranks);
  const auto part_of = [&](std::int64_t block, std::int64_t place) {  // first element and count
    const std::int64_t from = std::min(place * part, blocks.count(block));
    return std::pair(blocks.first(block) + from, std::min((place + 1) * part, blocks.count(block)) - from);
  };
  const auto share_at = [&](std::int32_t from, std::int32_t to) { return share_for(from, to) * part * size; };

  std::byte* filled = nullptr;
  const auto fill = [&](std::int64_t round, std::byte* slot) {
    filled = slot;
    for (std::int32_t place = 0; round < blocks.rounds() && place < rounds.size(); ++place) {
      if (place == rounds.place()) continue;
      const auto [first, count] = part_of(round, place);
      copy_in(given, first, count, size, slot + share_at(rounds.place(), place), inputs(size));
    }
  };
  const auto use = [&](std::int64_t round, std::uint32_t back) -> Status {
    if (round > 0) HOCKET_CHECK(rounds.take_all(back));
    for (std::int32_t i = 1; round > 0 && i < rounds.size(); ++i) {
      const std::int32_t place = (rounds.place() + i) % rounds.size();
      const auto [first, count] = part_of(round - 1, place);
      const std::byte* const theirs = rounds.slot_of(place, back) + results_at;
      got.each(first, count, [&](const Stretch& stretch) {
        copy(theirs + stretch.at * size, outputs(size)(stretch), stretch.count * size, cut.streaming);
      });
    }
    if (round == blocks.rounds()) return {};
    const auto [first, count] = part_of(round, rounds.place());
    combined.each(first, count, [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t place) { return share_at(place, rounds.place()) + stretch.at * size; };
      std::byte* const result = filled + results_at + stretch.at * size;
      combiner.run(back, at, inputs(size)(stretch), result, stretch.count, false);
      copy(result, outputs(size)(stretch), stretch.count * size, cut.streaming);
    });
    return {};
  };
  return in_rounds(rounds, blocks.rounds() + 1, fill, use);
}

Result<bool> copying_all_gather(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts given(call);
  Parts got(call);
  const Blocks blocks(given.total(), cut.block / size);
  const auto gathered = [&](const Stretch& stretch, std::int64_t place) {
    return output_at(stretch.part, (place * stretch.part.count + stretch.first) * size);
  };
  const auto fill = [&](std::int64_t round, std::byte* slot) {
    copy_in(given, blocks.first(round), blocks.count(round), size, slot, inputs(size));
  };
  const auto use = [&](std::int64_t round, std::uint32_t back) -> Status {
    got.each(blocks.first(round), blocks.count(round), [&](const Stretch& stretch) {
      const std::byte* mine = inputs(size)(stretch);
      std::byte* to = gathered(stretch, rounds.place());
      if (to != mine) copy(mine, to, stretch.count * size, cut.streaming);
    });
    for (std::int32_t i = 1; i < rounds.size(); ++i) {
      const std::int32_t place = (rounds.place() + i) % rounds.size();
      HOCKET_TRY(const std::byte* theirs, rounds.take(place, back));
      got.each(blocks.first(round), blocks.count(round), [&](const Stretch& stretch) {
        copy(theirs + stretch.at * size, gathered(stretch, place), stretch.count * size, cut.streaming);
      });
    }
    return {};
  };
  return in_rounds(rounds, blocks.rounds(), fill, use);
}

Result<bool> copying_reduce_scatter(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  Parts given(call);
  Parts got(call);
  Combiner combiner(rounds, call);
  const std::int64_t share = bytes_of_share(rounds, cut) / size;
  const Blocks blocks(given.total(), share);
  const auto scattered = [&](const Stretch& stretch, std::int64_t place) {
    return input_at(stretch.part, (place * stretch.part.count + stretch.first) * size);
  };
  const auto fill = [&](std::int64_t round, std::byte* slot) {
    for (std::int32_t place = 0; place < rounds.size(); ++place) {
      if (place == rounds.place()) continue;
      copy_in(given, blocks.first(round), blocks.count(round), size,
              slot + share_for(rounds.place(), place) * share * size,
              [&](const Stretch& stretch) { return scattered(stretch, place); });
    }
  };
  const auto use = [&](std::int64_t round, std::uint32_t back) -> Status {
    if (round > 0) HOCKET_CHECK(rounds.take_all(back));
    got.each(blocks.first(round), blocks.count(round), [&](const Stretch& stretch) {
      const auto at = [&](std::int32_t from) { return (share_for(from, rounds.place()) * share + stretch.at) * size; };
      combiner.run(back, at, scattered(stretch, rounds.place()), outputs(size)(stretch), stretch.count, cut.streaming);
    });
    return {};
  };
  return in_rounds(rounds, blocks.rounds(), fill, use);
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
