#include "hocket/compile/pass.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(PassRegistry, lists_the_known_names_for_an_unknown_one) {
  const auto pass = PassRegistry::builtin().find("sink_wait");
  ASSERT_FALSE(pass.has_value());
  EXPECT_EQ(pass.error().kind, ErrorKind::usage);
  EXPECT_TRUE(
      pass.error().message.starts_with("there is no pass called sink_wait; known: verify, remove_dead_getitems,"))
      << pass.error().message;
}

TEST(PassRegistry, refuses_a_second_pass_of_the_same_name) {
  PassRegistry registry = PassRegistry::builtin();
  const auto nothing = [](const Subject&, const PassContext&, PassArguments&) -> Result<PassResult> {
    return PassResult{};
  };
  EXPECT_TRUE(registry.add({"mine", "a pass of the user", Form::either, "", nothing}).has_value());
  EXPECT_FALSE(registry.add({"mine", "again", Form::either, "", nothing}).has_value());
  ASSERT_TRUE(registry.find("mine").has_value());
}

TEST(PassCalls, are_read_as_they_are_written) {
  const auto calls = parse_passes("sink_waits, bucket_all_gather(bucket_size_mb=50,form=concat) ,lower()");
  ASSERT_TRUE(calls) << calls.error().to_string();
  EXPECT_EQ(to_string(*calls), "sink_waits,bucket_all_gather(bucket_size_mb=50,form=concat),lower");
  EXPECT_EQ(*parse_passes(to_string(*calls)), *calls);
}

TEST(PassCalls, say_where_they_are_wrong) {
  const auto message = [](std::string_view text) { return parse_passes(text).error().message; };
  EXPECT_EQ(message(""), "in the list of passes, at character 1: expected the name of a pass, got the end");
  EXPECT_EQ(message("a,,b"), "in the list of passes, at character 3: expected the name of a pass, got ','");
  EXPECT_EQ(message("a(b)"), "in the list of passes, at character 4: expected = after b, got ')'");
  EXPECT_EQ(message("a(b=)"), "in the list of passes, at character 5: expected a value for b, got ')'");
  EXPECT_EQ(message("a(b=1"), "in the list of passes, at character 6: expected a closing bracket, got the end");
  EXPECT_EQ(message("a b"), "in the list of passes, at character 3: expected a comma between two passes, got 'b'");
}

TEST(PassArguments, refuse_keys_and_values_that_the_pass_does_not_have) {
  const auto status = [](PassArguments::Values values) {
    PassArguments arguments("p", std::move(values));
    arguments.integer("count", 1);
    arguments.flag("fast", false);
    arguments.real("budget", 0);
    arguments.bytes("size");
    return arguments.finish();
  };
  EXPECT_TRUE(status({{"count", "3"}, {"fast", "on"}, {"budget", "0.5"}, {"size", "25MiB"}}));
  EXPECT_EQ(status({{"cout", "3"}}).error().to_string(),
            "pass p: has no option cout; known: count, fast, budget, size");
  EXPECT_EQ(status({{"count", "-3"}}).error().to_string(),
            "pass p: count is -3, expected a whole number that is not negative");
  EXPECT_EQ(status({{"count", "3x"}}).error().to_string(),
            "pass p: count is 3x, expected a whole number that is not negative");
  EXPECT_EQ(status({{"fast", "yes"}}).error().to_string(), "pass p: fast is yes, expected on or off");
  EXPECT_EQ(status({{"budget", "nan"}}).error().to_string(),
            "pass p: budget is nan, expected a number that is not negative");
  EXPECT_EQ(status({{"size", "25Mib"}}).error().to_string(), "pass p: size is 25Mib, expected a size, such as 25MiB");
  EXPECT_EQ(status({{"count", "1"}, {"count", "2"}}).error().to_string(), "pass p: got count twice");
}

TEST(MemoryLimit, is_a_multiple_or_a_size) {
  EXPECT_EQ(parse_memory_limit("1.05x")->of(Bytes(1000)).count, 1050);
  EXPECT_EQ(parse_memory_limit("1x")->of(Bytes(999'999'999'999'999)).count, 999'999'999'999'999);
  EXPECT_EQ(parse_memory_limit("2GiB")->of(Bytes(1)).count, std::int64_t{2} << 30);
  EXPECT_EQ(parse_memory_limit("1500")->of(Bytes(1)).count, 1500);
  for (const char* wrong : {"", "x", "-1x", "1.0y", "1e400x", "9e99GiB", "GiB", "nan", "infx"})
    EXPECT_FALSE(parse_memory_limit(wrong)) << wrong;
}

}  // namespace
}  // namespace hocket
