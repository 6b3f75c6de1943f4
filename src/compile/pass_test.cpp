#include "hocket/compile/pass.h"

#include <gtest/gtest.h>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

TEST(PassRegistry, ListsTheKnownNamesForAnUnknownOne) {
  const auto pass = PassRegistry::builtin().find("sink_wait");
  ASSERT_FALSE(pass.has_value());
  EXPECT_EQ(pass.error().kind, ErrorKind::usage);
  EXPECT_EQ(pass.error().message, "there is no pass called sink_wait; known: verify");
}

TEST(PassRegistry, RefusesASecondPassOfTheSameName) {
  PassRegistry registry = PassRegistry::builtin();
  const auto nothing = [](const Graph&) -> Result<PassResult> { return PassResult{}; };
  EXPECT_TRUE(registry.add({"mine", "a pass of the user", nothing}).has_value());
  EXPECT_FALSE(registry.add({"mine", "again", nothing}).has_value());
  ASSERT_TRUE(registry.find("mine").has_value());
}

TEST(VerifyPass, FailsWithTheProblemsOfTheGraph) {
  const PassRegistry registry = PassRegistry::builtin();
  const Pass& verify = **registry.find("verify");
  const auto sound = parse_graph("graph @g(%x: f32[2]) { return %x }", "sound");
  const auto unsound = parse_graph("graph @g(%x: f32[2]) { %y = aten.neg(%x) : f32[3]\n return %y }", "unsound");
  ASSERT_TRUE(sound && unsound);
  EXPECT_TRUE(verify.run(*sound).has_value());
  const auto result = verify.run(*unsound);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("y: type: result is f32[3]"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace hocket
