#include "hocket/run/measure_collectives.h"

#include <gtest/gtest.h>

#include "support/lowered_program.h"
#include "support/world_threads.h"

namespace hocket {
namespace {

constexpr const char* with_collectives = R"(graph @g(%x: f32[64], %y: f32[64]) {
  group @both = ranks[0,1]
  group @me = ranks[0]
  %a = _c10d_functional.all_reduce(%x, "sum", @both)
  %b = _c10d_functional.wait_tensor(%a)
  %c = _c10d_functional.all_gather_into_tensor(%y, 2, @both)
  %d = _c10d_functional.wait_tensor(%c)
  return %b, %d
})";

TEST(MeasureCollectives, gives_all_ranks_the_same_table_of_what_the_program_calls) {
  std::vector<std::optional<CollectiveTable>> tables(2);
  each_in_a_thread(World::threads(2).value(), [&](World& world) {
    auto table = measure_collectives(program_of(with_collectives), world,
                                     {.each = std::chrono::milliseconds(1), .largest = Bytes(1 << 20)});
    ASSERT_TRUE(table) << table.error().to_string();
    tables[static_cast<std::size_t>(world.rank())] = *table;
  });
  ASSERT_TRUE(tables[0] && tables[1]);
  EXPECT_EQ(*tables[0], *tables[1]);
  EXPECT_EQ(tables[0]->rows().size(), 2U);
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
    const auto time = tables[0]->nanoseconds(kind, 2, Bytes(512 << 10));
    ASSERT_TRUE(time);
    EXPECT_GT(*time, 100);  // even with nothing to do a rank hears of another one no sooner
    EXPECT_LT(*time, 1e9);
  }
}

TEST(MeasureCollectives, has_nothing_to_say_of_a_program_that_does_not_communicate) {
  each_in_a_thread(World::threads(2).value(), [&](World& world) {
    const auto table =
        measure_collectives(program_of("graph @g(%x: f32[4]) {\n  %y = aten.relu(%x)\n  return %y\n}"), world);
    ASSERT_TRUE(table) << table.error().to_string();
    EXPECT_FALSE(*table);
  });
}

}  // namespace
}  // namespace hocket
