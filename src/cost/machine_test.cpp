#include "hocket/cost/machine.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace hocket {
namespace {

constexpr std::string_view small = R"({
  "name": "ours",
  "flops": {"bf16": "300 TFLOP/s", "f32": "20 TFLOP/s"},
  "memory_bandwidth": "2 TB/s",
  "launch_overhead": "2.5 us",
  "ranks_per_host": 8,
  "levels": [
    {"name": "nvlink", "ranks": 8, "latency": "1 us", "bandwidth": "240 GB/s"},
    {"name": "network", "latency": "5 us", "bandwidth": "200 Gbit/s"}
  ],
  "thresholds": [{"kind": "all_reduce", "ranks": 2, "one_shot": "256 KiB", "two_shot": "1 MiB"}],
  "collectives": {"unit": "us", "sizes": [64, 128], "times": {"all_reduce/8": [7.5, 8]}}
})";

// The small machine with one part of its text replaced; the error that it gives.
std::string error_of(std::string_view part, std::string_view by) {
  std::string text(small);
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  text.replace(at, part.size(), by);
  const auto machine = read_machine_json(text, "machine.json");
  return machine ? "ok" : machine.error().to_string();
}

TEST(Machine, is_read_from_json) {
  const auto machine = read_machine_json(small, "machine.json");
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->name, "ours");
  EXPECT_EQ(machine->flops.at(Dtype::bf16), 300e12);
  EXPECT_EQ(machine->memory_bandwidth, 2e12);
  EXPECT_EQ(machine->launch_overhead, Nanoseconds::from_picoseconds(2'500'000));
  ASSERT_EQ(machine->levels.size(), 2U);
  EXPECT_EQ(machine->levels[1].ranks, 0);
  EXPECT_EQ(machine->levels[1].bandwidth, 25e9);
  EXPECT_EQ(machine->thresholds.at(0).two_shot, Bytes(1 << 20));
  EXPECT_EQ(machine->collectives->nanoseconds(CollectiveKind::all_reduce, 8, Bytes(96)), 7750);
}

TEST(Machine, what_is_written_reads_the_same) {
  auto machine = read_machine_json(small, "machine.json");
  ASSERT_TRUE(machine);
  machine->description = "a \"quoted\" word\nand a line";
  machine->memory_bandwidth = 1e12 / 3;
  machine->levels[0].latency = Nanoseconds::from_picoseconds(1234567);
  EXPECT_EQ(read_machine_json(write_machine_json(*machine), "again"), *machine);
}

TEST(Machine, ready_made_ones_are_found_and_read_the_same_when_written) {
  EXPECT_EQ(known_machines(), (std::vector<std::string_view>{"a100x8", "cpu", "h100x8"}));
  for (const std::string_view name : known_machines()) {
    const auto machine = find_machine(std::string(name));
    ASSERT_TRUE(machine) << machine.error().to_string();
    EXPECT_EQ(machine->name, name);
    EXPECT_EQ(read_machine_json(write_machine_json(*machine), "again"), *machine);
  }
}

TEST(Machine, a_default_one_is_sound) { EXPECT_TRUE(check(Machine())); }

TEST(Machine, an_unknown_name_lists_the_known_ones_and_says_that_a_path_works) {
  EXPECT_EQ(
      find_machine("h100").error().message,
      "unknown machine 'h100', did you mean h100x8? known: a100x8, cpu, h100x8; the path of a machine file in JSON "
      "works too");
  EXPECT_EQ(
      find_machine("tpu").error().message,
      "unknown machine 'tpu', did you mean cpu? known: a100x8, cpu, h100x8; the path of a machine file in JSON works "
      "too");
  EXPECT_EQ(find_machine("abacus").error().message,
            "unknown machine 'abacus'; known: a100x8, cpu, h100x8; the path of a machine file in JSON works too");
}

TEST(Machine, is_found_by_the_path_of_its_file) {
  const std::string path = testing::TempDir() + "hocket_machine_test.json";
  const auto machine = read_machine_json(small, "machine.json");
  ASSERT_TRUE(write_machine(*machine, path));
  EXPECT_EQ(find_machine(path), *machine);
  std::remove(path.c_str());
  const auto absent = find_machine("no/such/machine.json");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().to_string().find("no/such/machine.json"), std::string::npos);
}

