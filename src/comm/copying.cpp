// Collectives on buffers that only their own rank can see: data goes through the slots.
#include <algorithm>
#include <cstring>

#include "comm/algorithms.h"
#include "comm/copy.h"
#include "comm/parts.h"
#include "comm/reduce.h"

namespace hocket {

namespace {

Reduction reduction_of(const Rounds& rounds, const GroupCall& call) {
  return {call.dtype, call.reduce, call.factor, rounds.size()};
}

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

// Somebody has its buffers in symmetric memory and asked whether all have. Not all have, so all begin again.
Result<bool> began_in_vain(Rounds& rounds) {
  HOCKET_CHECK(rounds.take_all());
  return !rounds.notes_are(0);
}

}  // namespace

Status meet(Rounds& rounds) {
  HOCKET_CHECK(rounds.open());
  rounds.post();
  return rounds.take_all();
}

Status one_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const Reduction reduction = reduction_of(rounds, call);
  Parts parts(call);
  const Blocks blocks(parts.total(), cut.block / size);
  SourceList sources(rounds.size());
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    parts.each(first, count, [&](const Stretch& stretch) {
      std::memcpy(slot + stretch.at * size, input_at(stretch.part, stretch.first * size), bytes(stretch.count * size));
    });
    rounds.post();
    HOCKET_TRY(const bool again, began_in_vain(rounds));
    if (again) {
      --round;
      continue;
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      for (std::int32_t place = 0; place < rounds.size(); ++place) {
        sources[place] = rounds.slot_of(place) + stretch.at * size;
      }
      sources[rounds.place()] = input_at(stretch.part, stretch.first * size);
      reduce(reduction, sources.span(), output_at(stretch.part, stretch.first * size), stretch.count, cut.streaming);
    });
  }
  return {};
}

// Round n hands over the inputs of block n and the results of block n-1, so there is one synchronisation for each block.
Status two_shot_all_reduce(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const Reduction reduction = reduction_of(rounds, call);
  const std::int64_t ranks = rounds.size();
  Parts parts(call);
  // A slot holds a block of inputs and one part of it, the results.
  const std::int64_t part =
      std::max<std::int64_t>(cut.block / (ranks + 1) / cache_line * cache_line, cache_line) / size;
  const Blocks blocks(parts.total(), part * ranks);
  SourceList sources(rounds.size());
  const auto part_of = [&](std::int64_t block, std::int64_t place) {  // first element and count
    const std::int64_t from = std::min(place * part, blocks.count(block));
    return std::pair(blocks.first(block) + from, std::min((place + 1) * part, blocks.count(block)) - from);
  };
  for (std::int64_t round = 0; round <= blocks.rounds(); ++round) {
    const bool has_inputs = round < blocks.rounds();
    HOCKET_TRY(std::byte * slot, rounds.open());
    std::byte* const results = slot + ranks * part * size;
    if (round > 0) {
      const auto [first, count] = part_of(round - 1, rounds.place());
      parts.each(first, count, [&](const Stretch& stretch) {
        std::memcpy(results + stretch.at * size, output_at(stretch.part, stretch.first * size),
                    bytes(stretch.count * size));
      });
    }
    for (std::int64_t place = 0; has_inputs && place < ranks; ++place) {
      if (place == rounds.place()) continue;
      const auto [first, count] = part_of(round, place);
      parts.each(first, count, [&](const Stretch& stretch) {
        std::memcpy(slot + (place * part + stretch.at) * size, input_at(stretch.part, stretch.first * size),
                    bytes(stretch.count * size));
      });
    }
    rounds.post();
    HOCKET_TRY(const bool again, began_in_vain(rounds));
    if (again) {
      --round;
      continue;
    }
    for (std::int64_t i = 1; round > 0 && i < ranks; ++i) {
      const auto place = static_cast<std::int32_t>((rounds.place() + i) % ranks);
      const auto [first, count] = part_of(round - 1, place);
      const std::byte* theirs = rounds.slot_of(place) + ranks * part * size;
      parts.each(first, count, [&](const Stretch& stretch) {
        copy(theirs + stretch.at * size, output_at(stretch.part, stretch.first * size), stretch.count * size,
             cut.streaming);
      });
    }
    if (!has_inputs) break;
    const auto [first, count] = part_of(round, rounds.place());
    parts.each(first, count, [&](const Stretch& stretch) {
      for (std::int32_t place = 0; place < rounds.size(); ++place) {
        sources[place] = rounds.slot_of(place) + (rounds.place() * part + stretch.at) * size;
      }
      sources[rounds.place()] = input_at(stretch.part, stretch.first * size);
      reduce(reduction, sources.span(), output_at(stretch.part, stretch.first * size), stretch.count);
    });
  }
  return {};
}

