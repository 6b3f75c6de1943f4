#include "schedule/bucket_moves.h"

#include <algorithm>

namespace hocket::overlap {

BucketMoves::BucketMoves(const StepGraph& steps, const UnitGraph::Grouping& grouping,
                         const std::vector<StepIndex>& order, const Buckets& buckets)
    : place_(steps.size()), known_(steps.size(), false) {
  std::vector<std::uint32_t> bucket_of(steps.size(), no_class);
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    for (const StepIndex member : buckets[b]) bucket_of[member] = b;
  }
  std::vector<std::size_t> row_of_class;
  std::vector<std::pair<std::size_t, std::size_t>> at(buckets.size());  // row and place of a bucket that was met
  std::vector<bool> met(buckets.size(), false);
  for (const StepIndex step : order) {
    const std::uint32_t merge_class = grouping.class_of[step];
    if (merge_class == no_class) continue;
    if (merge_class >= row_of_class.size()) row_of_class.resize(merge_class + 1, no_class);
    if (row_of_class[merge_class] == no_class) {
      row_of_class[merge_class] = rows_.size();
      rows_.emplace_back();
    }
    const std::size_t row = row_of_class[merge_class];
    const std::uint32_t bucket = bucket_of[step];
    if (bucket == no_class || !met[bucket]) {
      rows_[row].emplace_back();
      if (bucket != no_class) {
        met[bucket] = true;
        at[bucket] = {row, rows_[row].size() - 1};
      }
    }
    const std::size_t place = bucket == no_class ? rows_[row].size() - 1 : at[bucket].second;
    rows_[row][place].push_back(step);
    place_[step] = {row, place};
    known_[step] = true;
  }
}

Buckets BucketMoves::changed(const std::vector<StepIndex>& waited_for, Dice& dice) const {
  std::size_t row = dice.below(rows_.size());
  std::size_t place = dice.below(rows_[row].size());
  if (!waited_for.empty() && dice.below(4) != 0) {
    const StepIndex step = waited_for[dice.below(waited_for.size())];
    if (known_[step]) {
      row = place_[step].row;
      const auto near = static_cast<std::int64_t>(place_[step].bucket) + static_cast<std::int64_t>(dice.below(3)) - 1;
      place =
          static_cast<std::size_t>(std::clamp<std::int64_t>(near, 0, static_cast<std::int64_t>(rows_[row].size()) - 1));
    }
  }
  auto buckets = rows_[row];
  const std::uint64_t move = dice.below(4);
  auto& first = buckets[place];
  if (move == 0 && first.size() > 1) {
    const auto cut = static_cast<std::ptrdiff_t>(1 + dice.below(first.size() - 1));
    std::vector<StepIndex> second(first.begin() + cut, first.end());
    first.erase(first.begin() + cut, first.end());
    buckets.insert(buckets.begin() + static_cast<std::ptrdiff_t>(place) + 1, std::move(second));
  } else if (place + 1 < buckets.size()) {
    auto& second = buckets[place + 1];
    if (move == 1) {
      first.insert(first.end(), second.begin(), second.end());
      second.clear();
    } else if (move == 2) {
      const auto count = static_cast<std::ptrdiff_t>(1 + dice.below(second.size()));
      first.insert(first.end(), second.begin(), second.begin() + count);
      second.erase(second.begin(), second.begin() + count);
    } else {
      const auto kept = static_cast<std::ptrdiff_t>(dice.below(first.size()));
      second.insert(second.begin(), first.begin() + kept, first.end());
      first.erase(first.begin() + kept, first.end());
    }
  }
  Buckets result;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (const auto& bucket : r == row ? buckets : rows_[r]) {
      if (bucket.size() > 1) result.push_back(bucket);
    }
  }
  return result;
}

}  // namespace hocket::overlap
