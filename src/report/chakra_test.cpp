// Chakra traces: the bytes against the description of the wire format, the schedule against the simulator.
#include "hocket/report/chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/ir/file.h"
#include "report/wire_format.h"
#include "support/captures.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WireFormat, of_the_examples_in_the_description_of_protocol_buffers) {
  WireWriter number, text, list;
  number.integer(1, 150);
  EXPECT_EQ(number.bytes(), "\x08\x96\x01");
  text.text(2, "testing");
  EXPECT_EQ(text.bytes(), std::string("\x12\x07testing"));
  list.integers(6, std::vector<std::uint64_t>{3, 270, 86942});
  EXPECT_EQ(list.bytes(), "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
}

TEST(WireFormat, never_reads_beyond_the_end) {
  for (const std::string bytes :
       {"\x08", "\x12\x07test", "\x0f", "\x09\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    WireReader reader(bytes);
    while (reader.next()) {
    }
    EXPECT_FALSE(reader.ok());
  }
}

// One node by hand, byte for byte: id 3, "mm", COMP_NODE, ctrl_deps [1], duration 2 µs.
TEST(Chakra, reads_what_others_write) {
  const std::string metadata(
      "\x07\x0a\x05"
      "0.0.4",
      8);
  const std::string first("\x06\x08\x01\x12\x00\x18\x04", 7);
  const std::string second("\x0d\x08\x03\x12\x02mm\x18\x04\x22\x01\x01\x38\x02", 14);
  const auto trace = read_chakra_bytes(metadata + first + second, "other.et");
  ASSERT_TRUE(trace) << trace.error().to_string();
  ASSERT_EQ(trace->nodes.size(), 2U);
  EXPECT_EQ(trace->nodes[1].name, "mm");
  EXPECT_EQ(trace->nodes[1].id, 3U);
  EXPECT_THAT(trace->nodes[1].control, ElementsAre(1U));
  EXPECT_EQ(trace->nodes[1].time, Nanoseconds::from_ns(2000));
}

TEST(Chakra, survives_writing_and_reading) {
  const Graph graph = *read_graph(HOCKET_TEST_DATA "/fsdp_tp_llama_tiny.json.gz");
  const auto trace = chakra_of(graph, CostModel(CostOptions{}));
  ASSERT_TRUE(trace) << trace.error().to_string();
  const auto again = read_chakra_bytes(chakra_bytes(*trace), "again");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->nodes, trace->nodes);
  EXPECT_EQ(again->world, trace->world);
  ASSERT_EQ(again->groups.size(), trace->groups.size());
  for (std::size_t g = 0; g < trace->groups.size(); ++g) EXPECT_EQ(again->groups[g].ranks, trace->groups[g].ranks);
}

// A replay takes as long as the schedule that was written, to the picosecond.
TEST(Chakra, replays_as_the_schedule_that_was_written) {
  std::vector<Graph> graphs;
  for (const std::string& path : shipped_captures()) graphs.push_back(*read_graph(path));
  for (std::uint64_t seed = 1; seed <= 60; ++seed) graphs.push_back(random_graph(seed));
  const CostModel cost(CostOptions{});
  for (const Graph& graph : graphs) {
    SCOPED_TRACE(graph.name());
    const auto program = sim_program(graph, cost);
    const auto trace = read_chakra_bytes(chakra_bytes(*chakra_of(graph, cost)), "trace");
    ASSERT_TRUE(trace) << trace.error().to_string();
    const auto replay = sim_program(*trace);
    const auto expected = simulate(*program, Machine{}, {.share_links = false});
    const auto got = simulate(*replay, Machine{}, {.share_links = false});
    ASSERT_TRUE(expected && got);
    EXPECT_EQ(got->step_time, expected->step_time);
  }
}

TEST(Chakra, says_what_is_wrong_with_a_file) {
  EXPECT_THAT(read_chakra_bytes("\x20zu kurz", "x.et").error().to_string(), HasSubstr("x.et: message 0 is cut off"));
  ChakraTrace trace;
  trace.nodes.resize(2);
  trace.nodes[0].id = 7;
  trace.nodes[0].data = {9};
  trace.nodes[1].id = 9;
  trace.nodes[1].data = {7};
  EXPECT_THAT(read_chakra_bytes(chakra_bytes(trace), "x.et").error().message, HasSubstr("depends on itself"));
  trace.nodes[1].data = {8};
  EXPECT_THAT(read_chakra_bytes(chakra_bytes(trace), "x.et").error().message, HasSubstr("which is not there"));
}

TEST(Chakra, never_reads_garbage_as_something_else_than_an_error_or_a_trace) {
  std::string bytes = chakra_bytes(*chakra_of(random_graph(5), CostModel(CostOptions{})));
  std::uint64_t seed = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string broken = bytes;
    for (int i = 0; i < 3; ++i) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      broken[(seed >> 20) % broken.size()] = static_cast<char>(seed >> 56);
    }
    if (const auto trace = read_chakra_bytes(broken, "broken")) {
      EXPECT_TRUE(sim_program(*trace));
    }
  }
}

}  // namespace
}  // namespace hocket