Status copying_all_gather(Rounds& rounds, const GroupCall& call, Cut cut) {
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
    parts.each(first, count, [&](const Stretch& stretch) {
      std::memcpy(slot + stretch.at * size, input_at(stretch.part, stretch.first * size), bytes(stretch.count * size));
    });
    rounds.post();
    if (round == 0) {
      HOCKET_TRY(const bool again, began_in_vain(rounds));
      if (again) {
        --round;
        continue;
      }
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      const std::byte* mine = input_at(stretch.part, stretch.first * size);
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
  return {};
}

Status copying_reduce_scatter(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const std::int64_t ranks = rounds.size();
  const Reduction reduction = reduction_of(rounds, call);
  Parts parts(call);
  const std::int64_t share = cut.block / ranks / size;
  const Blocks blocks(parts.total(), share);
  SourceList sources(rounds.size());
  const auto scattered = [&](const Stretch& stretch, std::int64_t place) {
    return input_at(stretch.part, (place * stretch.part.count + stretch.first) * size);
  };
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    for (std::int64_t place = 0; place < ranks; ++place) {
      if (place == rounds.place()) continue;
      parts.each(first, count, [&](const Stretch& stretch) {
        std::memcpy(slot + (place * share + stretch.at) * size, scattered(stretch, place), bytes(stretch.count * size));
      });
    }
    rounds.post();
    HOCKET_TRY(const bool again, began_in_vain(rounds));
    if (again) {
      --round;
      continue;
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      for (std::int32_t place = 0; place < rounds.size(); ++place) {
        sources[place] = rounds.slot_of(place) + (rounds.place() * share + stretch.at) * size;
      }
      sources[rounds.place()] = scattered(stretch, rounds.place());
      reduce(reduction, sources.span(), output_at(stretch.part, stretch.first * size), stretch.count, cut.streaming);
    });
  }
  return {};
}

Status copying_broadcast(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const bool is_source = rounds.place() == call.root;
  Parts parts(call);
  const Blocks blocks(parts.total(), cut.block / size);
  for (std::int64_t round = 0; round < blocks.rounds(); ++round) {
    const std::int64_t first = blocks.first(round);
    const std::int64_t count = blocks.count(round);
    HOCKET_TRY(std::byte * slot, rounds.open());
    if (is_source) {
      parts.each(first, count, [&](const Stretch& stretch) {
        std::memcpy(slot + stretch.at * size, input_at(stretch.part, stretch.first * size),
                    bytes(stretch.count * size));
      });
    }
    rounds.post();
    if (round == 0) {
      HOCKET_TRY(const bool again, began_in_vain(rounds));
      if (again) {
        --round;
        continue;
      }
    }
    const std::byte* from = nullptr;
    if (!is_source) {
      HOCKET_TRY(from, rounds.take(call.root));
    }
    parts.each(first, count, [&](const Stretch& stretch) {
      const std::byte* data = is_source ? input_at(stretch.part, stretch.first * size) : from + stretch.at * size;
      std::byte* to = output_at(stretch.part, stretch.first * size);
      if (to != data) copy(data, to, stretch.count * size, cut.streaming);
    });
  }
  return {};
}

}  // namespace hocket