TEST(Machine, one_that_is_unsound_is_not_written) {
  Machine machine;
  machine.memory_bandwidth = 0;
  EXPECT_EQ(write_machine(machine, "never.json").error().to_string(), "memory_bandwidth: got 0, expected more than 0");
}

TEST(MachineJson, errors_name_the_place_what_was_got_and_what_was_expected) {
  EXPECT_EQ(error_of("\"200 Gbit/s\"", "\"fast\""),
            "machine.json: levels[1].bandwidth: got \"fast\", expected a bandwidth such as \"50 GB/s\"");
  EXPECT_EQ(error_of("\"200 Gbit/s\"", "200"),
            "machine.json: levels[1].bandwidth: got 200, expected a bandwidth such as \"50 GB/s\"");
  EXPECT_EQ(error_of("\"200 Gbit/s\"", "\"-200 GB/s\""),
            "machine.json: levels[1].bandwidth: got \"-200 GB/s\", expected 0 to 1000000000000 TB/s");
  EXPECT_EQ(error_of("\"200 Gbit/s\"", "\"0 GB/s\""), "machine.json: levels[1].bandwidth: got 0, expected more than 0");
  EXPECT_EQ(error_of("\"1 us\"", "\"inf us\""),
            "machine.json: levels[0].latency: got \"inf us\", expected a time such as \"1.5 us\"");
  EXPECT_EQ(error_of("\"ours\"", "[]"), "machine.json: name: got a list, expected a string");
  EXPECT_EQ(error_of("\"ours\"", "\"\""), "machine.json: name: is empty, expected a name");
  EXPECT_EQ(error_of("\"ranks_per_host\": 8", "\"ranks_per_host\": 0.5"),
            "machine.json: ranks_per_host: got 0.5, expected an integer from 1 to 2147483648");
}

TEST(MachineJson, unknown_absent_and_repeated_members_are_errors) {
  EXPECT_EQ(error_of("\"bandwidth\"", "\"bandwith\""),
            "machine.json: levels[0].bandwith: no member is called so, did you mean bandwidth? expected name, ranks, "
            "latency, bandwidth");
  EXPECT_EQ(error_of("\"name\": \"ours\",", ""), "machine.json: has no member \"name\", expected one");
  EXPECT_EQ(error_of("\"latency\": \"5 us\", ", ""),
            "machine.json: levels[1]: has no member \"latency\", expected one");
  EXPECT_EQ(error_of("\"name\": \"ours\"", "\"name\": \"ours\", \"name\": \"theirs\""),
            "machine.json: an object has the member \"name\" twice");
  EXPECT_EQ(error_of("\"bf16\"", "\"bf17\""),
            "machine.json: flops.bf17: no dtype is called so, expected f64, f32, f16, bf16, f8e4m3, …");
}

TEST(MachineJson, levels_must_nest) {
  EXPECT_EQ(
      error_of("{\"name\": \"network\",", "{\"name\": \"network\", \"ranks\": 12,"),
      "machine.json: levels[1].ranks: got 12, expected a multiple of 8, the ranks of the level inside it (nvlink)");
  EXPECT_EQ(error_of("\"ranks\": 8, ", ""),
            "machine.json: levels[0].ranks: is absent, expected a number: only the outermost level may leave it out");
  EXPECT_EQ(error_of("\"ranks_per_host\": 8", "\"ranks_per_host\": 6"),
            "machine.json: ranks_per_host: got 6, expected a divisor or a multiple of 8, the ranks of level nvlink");
}

