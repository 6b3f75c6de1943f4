#include "hocket/cost/agree.h"

#include <algorithm>
#include <bit>
#include <map>

namespace hocket {

namespace {

using Gathered = std::vector<std::vector<std::int64_t>>;

// How many steps are gathered at once: with a thousand ranks a slice is a few megabytes, not the whole program a thousand times.
constexpr std::size_t steps_in_a_slice = 1024;

// "rank 3", "ranks 0 to 2, 5"
std::string rank_list(const std::vector<std::size_t>& ranks) {
  std::string list;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    const std::size_t first = ranks[i];
    const std::size_t last = ranks[end - 1];
    if (!list.empty()) list += ", ";
    if (last == first) list += fmt::format("{}", first);
    else list += fmt::format("{}{}{}", first, last == first + 1 ? ", " : " to ", last);
    i = end;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + list;
}

// The ranks that gave the same, for each thing that was given; by the first rank that gave it.
std::vector<std::vector<std::size_t>> parties(const Gathered& gathered) {
  std::map<std::vector<std::int64_t>, std::size_t> party_of;
  std::vector<std::vector<std::size_t>> result;
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    const auto [entry, fresh] = party_of.try_emplace(gathered[rank], result.size());
    if (fresh) result.emplace_back();
    result[entry->second].push_back(rank);
  }
  return result;
}

Result<Gathered> gather_from_all(std::span<const std::int64_t> mine, AllGather& all, std::size_t expected) {
  HOCKET_TRY(Gathered gathered, all.gather(mine));
  if (std::int64_t(gathered.size()) != all.ranks())
    return fail(ErrorKind::internal, "the all-gather gave {} lists, expected {}, one for each rank", gathered.size(),
                all.ranks());
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    if (gathered[rank].size() != expected)
      return fail(ErrorKind::peer, "rank {} sent {} numbers, expected {}: it takes part in another agreement", rank,
                  gathered[rank].size(), expected);
  }
  return gathered;
}

Status same_step_count(std::size_t mine, AllGather& all) {
  const std::int64_t count = static_cast<std::int64_t>(mine);
  HOCKET_TRY(const Gathered counts, gather_from_all({&count, 1}, all, 1));
  const auto groups = parties(counts);
  if (groups.size() == 1) return {};
  std::vector<std::string> who;
  for (const auto& ranks : groups) {
    who.push_back(
        fmt::format("{} {} {}", rank_list(ranks), ranks.size() == 1 ? "has" : "have", counts[ranks.front()].front()));
  }
  return fail(
      ErrorKind::peer,
      "ranks have different numbers of steps: {}; every rank must compile the same program with the same options",
      fmt::join(who, ", "));
}

}  // namespace

Result<std::vector<Nanoseconds>> align_estimates(std::span<const Nanoseconds> mine, AllGather& all) {
  HOCKET_CHECK(same_step_count(mine.size(), all));
  std::vector<Nanoseconds> agreed;
  agreed.reserve(mine.size());
  std::vector<std::int64_t> column;
  for (std::size_t begin = 0; begin < mine.size(); begin += steps_in_a_slice) {
    std::vector<std::int64_t> slice;
    for (const Nanoseconds time : mine.subspan(begin, std::min(steps_in_a_slice, mine.size() - begin)))
      slice.push_back(time.picoseconds);
    HOCKET_TRY(const Gathered gathered, gather_from_all(slice, all, slice.size()));
    for (std::size_t step = 0; step < slice.size(); ++step) {
      column.clear();
      for (const auto& list : gathered) column.push_back(list[step]);
      const auto middle = column.begin() + std::ptrdiff_t((column.size() - 1) / 2);
      std::nth_element(column.begin(), middle, column.end());
      agreed.push_back(Nanoseconds::from_picoseconds(*middle));
    }
  }
  return agreed;
}

Status agree_on(const Digest& mine, std::string_view what, AllGather& all) {
  const std::int64_t halves[] = {std::bit_cast<std::int64_t>(mine.high), std::bit_cast<std::int64_t>(mine.low)};
  HOCKET_TRY(const Gathered digests, gather_from_all(halves, all, 2));
  const auto groups = parties(digests);
  if (groups.size() == 1) return {};
  std::vector<std::string> who;
  for (const auto& ranks : groups) {
    const auto& given = digests[ranks.front()];
    const Digest digest{std::bit_cast<std::uint64_t>(given[0]), std::bit_cast<std::uint64_t>(given[1])};
    who.push_back(fmt::format("{} {} {}", rank_list(ranks), ranks.size() == 1 ? "has" : "have", digest.to_string()));
  }
  return fail(ErrorKind::peer, "ranks differ in {}: {}; compare what was compiled on them", what, fmt::join(who, ", "));
}

}  // namespace hocket
