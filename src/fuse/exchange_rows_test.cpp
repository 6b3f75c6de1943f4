#include "hocket/fuse/exchange_rows.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"
#include "support/parsed_graph.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

constexpr std::string_view along = "hocket.all_to_all_along.default";
constexpr std::string_view with_tail = "hocket.all_to_all_single.default";

void expect_sound_change(const std::string& text, std::string_view op) {
  const Graph graph = graph_of(text);
  const auto changed = exchange_rows(graph);
  ASSERT_TRUE(changed) << changed.error().to_string();
  ASSERT_TRUE(changed->graph) << text;
  EXPECT_EQ(problems_of(*changed->graph), "") << print(*changed->graph);
  EXPECT_EQ(count_of(*changed->graph, op), 1U) << print(*changed->graph);
  for (const std::string_view gone :
       {"aten.clone.default", "aten.cat.default", "_c10d_functional.all_to_all_single.default"})
    EXPECT_EQ(count_of(*changed->graph, gone), 0U) << print(*changed->graph);
  expect_same_values(graph, *changed->graph);
}

void expect_unchanged(const std::string& text) {
  const auto changed = exchange_rows(graph_of(text));
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_FALSE(changed->graph) << print(*changed->graph);
}

struct Rows {
  std::string_view parts = "2, 3, 5, 4";          // [ranks, experts, rows, width]
  std::string_view order = "1, 0, 2, 3";          // how they are put
  std::string_view sizes = "[15, 15], [15, 15]";  // splits
  std::string_view between = "";
  std::string_view returned = "%z";
};

// Tokens go to their experts: what comes by rank is put by expert.
std::string dispatched(const Rows& rows) {
  return fmt::format(R"(graph @step(%x: f32[30,4]) {{
  group @ep = ranks[0,1]
  %y = aten.relu(%x)
  %sent = _c10d_functional.all_to_all_single(%y, {}, @ep)
  %there = _c10d_functional.wait_tensor(%sent)
  %parts = aten.view(%there, [{}])
  %turned = aten.permute(%parts, [{}])
  %own = aten.clone(%turned, memory_format=memory_format("contiguous_format"))
{}  %z = aten.neg(%own)
  return {}
}})",
                     rows.sizes, rows.parts, rows.order, rows.between, rows.returned);
}

// And back: what lies by expert goes by rank. `rest` stands behind the wait, which gives %there.
std::string combined(const Rows& rows, std::string_view rest) {
  return fmt::format(R"(graph @step(%x: f32[3,2,5,4], %t: f32[1,4]) {{
  group @ep = ranks[0,1]
  %y = aten.relu(%x)
  %turned = aten.permute(%y, [{}])
  %own = aten.clone(%turned, memory_format=memory_format("contiguous_format"))
  %flat = aten.view(%own, [30, 4])
{}  %sent = _c10d_functional.all_to_all_single(%flat, {}, @ep)
  %there = _c10d_functional.wait_tensor(%sent)
{}  return {}
}})",
                     rows.order, rows.between, rows.sizes, rest, rows.returned);
}

constexpr std::string_view negated = "  %z = aten.neg(%there)\n";
constexpr std::string_view with_row = "  %more = aten.cat([%there, %t])\n  %z = aten.neg(%more)\n";

// Any all-to-all, and a row behind what comes.
std::string appended(std::string_view splits, std::string_view cat, std::string_view more = "",
                     std::string_view returned = "%z") {
  return fmt::format(R"(graph @step(%x: f32[6,4], %t: f32[1,4]) {{
  group @ep = ranks[0,1]
  %y = aten.relu(%x)
  %sent = _c10d_functional.all_to_all_single(%y, {}, @ep)
{}  %there = _c10d_functional.wait_tensor(%sent)
  %zeros = aten.full([2, 4], 0, dtype=f32, device=device("cpu"), pin_memory=false)
  %late = aten.neg(%t)
  %more = aten.cat({})
  %z = aten.neg(%more)
  return {}
}})",
                     splits, more, cat, returned);
}

TEST(ExchangeRows, what_comes_goes_where_it_belongs) {
  expect_sound_change(dispatched({}), along);
  expect_sound_change(dispatched({.sizes = "[], []"}), along);
  expect_sound_change(dispatched({.parts = "2, 3, 1, 5, 4", .order = "1, 2, 0, 3, 4"}), along);
}

TEST(ExchangeRows, what_goes_is_taken_from_where_it_lies) {
  expect_sound_change(combined({}, negated), along);
  // The turned view has other users, which keep it.
  expect_sound_change(combined({.between = "  %w = aten.neg(%turned)\n", .returned = "%z, %w"}, negated), along);
}

TEST(ExchangeRows, rows_behind_what_comes_have_their_place_from_the_start) {
  expect_sound_change(appended("[3, 3], [3, 3]", "[%there, %t]"), with_tail);
  expect_sound_change(appended("[], []", "[%there, %t], 0"), with_tail);
  // A constant may stand behind the collective: it moves.
  expect_sound_change(appended("[], []", "[%there, %zeros]"), with_tail);
  expect_sound_change(combined({}, with_row), along);
}

TEST(ExchangeRows, who_asks_for_the_size_of_what_comes_gets_it) {
  const std::string size = "  %n = aten.sym_size.int(%sent, 0)\n";
  expect_sound_change(appended("[3, 3], [3, 3]", "[%there, %t]", size, "%z, %n"), with_tail);
  expect_sound_change(combined({}, fmt::format("{}{}", size, with_row)), along);
}

TEST(ExchangeRows, other_orders_stay) {
  expect_unchanged(dispatched({.order = "1, 2, 3, 0"}));  // behind the last one
  expect_unchanged(dispatched({.order = "2, 1, 0, 3"}));
  expect_unchanged(dispatched({.parts = "3, 2, 5, 4"}));   // the first is not the ranks
  expect_unchanged(dispatched({.parts = "2, 15, 1, 4"}));  // rows that are too many
  expect_unchanged(combined({.order = "1, 2, 0, 3"}, negated));
  expect_unchanged(combined({.order = "2, 0, 1, 3"}, negated));
}

TEST(ExchangeRows, unequal_parts_are_not_turned) { expect_unchanged(dispatched({.sizes = "[10, 20], [10, 20]"})); }

TEST(ExchangeRows, what_others_use_or_write_stays) {
  expect_unchanged(dispatched({.between = "  %w = aten.neg(%there)\n", .returned = "%z, %w"}));
  expect_unchanged(dispatched({.between = "  %w = aten.neg(%turned)\n", .returned = "%z, %w"}));
  expect_unchanged(combined({.between = "  %w = aten.neg(%own)\n", .returned = "%z, %w"}, negated));
  expect_unchanged(combined({.between = "  %w = aten.relu_(%y)\n"}, negated));  // the copy is as it was before
  expect_unchanged(appended("[], []", "[%t, %there]"));
  expect_unchanged(appended("[], []", "[%there, %late]"));  // computed behind the collective
  expect_unchanged(appended("[], []", "[%there, %there]"));
  expect_unchanged(appended("[], []", "[%there, %t]", "  %w = aten.relu_(%t)\n"));
  expect_unchanged(appended("[], []", "[%there, %t]", "", "%z, %there"));
}

}  // namespace
}  // namespace hocket
