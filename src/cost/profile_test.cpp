#include "hocket/cost/profile.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "hocket/ir/text.h"

namespace hocket {
namespace {

constexpr std::string_view sample = R"json({
  "description": "a step on one rank",
  "names": {"mm_3": "12.5 us", "odd \"name\"": "1 ns"},
  "calls": {"aten.mm(f32[64, 1024], f32[1024, 8])": "11 us", "aten.add.Tensor(bf16[s0*4],bf16[])": "2 us"}
})json";

std::string error_of(std::string_view text) {
  const auto profile = read_profile_json(text, "profile.json");
  return profile ? "ok" : profile.error().to_string();
}

TEST(Profile, is_read_and_asked) {
  const auto profile = read_profile_json(sample, "profile.json");
  ASSERT_TRUE(profile) << profile.error().to_string();
  EXPECT_EQ(profile->size(), 4U);
  EXPECT_EQ(profile->by_name("mm_3"), Nanoseconds::from_picoseconds(12'500'000));
  EXPECT_EQ(profile->by_name("mm_4"), std::nullopt);
  EXPECT_EQ(profile->by_call("aten.mm.default(f32[64,1024],f32[1024,8])"), Nanoseconds::from_picoseconds(11'000'000));
  EXPECT_EQ(profile->by_call("aten.mm.default(f32[64,1024],f32[1024,9])"), std::nullopt);
}

TEST(Profile, what_is_written_reads_the_same) {
  const auto profile = read_profile_json(sample, "profile.json");
  const std::string path = testing::TempDir() + "hocket_profile_test.json";
  ASSERT_TRUE(write_profile(*profile, path));
  EXPECT_EQ(read_profile(path), *profile);
  std::remove(path.c_str());
  EXPECT_EQ(read_profile_json(Profile().to_json(), "empty"), Profile());
}

TEST(Profile, is_written_in_order_whatever_the_order_of_entry) {
  Profile a;
  Profile b;
  for (int i = 0; i < 100; ++i) a.set_name("n" + std::to_string(i), Nanoseconds::from_picoseconds(i));
  for (int i = 99; i >= 0; --i) b.set_name("n" + std::to_string(i), Nanoseconds::from_picoseconds(i));
  EXPECT_EQ(a.to_json(), b.to_json());
}

TEST(Profile, errors_name_the_place) {
  EXPECT_EQ(error_of(R"({"names": {"mm": 3}})"), "profile.json: names.mm: got 3, expected a time such as \"1.5 us\"");
  EXPECT_EQ(error_of(R"({"names": {"mm": "-1 us"}})"), "profile.json: names.mm: got \"-1 us\", expected 0 to 9000 s");
  EXPECT_EQ(error_of(R"({"names": []})"), "profile.json: names: got a list, expected an object");
  EXPECT_EQ(error_of(R"({"name": {}})"),
            "profile.json: name: no member is called so, did you mean names? expected description, names, calls");
  for (const char* call : {"mm", "(f32[1])", "aten.mm(f32)", "aten.mm(f33[1])", "aten.mm(f32[1]", "aten.mm(f32[1],)",
                           "aten.mm(f32[1,])", "aten.mm(f32[-])", "aten.mm(f32]1[)"}) {
    EXPECT_EQ(
        error_of(fmt::format(R"({{"calls": {{"{}": "1 us"}}}})", call)),
        fmt::format("profile.json: calls: got \"{}\", expected a call such as \"aten.mm(f32[64,1024],f32[1024,8])\"",
                    call));
  }
}

TEST(CallKey, has_the_operator_and_the_tensors_in_the_order_of_the_arguments) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[8,4], %y: bf16[4], %s: f32[2*s0 + 8], %z: f32[]) {
  %a = aten.add.Tensor(%x, %z)
  %c = aten.cat([%x, %x], 1)
  %r = aten.relu(%s)
  %e = aten.full([4], 0, dtype=f32)
  return %a, %c, %r, %e
})",
                                 "g.hk");
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto key = [&](std::string_view name) { return call_key(*graph, *graph->find(name)); };
  EXPECT_EQ(key("a"), "aten.add.Tensor(f32[8,4],f32[])");
  EXPECT_EQ(key("c"), "aten.cat.default(f32[8,4],f32[8,4])");
  EXPECT_EQ(key("r"), "aten.relu.default(f32[s0*2+8])");
  EXPECT_EQ(key("e"), "aten.full.default()");
  Profile profile;
  for (const char* name : {"a", "c", "r", "e"}) {
    ASSERT_TRUE(profile.set_call(key(name), Nanoseconds::from_ms(1))) << name;
    EXPECT_TRUE(profile.by_call(key(name))) << name;
  }
}

TEST(Profile, sizes_may_be_written_in_any_form) {
  Profile profile;
  ASSERT_TRUE(profile.set_call("aten.relu(f32[8 + 2*s0, 4])", Nanoseconds::from_ms(1)));
  EXPECT_TRUE(profile.by_call("aten.relu.default(f32[s0*2+8,4])"));
}

TEST(CallKey, of_a_step_is_that_of_the_node) {
  const auto program = parse_program(R"(program @p {
  buffer %x = input bytes 128
  buffer %y = arena bytes 64
  step "relu" = aten.relu(%x f32[4,4]) writes (%y f32[4,4])
  return (%y f32[4,4])
})",
                                     "p.hk");
  ASSERT_TRUE(program) << program.error().to_string();
  EXPECT_EQ(call_key(*program, StepId(0)), "aten.relu.default(f32[4,4])");
}

}  // namespace
}  // namespace hocket
