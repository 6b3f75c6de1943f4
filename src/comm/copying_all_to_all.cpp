#include <algorithm>
#include <cstring>

#include "comm/algorithms.h"
#include "comm/copy.h"

// A slot has a stretch for each of the others. Ranks know only what they themselves send and get, so with unequal splits the first round
// carries the numbers: each rank's longest stream, which decides how many rounds there are, as the note, and at the begin of each
// stretch how much will come and how much is expected in return. Everyone compares the numbers of all before it writes a result,
// so that all fail where two do not agree.

namespace hocket {

namespace {

// Where what goes to each place, or comes from it, lies. Equal parts need no list, nor the memory for one.
class Split {
 public:
  Split(std::span<const std::int64_t> counts, std::int64_t equal, std::int64_t size) : equal_(equal * size) {
    if (counts.empty()) return;
    starts_.push_back(0);
    for (const std::int64_t count : counts) starts_.push_back(starts_.back() + count * size);
  }
  std::int64_t start(std::int32_t place) const {
    return starts_.empty() ? place * equal_ : starts_[static_cast<std::size_t>(place)];
  }
  std::int64_t bytes(std::int32_t place) const { return start(place + 1) - start(place); }
  std::int64_t longest() const {
    std::int64_t most = starts_.empty() ? equal_ : 0;
    for (std::size_t i = 1; i < starts_.size(); ++i) most = std::max(most, starts_[i] - starts_[i - 1]);
    return most;
  }

 private:
  std::int64_t equal_;
  std::vector<std::int64_t> starts_;
};

constexpr std::int64_t header = 64;  // of a stretch

struct Agreed {
  std::int64_t sends;    // bytes of the whole stream to the place of this stretch
  std::int64_t expects;  // bytes of the whole stream from there
};

Status check_all_agree(Rounds& rounds, const GroupCall& call, std::int64_t stretch) {
  const auto said = [&](std::int32_t by, std::int32_t about) {
    Agreed agreed;
    std::memcpy(&agreed, rounds.slot_of(by) + share_for(by, about) * stretch, sizeof agreed);
    return agreed;
  };
  for (std::int32_t from = 0; from < rounds.size(); ++from) {
    for (std::int32_t to = 0; to < rounds.size(); ++to) {
      if (from == to) continue;
      const std::int64_t sent = said(from, to).sends;
      const std::int64_t expected = said(to, from).expects;
      if (sent == expected) continue;
      const std::int64_t size = size_of(call.dtype);
      Error error{
          ErrorKind::peer,
          fmt::format("rank {} sends {} elements to rank {}, which expects {}: ranks gave different splits, rank "
                      "{} in {}, rank {} in {}",
                      rounds.world_rank(from), sent / size, rounds.world_rank(to), expected / size,
                      rounds.world_rank(from), rounds.call_of(from), rounds.world_rank(to), rounds.call_of(to)),
          ""};
      rounds.fail_all(error);
      return fail(std::move(error));
    }
  }
  return {};
}

}  // namespace

Result<bool> copying_all_to_all(Rounds& rounds, const GroupCall& call, Cut cut) {
  const std::int64_t size = size_of(call.dtype);
  const bool equal = call.input_splits.empty();
  const Split sends(call.input_splits, call.count, size);
  const Split gets(call.output_splits, call.count, size);
  const auto* const input = static_cast<const std::byte*>(call.first.input);
  auto* const output = static_cast<std::byte*>(call.first.output);
  const std::int64_t head = equal ? 0 : header;
  const std::int64_t stretch = bytes_of_share(rounds, cut);
  const std::int64_t most = std::max<std::int64_t>(stretch - head, 1);  // 0 only where nobody has anything to send
  std::int64_t longest = std::max(sends.longest(), gets.longest());

  // As in in_rounds() of the other collectives, but how many rounds there are is known only after the first.
  const auto read = [&](std::int64_t done, std::uint32_t back) -> Status {
    for (std::int32_t i = 1; i < rounds.size(); ++i) {
      const std::int32_t place = (rounds.place() + i) % rounds.size();
      HOCKET_TRY(const std::byte* slot_there, rounds.take(place, back));
      const std::byte* const from = slot_there + share_for(place, rounds.place()) * stretch;
      const std::int64_t now = std::clamp<std::int64_t>(gets.bytes(place) - done, 0, most);
      if (now > 0) copy(from + head, output + gets.start(place) + done, now, cut.streaming);
    }
    return {};
  };
  std::int64_t done = 0;
  for (; done == 0 || done < longest; done += most) {
    HOCKET_TRY(std::byte * slot, rounds.open());
    for (std::int32_t place = 0; place < rounds.size(); ++place) {
      if (place == rounds.place()) continue;
      std::byte* const to = slot + share_for(rounds.place(), place) * stretch;
      const std::int64_t whole = sends.bytes(place);
      const Agreed agreed{whole, gets.bytes(place)};
      if (!equal) std::memcpy(to, &agreed, sizeof agreed);
      const std::int64_t now = std::clamp<std::int64_t>(whole - done, 0, most);
      if (now > 0) std::memcpy(to + head, input + sends.start(place) + done, bytes(now));
    }
    if (done > 0) HOCKET_CHECK(read(done - most, 1));
    rounds.post(equal ? 0 : static_cast<std::uint64_t>(longest) << 1 | 1U);
    if (done > 0) continue;
    HOCKET_CHECK(rounds.take_all());
    if (equal && !rounds.notes_are(0)) return false;
    for (std::int32_t place = 0; !equal && place < rounds.size(); ++place) {
      longest = std::max(longest, static_cast<std::int64_t>(rounds.note_of(place) >> 1));
    }
    if (!equal) HOCKET_CHECK(check_all_agree(rounds, call, stretch));
  }
  HOCKET_CHECK(read(done - most, 0));
  const std::int64_t own = sends.bytes(rounds.place());  // as much as it gets: check_and_count() has seen to it
  const std::byte* const mine = input + sends.start(rounds.place());
  std::byte* const there = output + gets.start(rounds.place());
  if (own > 0 && mine != there) copy(mine, there, own, cut.streaming);
  return true;
}

}  // namespace hocket
