#include <array>
#include <charconv>

#include "cost/table_json.h"

namespace hocket {

namespace {

constexpr std::size_t most_sizes = 4096;
constexpr std::int64_t most_ranks = std::int64_t{1} << 20;
constexpr std::array<std::string_view, 4> table_members = {"unit", "size", "sizes", "times"};

constexpr std::array all_kinds = {CollectiveKind::all_reduce,     CollectiveKind::all_gather,
                                  CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                  CollectiveKind::broadcast,      CollectiveKind::p2p};

// "all_reduce/8"
Result<std::pair<CollectiveKind, std::int64_t>> read_row_key(const std::string& key, const JsonValue& row) {
  const std::size_t slash = key.find('/');
  const auto kind = collective_kind_from_name(std::string_view(key).substr(0, slash));
  std::int64_t ranks = 0;
  const char* const end = key.data() + key.size();
  const char* const begin = slash == std::string::npos ? end : key.data() + slash + 1;
  const auto [stop, problem] = std::from_chars(begin, end, ranks);
  if (!kind || problem != std::errc() || stop != end || ranks < 2 || ranks > most_ranks)
    return row.refuse(fmt::format("got this key, expected a kind and a group size such as \"all_reduce/8\"; kinds: {}",
                                  kind_names()));
  return std::pair(*kind, ranks);
}

Result<double> read_unit(const JsonValue& table) {
  HOCKET_TRY(const JsonValue unit, table.member("unit"));
  HOCKET_TRY(const std::string name, unit.text());
  if (name == "ns") return 1.0;
  if (name == "us") return 1e3;
  if (name == "ms") return 1e6;
  return unit.wrong("\"ns\", \"us\" or \"ms\"");
}

Result<CollectiveTable::Row> read_times(const JsonValue& row, double unit) {
  if (!row.raw().is_array()) return row.wrong("a list of times");
  CollectiveTable::Row times;
  times.reserve(row.raw().size());
  for (std::size_t i = 0; i < row.raw().size(); ++i) {
    const auto& time = row.raw()[i];
    if (!time.is_number() || !(time.get<double>() >= 0)) return row.element(i).wrong("a number that is not negative");
    times.push_back(time.get<double>() * unit);
  }
  return times;
}

}  // namespace

std::string kind_names() {
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : all_kinds) names.push_back(name_of(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<CollectiveTable> read_table(const JsonValue& value) {
  HOCKET_CHECK(value.has_only(table_members));
  if (const auto size = value.find("size"); size && size->raw() != size_meaning)
    return size->wrong(fmt::format("\"{}\"", size_meaning));
  HOCKET_TRY(const double unit, read_unit(value));
  HOCKET_TRY(const JsonValue sizes_value, value.member("sizes"));
  HOCKET_TRY(const auto size_list, sizes_value.elements(most_sizes));
  std::vector<std::int64_t> sizes;
  for (const JsonValue& size : size_list) {
    HOCKET_TRY(sizes.emplace_back(), size.integer(0, Dim::max));
  }
  auto table = CollectiveTable::make(std::move(sizes));
  if (!table) return sizes_value.refuse(table.error().message);
  HOCKET_TRY(const JsonValue times_value, value.member("times"));
  HOCKET_TRY(const auto rows, times_value.members());
  for (const auto& [key, row] : rows) {
    HOCKET_TRY(const auto kind_and_ranks, read_row_key(key, row));
    HOCKET_TRY(CollectiveTable::Row times, read_times(row, unit));
    if (auto added = table->add(kind_and_ranks.first, kind_and_ranks.second, std::move(times)); !added)
      return row.refuse(added.error().message);
  }
  return table;
}

}  // namespace hocket