TEST(MachineJson, tables_must_fit_their_sizes) {
  EXPECT_EQ(error_of("[7.5, 8]", "[7.5]"),
            "machine.json: collectives.times.all_reduce/8: has 1 times, expected 2, one for each size");
  EXPECT_EQ(error_of("[7.5, 8]", "[7.5, -8]"),
            "machine.json: collectives.times.all_reduce/8[1]: got -8, expected a number that is not negative");
  EXPECT_EQ(error_of("[64, 128]", "[64, 64]"),
            "machine.json: collectives.sizes: size 1 is 64, expected more than 64, the size before it");
  EXPECT_EQ(error_of("all_reduce/8", "all_reduce"),
            "machine.json: collectives.times.all_reduce: got this key, expected a kind and a group size such as "
            "\"all_reduce/8\"; kinds: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, p2p");
  EXPECT_EQ(error_of("\"unit\": \"us\"", "\"unit\": \"h\""),
            "machine.json: collectives.unit: got \"h\", expected \"ns\", \"us\" or \"ms\"");
  EXPECT_EQ(
      error_of("\"unit\": \"us\"", "\"unit\": \"us\", \"size\": \"bytes of the input\""),
      "machine.json: collectives.size: got \"bytes of the input\", expected \"bytes of all inputs plus all outputs of "
      "the collective\"");
}

TEST(MachineJson, thresholds_come_in_order) {
  EXPECT_EQ(
      error_of("\"1 MiB\"", "\"1 KiB\""),
      "machine.json: thresholds[0].two_shot: got 1.00 KiB, expected 256.00 KiB or more, as one_shot holds up to there");
  EXPECT_EQ(
      error_of("\"all_reduce\"", "\"sum\""),
      "machine.json: thresholds[0].kind: got \"sum\", expected all_reduce, all_gather, reduce_scatter, all_to_all, "
      "broadcast, p2p");
}

TEST(MachineJson, what_is_no_json_is_said_with_line_and_column) {
  const auto machine = read_machine_json("{\n  \"name\": ours\n}", "machine.json");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().where, "machine.json:2:11");
  EXPECT_TRUE(machine.error().message.starts_with("not valid JSON: ")) << machine.error().message;
  EXPECT_FALSE(read_machine_json("", "machine.json"));
  EXPECT_FALSE(read_machine_json("{} {}", "machine.json"));
  EXPECT_FALSE(read_machine_json("{\"name\": 1e999}", "machine.json"));
  EXPECT_EQ(read_machine_json("[]", "machine.json").error().where, "machine.json");
}

TEST(MachineJson, size_and_depth_are_bounded) {
  EXPECT_EQ(read_machine_json(std::string(100'000, '['), "machine.json").error().to_string(),
            "machine.json: lists and objects nest more than 8 deep");
  EXPECT_EQ(read_machine_json(std::string((16 << 20) + 1, ' '), "machine.json").error().to_string(),
            "machine.json: is 16.00 MiB, expected at most 16.00 MiB");
  std::string levels;
  for (int i = 0; i < 17; ++i) levels += "{},";
  EXPECT_EQ(error_of("\"levels\": [", "\"levels\": [" + levels),
            "machine.json: levels: has 19 elements, expected at most 16");
}

// Every text that is one byte away from a sound one is read or refused, never a crash; and what is read is sound.
TEST(MachineJson, no_change_of_a_byte_does_harm) {
  for (std::size_t at = 0; at < small.size(); ++at) {
    for (const char c : {'\0', '"', '}', '9', '-', '\xff'}) {
      std::string text(small);
      text[at] = c;
      const auto machine = read_machine_json(text, "machine.json");
      EXPECT_TRUE(!machine || check(*machine)) << text;
    }
  }
}

TEST(ComputeRate, an_unlisted_dtype_takes_the_next_wider_one) {
  const auto machine = read_machine_json(small, "machine.json");
  const auto taken = [&](Dtype dtype) { return compute_rate(*machine, dtype).taken; };
  EXPECT_EQ(taken(Dtype::bf16), Dtype::bf16);
  EXPECT_EQ(taken(Dtype::f16), Dtype::bf16);
  EXPECT_EQ(taken(Dtype::f8e4m3), Dtype::bf16);
  EXPECT_EQ(taken(Dtype::f64), Dtype::f32);
  EXPECT_EQ(taken(Dtype::i64), Dtype::f32);
  EXPECT_EQ(compute_rate(*machine, Dtype::f16).flops_per_second, 300e12);
}

}  // namespace
}  // namespace hocket
