#include "hocket/run/all_ranks.h"

#include <algorithm>

namespace hocket {

Result<std::vector<std::vector<std::int64_t>>> AllRanks::gather(std::span<const std::int64_t> mine) {
  CallOptions options;
  options.blocking = true;
  const auto ranks = static_cast<std::size_t>(group_.group().size());
  const auto length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(ranks);
  HOCKET_CHECK(group_.all_gather(&length, lengths.data(), 1, Dtype::i64, options).wait());

  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::int64_t> padded(mine.begin(), mine.end());
  padded.resize(static_cast<std::size_t>(longest));
  std::vector<std::int64_t> all(padded.size() * ranks);
  HOCKET_CHECK(group_.all_gather(padded.data(), all.data(), longest, Dtype::i64, options).wait());

  std::vector<std::vector<std::int64_t>> lists;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank) * longest;
    lists.emplace_back(begin, begin + lengths[rank]);
  }
  return lists;
}

}  // namespace hocket
