// Text of graphs: random graphs survive printing and parsing. What single constructs look like is in tests/programs/text*.hk.
#include "hocket/ir/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/every_graph.h"
#include "support/random.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t times_longer = 20;

void must_survive(const Graph& graph) {
  const std::string text = print(graph);
  const auto again = parse_graph(text, "printed");
  ASSERT_TRUE(again) << again.error().to_string() << "\n" << text;
  ASSERT_EQ(Graph::first_difference(graph, *again), "") << text;
  ASSERT_EQ(again->digest(), graph.digest());
  ASSERT_EQ(print(*again), text);
}

TEST(Text, of_random_graphs_parses_back_to_the_same) { for_random_graphs(0, 1500, must_survive); }
TEST(LongText, of_random_graphs_parses_back_to_the_same) {
  for_random_graphs(1'000'000, 1500 * times_longer, must_survive);
}

TEST(Text, of_shipped_captures_parses_back_to_the_same) { for_shipped_captures(must_survive); }

TEST(Text, without_facts_still_describes_the_same_computation) {
  const Graph graph = random_graph(4, {.shape = GraphShape::fsdp});
  const auto bare = parse_graph(print(graph, {.facts = false}), "bare");
  ASSERT_TRUE(bare) << bare.error().to_string();
  EXPECT_TRUE(verify(*bare).empty());
  EXPECT_EQ(bare->size(), graph.size());
  EXPECT_FALSE(bare->estimate(NodeId(bare->size() - 2)));
}

TEST(Text, tells_programs_of_steps_from_graphs) {
  EXPECT_TRUE(looks_like_program("// a comment\n program @p {}"));
  EXPECT_FALSE(looks_like_program("graph @g() {}"));
  EXPECT_FALSE(looks_like_program(""));
  EXPECT_FALSE(looks_like_program("{\"schema\": 1}"));
}

// ---------------------------------------------------------------- bad input

Error error_of(std::string_view text) {
  const auto graph = parse_graph(text, "bad.hk");
  EXPECT_FALSE(graph) << text.substr(0, 200);
  return graph ? Error{} : graph.error();
}

std::string with_argument(const std::string& argument) {
  return "graph @g(%x: f32[4]) {\n  %y = mylib.op(%x, " + argument + ") : f32[4]\n  return %y\n}\n";
}

TEST(TextErrors, say_that_text_is_not_utf8) {
  for (const char* bytes : {"\xff", "\xc3", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf"}) {
    EXPECT_EQ(error_of(with_argument("\"" + std::string(bytes) + "\"")).to_string(),
              "bad.hk: not UTF-8; program text is UTF-8");
  }
}

TEST(TextErrors, refuse_deep_nesting_without_running_out_of_stack) {
  EXPECT_TRUE(parse_graph(with_argument(std::string(60, '[') + std::string(60, ']')), "deep.hk"));
  for (const std::size_t depth : {70U, 1000U, 1'000'000U}) {
    const std::string nested = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_THAT(error_of(with_argument(nested)).message, StartsWith("an argument is nested more than 64 deep"))
        << depth;
    EXPECT_FALSE(parse_graph(with_argument("json(" + nested + ")"), "deep.hk")) << depth;
    EXPECT_FALSE(parse_graph("graph @g" + std::string(depth, '('), "deep.hk"));
    EXPECT_FALSE(parse_graph("graph @g() {\n" + std::string(depth, '{'), "deep.hk"));
  }
}

TEST(TextErrors, show_a_part_of_a_long_line) {
  const Error error = error_of(with_argument(std::string(100'000, ' ') + "oops" + std::string(100'000, ' ')));
  EXPECT_EQ(error.where, "bad.hk:2:100021");
  EXPECT_LT(error.message.size(), 400U);
  EXPECT_THAT(error.message, HasSubstr("'oops' is no argument"));
}

TEST(TextErrors, are_found_at_every_place_where_a_text_is_cut_off) {
  const std::string text = print(random_graph(6, {.operators = 15, .odd_names = true}));
  const std::size_t last = text.rfind('}');
  for (std::size_t size = 0; size < last; ++size) {
    const auto graph = parse_graph(std::string_view(text).substr(0, size), "cut.hk");
    ASSERT_FALSE(graph) << "the first " << size << " bytes";
    ASSERT_THAT(graph.error().where, StartsWith("cut.hk"));
    ASSERT_EQ(graph.error().kind, ErrorKind::input);
  }
}

TEST(TextErrors, name_sizes_that_are_too_large) {
  for (const char* size :
       {"1152921504606846977", "9223372036854775807", "9223372036854775808", "99999999999999999999999999"}) {
    EXPECT_THAT(error_of(fmt::format("graph @g(%x: f32[{}]) {{ return %x }}", size)).to_string(),
                HasSubstr(fmt::format("bad.hk:1:18: size expression '{}'", size)));
  }
  EXPECT_TRUE(parse_graph("graph @g(%x: f32[1152921504606846976]) { return %x }", "large.hk"));
}

TEST(TextErrors, sizes_whose_product_overflows_need_strides) {
  const std::string dims = "1152921504606846976,1152921504606846976,4";
  EXPECT_THAT(error_of("graph @g(%x: f32[" + dims + "]) { return %x }").to_string(),
              HasSubstr("sizes whose product has no representation; give the strides"));
  const auto graph = parse_graph("graph @g(%x: f32[" + dims + "] strides[1,1,1]) { return %x }", "large.hk");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_TRUE(parse_graph(print(*graph), "again.hk"));
}

}  // namespace
}  // namespace hocket
