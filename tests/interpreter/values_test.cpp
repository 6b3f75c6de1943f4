#include "support/interpreter_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/interpreter_memory.h"
#include "support/random.h"

namespace hocket::interpreter {

TEST(Values, obey_the_laws_of_a_field) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Word a = random.below(prime);
    const Word b = random.below(prime);
    const Word c = random.below(prime);
    EXPECT_EQ(multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c)));
    EXPECT_EQ(multiply(multiply(a, b), c), multiply(a, multiply(b, c)));
    EXPECT_EQ(subtract(add(a, b), b), a);
    EXPECT_EQ(multiply(multiply(a, inverse(b)), b), a);
    EXPECT_LT(multiply(a, b), prime);
    EXPECT_LT(add(a, b), prime);
  }
  EXPECT_EQ(add(prime - 1, 1), 0U);
  EXPECT_EQ(multiply(prime - 1, prime - 1), 1U);
}

TEST(Values, take_numbers_exactly) {
  EXPECT_EQ(from_integer(-3), prime - 3);
  EXPECT_EQ(from_integer(std::numeric_limits<std::int64_t>::min()),
            subtract(0, from_integer(std::int64_t{1} << 62) * 2 % prime));
  EXPECT_EQ(from_real(4.0), 4U);
  EXPECT_EQ(from_real(-7), prime - 7);
  EXPECT_EQ(multiply(from_real(0.5), 2), 1U);
  EXPECT_EQ(multiply(from_real(0.1), from_real(std::ldexp(1.0, 60))), from_real(0.1 * std::ldexp(1.0, 60)));
  EXPECT_EQ(from_real(0), 0U);
  EXPECT_NE(from_real(INFINITY), from_real(-INFINITY));
}

TEST(Values, hashes_tell_order_and_length) {
  EXPECT_NE(mixed(mixed(0, 1), 2), mixed(mixed(0, 2), 1));
  EXPECT_NE(mixed(mixed(0, "ab"), "c"), mixed(mixed(0, "a"), "bc"));
}

TEST(Values, poison_says_where_it_comes_from) {
  const Word word = poison(PoisonKind::in_flight, 12345, 99);
  EXPECT_TRUE(is_poison(word));
  EXPECT_EQ(poison_kind(word), PoisonKind::in_flight);
  EXPECT_EQ(poison_origin(word), 12345U);
  EXPECT_EQ(poison_kind(poison(PoisonKind::unwritten, 0, 0)), PoisonKind::unwritten);
  EXPECT_FALSE(is_poison(prime - 1));
  EXPECT_LT(without_poison(word), prime);
}

TEST(Memory, is_seen_through_strides) {
  Reinterpretations reinterpretations;
  Memory memory(24, 4, reinterpretations);
  memory.write({4, 0, 0, {2, 3}, {3, 1}}, std::vector<Word>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(memory.read({4, 0, 0, {3, 2}, {1, 3}}), (std::vector<Word>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(memory.read({4, 0, 1, {2}, {2}}), (std::vector<Word>{2, 4}));
  EXPECT_EQ(memory.read({4, 8, 0, {2}, {0}}), (std::vector<Word>{3, 3}));
  EXPECT_EQ(memory.read({4, 0, 5, {}, {}}), (std::vector<Word>{6}));
  EXPECT_TRUE(memory.read({4, 0, 0, {0, 4}, {4, 1}}).empty());
}

// Two elements of 4 bytes, moved as one of 8 and as eight of 1.
TEST(Memory, keeps_elements_that_are_moved_as_another_size) {
  Reinterpretations reinterpretations;
  Memory from(8, 1, reinterpretations);
  Memory to(8, 1, reinterpretations);
  Memory coarse(8, 8, reinterpretations);
  const Layout halves{4, 0, 0, {2}, {1}};
  const Layout one{8, 0, 0, {1}, {1}};
  const Layout bytes{1, 0, 0, {8}, {1}};
  from.write(halves, std::vector<Word>{7, 9});
  for (const Layout& layout : {one, bytes, halves}) {
    to.write(bytes, std::vector<Word>(8, 0));
    to.write(layout, from.read(layout));
    EXPECT_EQ(to.read(halves), (std::vector<Word>{7, 9})) << layout.element_bytes;
  }
  coarse.write(one, from.read(one));
  to.write(one, coarse.read(one));
  EXPECT_EQ(to.read(halves), (std::vector<Word>{7, 9}));
}

TEST(Memory, a_write_to_one_byte_destroys_the_element) {
  Reinterpretations reinterpretations;
  Memory memory(8, 1, reinterpretations);
  const Layout halves{4, 0, 0, {2}, {1}};
  memory.write(halves, std::vector<Word>{7, 9});
  memory.write({1, 0, 3, {1}, {1}}, std::vector<Word>{1});
  EXPECT_NE(memory.read(halves)[0], 7U);
  EXPECT_EQ(memory.read(halves)[1], 9U);
}

}  // namespace hocket::interpreter
