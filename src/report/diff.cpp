#include "hocket/report/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

namespace hocket {

namespace {

using Places = std::unordered_map<std::string_view, std::size_t>;

Places places_of(const ShownTimeline& line) {
  Places places;
  for (std::size_t i = 0; i < line.spans.size(); ++i) places.emplace(line.spans[i].name, i);
  return places;
}

// The members of a longest increasing subsequence: what can stay where it is.
std::vector<bool> longest_increasing(const std::vector<std::size_t>& values) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> ends, before(values.size(), none);  // ends: positions of the smallest last members by length
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), values[i],
                                     [&](std::size_t position, std::size_t value) { return values[position] < value; });
    if (at != ends.begin()) before[i] = *std::prev(at);
    if (at == ends.end()) ends.push_back(i);
    else *at = i;
  }
  std::vector<bool> member(values.size(), false);
  for (std::size_t at = ends.empty() ? none : ends.back(); at != none; at = before[at]) member[at] = true;
  return member;
}

std::unordered_map<std::string_view, const ShownCollective*> collectives_of(const ShownTimeline& line) {
  std::unordered_map<std::string_view, const ShownCollective*> rows;
  for (const ShownCollective& row : line.collectives) rows.emplace(line.spans[row.span].name, &row);
  return rows;
}

Nanoseconds wait_of(const ShownTimeline& line, const ShownCollective& row) {
  return row.wait == no_span ? line.step_time : line.spans[row.wait].begin;
}

}  // namespace

TimelineDiff diff_timelines(const ShownTimeline& before, const ShownTimeline& after) {
  TimelineDiff diff;
  const Places was = places_of(before), is = places_of(after);
  for (const ShownSpan& span : before.spans) {
    if (!is.contains(span.name)) diff.gone.push_back(span.name);
  }
  std::vector<std::size_t> common;
  std::vector<const ShownSpan*> spans;
  for (const ShownSpan& span : after.spans) {
    const auto found = was.find(span.name);
    if (found == was.end()) {
      diff.added.push_back(span.name);
      continue;
    }
    common.push_back(found->second);
    spans.push_back(&span);
  }
  std::unordered_set<std::string_view> moved;
  const std::vector<bool> stays = longest_increasing(common);
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (stays[i]) continue;
    diff.moved.push_back(spans[i]->name);
    moved.insert(spans[i]->name);
  }
  const auto old_rows = collectives_of(before), new_rows = collectives_of(after);
  for (const ShownCollective& row : before.collectives) {
    const std::string& name = before.spans[row.span].name;
    if (!new_rows.contains(name)) diff.collectives_gone.push_back(name);
  }
  for (const ShownCollective& row : after.collectives) {
    const std::string& name = after.spans[row.span].name;
    const auto found = old_rows.find(name);
    if (found == old_rows.end()) {
      diff.collectives_added.push_back(name);
      continue;
    }
    const ShownCollective& old = *found->second;
    const bool wait_moved = row.wait != no_span && moved.contains(after.spans[row.wait].name);
    diff.collectives.push_back({name, old.issued, row.issued, wait_of(before, old), wait_of(after, row), old.exposed,
                                row.exposed, moved.contains(name) || wait_moved});
  }
  return diff;
}

namespace {

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())), ", "));
  return names.size() > most ? text + fmt::format(", … {} more", names.size() - most) : text;
}

std::string list(std::string_view what, const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("{:<22} {:>6}  {}\n", what, names.size(), some(names));
}

}  // namespace

std::string in_words(const TimelineDiff& diff, std::size_t most) {
  if (diff.same_order()) return "the same steps in the same order\n";
  std::string text = list("steps moved", diff.moved) + list("steps gone", diff.gone) + list("steps added", diff.added) +
                     list("collectives gone", diff.collectives_gone) +
                     list("collectives added", diff.collectives_added);
  std::vector<const MovedCollective*> rows;
  for (const MovedCollective& row : diff.collectives) {
    if (row.moved || row.exposed_before != row.exposed_after) rows.push_back(&row);
  }
  const auto change = [](const MovedCollective* row) {
    return std::abs((row->exposed_after - row->exposed_before).picoseconds);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return change(a) > change(b); });
  if (rows.empty()) return text;
  std::size_t width = 10;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) width = std::max(width, rows[i]->name.size());
  text +=
      fmt::format("\n{:<{}}  {:>24}  {:>24}  {:>24}\n", "collective", width, "starts at", "waited for at", "exposed");
  const auto pair = [](Nanoseconds was, Nanoseconds is) {
    return fmt::format("{} -> {}", to_string(was), to_string(is));
  };
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const MovedCollective& row = *rows[i];
    text += fmt::format("{:<{}}  {:>24}  {:>24}  {:>24}\n", row.name, width, pair(row.start_before, row.start_after),
                        pair(row.wait_before, row.wait_after), pair(row.exposed_before, row.exposed_after));
  }
  if (rows.size() > most) text += fmt::format("… {} more\n", rows.size() - most);
  return text;
}

}  // namespace hocket
