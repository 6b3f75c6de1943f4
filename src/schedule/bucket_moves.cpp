#include "schedule/bucket_moves.h"

#include <algorithm>

namespace hocket::overlap {

BucketMoves::BucketMoves(const StepGraph& steps, const UnitGraph::Grouping& grouping, const ClassSizes& classes,
                         const std::vector<StepIndex>& order, const Buckets& buckets)
    : place_(steps.size()), known_(steps.size(), false) {
  std::vector<std::uint32_t> bucket_of(steps.size(), no_class);
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    for (const StepIndex member : buckets[b]) bucket_of[member] = b;
  }
  const bool all_serial = std::find(classes.serial.begin(), classes.serial.end(), false) == classes.serial.end();
  const auto is_left = [&](std::uint32_t merge_class) { return classes.serial[merge_class] && !all_serial; };
  for (const auto& bucket : buckets) {
    if (is_left(grouping.class_of[bucket[0]])) others_.push_back(bucket);
  }
  std::vector<std::size_t> row_of_class;
  std::vector<std::pair<std::size_t, std::size_t>> at(buckets.size());  // row and place of a bucket that was met
  std::vector<bool> met(buckets.size(), false);
  for (const StepIndex step : order) {
    const std::uint32_t merge_class = grouping.class_of[step];
    if (merge_class == no_class || is_left(merge_class)) continue;
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

BucketMoves::Place BucketMoves::any_place(const std::vector<Stall>& stalls, Dice& dice) const {
  Place place{dice.below(rows_.size()), 0};
  place.bucket = dice.below(rows_[place.row].size());
  Time total = 0;
  for (const Stall& stall : stalls) total += known_[stall.collective] ? stall.time : 0;
  if (total <= 0 || dice.below(4) == 0) return place;
  auto at = static_cast<Time>(dice.below(static_cast<std::uint64_t>(total)));
  for (const Stall& stall : stalls) {
    if (!known_[stall.collective]) continue;
    at -= stall.time;
    if (at >= 0) continue;
    place = place_[stall.collective];
    const auto last = static_cast<std::int64_t>(rows_[place.row].size()) - 1;
    const auto near = static_cast<std::int64_t>(place.bucket) + static_cast<std::int64_t>(dice.below(3)) - 1;
    place.bucket = static_cast<std::size_t>(std::clamp<std::int64_t>(near, 0, last));
    break;
  }
  return place;
}

Buckets BucketMoves::changed(const std::vector<Stall>& stalls, Dice& dice) const {
  const auto [row, place] = any_place(stalls, dice);
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
  Buckets result = others_;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (const auto& bucket : r == row ? buckets : rows_[r]) {
      if (bucket.size() > 1) result.push_back(bucket);
    }
  }
  return result;
}

}  // namespace hocket::overlap
