// JSON of graphs: random graphs survive writing and reading. What single members mean is in tests/programs/json.hk.
#include "hocket/ir/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hocket/ir/file.h"
#include "hocket/ir/text.h"
#include "hocket/ir/verify.h"
#include "support/captures.h"
#include "support/every_graph.h"
#include "support/random_graph.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t times_longer = 20;

void must_survive(const Graph& graph) {
  const std::string json = write_graph_json(graph);
  const auto again = read_graph_json(json, "written");
  ASSERT_TRUE(again) << again.error().to_string() << "\n" << json.substr(0, 5000);
  ASSERT_EQ(Graph::first_difference(graph, *again), "");
  ASSERT_EQ(again->digest(), graph.digest());
  ASSERT_EQ(write_graph_json(*again), json);
}

TEST(Json, of_random_graphs_reads_back_as_the_same) { for_random_graphs(0, 1500, must_survive); }
TEST(LongJson, of_random_graphs_reads_back_as_the_same) {
  for_random_graphs(1'000'000, 1500 * times_longer, must_survive);
}

TEST(Json, of_shipped_captures_reads_back_as_the_same) { for_shipped_captures(must_survive); }

// Every member that the capture has is in what is written, with the same value; storages may have other numbers.
void compare_members(const nlohmann::json& before, const nlohmann::json& after, const std::string& where) {
  for (const auto& [key, value] : before.items()) {
    ASSERT_TRUE(after.contains(key)) << where << " lost \"" << key << "\"";
    const bool compared_apart = key == "storages" || key == "nodes" || key == "out" || key == "groups";
    ASSERT_TRUE(compared_apart || after[key] == value)
        << where << "." << key << ": " << value << " became " << after[key];
  }
}

TEST(Json, keeps_every_member_of_a_capture) {
  for (const std::string& path : shipped_captures()) {
    SCOPED_TRACE(path);
    const auto before = nlohmann::json::parse(*read_bytes(path));
    const auto after = nlohmann::json::parse(write_graph_json(*read_graph(path)));
    compare_members(before, after, "the file");
    ASSERT_EQ(before["groups"], after["groups"]);
    ASSERT_EQ(before["nodes"].size(), after["nodes"].size());
    for (std::size_t i = 0; i < before["nodes"].size(); ++i) {
      const auto& node = before["nodes"][i];
      compare_members(node, after["nodes"][i], fmt::format("node {}", i));
      ASSERT_EQ(node["out"].size(), after["nodes"][i]["out"].size());
      for (std::size_t k = 0; k < node["out"].size(); ++k) {
        for (const char* key : {"shape", "dtype", "stride", "offset", "device"})
          ASSERT_EQ(node["out"][k][key], after["nodes"][i]["out"][k][key]);
      }
    }
  }
}

TEST(Json, storages_are_numbered_in_the_order_of_their_first_appearance) {
  const std::string text =
      R"({"schema": "commgraph/1", "name": "g", "groups": [], "storages": [{"id": 0, "bytes": 4}, {"id": 1, "bytes": 8}, {"id": 2, "bytes": 99}],
    "nodes": [{"id": 0, "name": "x", "kind": "placeholder", "out": [{"shape": [2], "dtype": "float32", "storage": 1}]},
              {"id": 1, "name": "y", "kind": "placeholder", "out": [{"shape": [1], "dtype": "float32", "storage": 0}]},
              {"id": 2, "name": "output", "kind": "output", "args": [{"n": 0}]}]})";
  const auto graph = read_graph_json(text, "test");
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_EQ(graph->storages().size(), 2U);
  EXPECT_EQ(graph->storage(StorageId(0)).bytes, Dim(8));
  EXPECT_EQ(graph->storage(StorageId(0)).allocated_by, NodeId(0));
  EXPECT_EQ(graph->storage(StorageId(1)).bytes, Dim(4));
}

TEST(Json, strings_are_quoted_so_that_any_reader_gets_them_back) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "äöü€😀";
  std::string quoted;
  append_json_string(quoted, all);
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), all);
}

// ---------------------------------------------------------------- bad input

std::string error_of(std::string_view text) {
  const auto graph = read_graph_json(text, "bad.json");
  EXPECT_FALSE(graph) << text.substr(0, 200);
  if (graph) return "";
  EXPECT_EQ(graph.error().kind, ErrorKind::input);
  return graph.error().to_string();
}

std::string with_nodes(const std::string& nodes) {
  return R"({"schema":"commgraph/1","name":"g","groups":[],"storages":[{"id":0,"bytes":16}],"nodes":[)" + nodes + "]}";
}
std::string with_argument(const std::string& argument) {
  return with_nodes(R"({"id":0,"name":"y","kind":"op","op":"mylib.op.default","out":[],"args":[)" + argument + "]}");
}

TEST(JsonErrors, name_line_and_column_of_broken_syntax) {
  EXPECT_THAT(error_of("{\n  \"schema\": oops\n}"),
              HasSubstr("bad.json: not valid JSON: parse error at line 2, column 13"));
  EXPECT_THAT(error_of(with_nodes("") + "{}"), StartsWith("bad.json: not valid JSON"));
}

TEST(JsonErrors, refuse_what_is_not_utf8) {
  for (const char* bytes : {"\xff", "\xc3", "\xed\xa0\x80"})
    EXPECT_THAT(error_of(with_argument("\"" + std::string(bytes) + "\"")), StartsWith("bad.json: not valid JSON"));
  EXPECT_THAT(error_of(with_argument(R"("\ud800")")), StartsWith("bad.json: not valid JSON"));
}

TEST(JsonErrors, refuse_deep_nesting_without_running_out_of_stack) {
  EXPECT_TRUE(read_graph_json(with_argument(std::string(60, '[') + std::string(60, ']')), "deep.json"));
  for (const std::size_t depth : {70U, 500U}) {
    EXPECT_EQ(error_of(with_argument(std::string(depth, '[') + std::string(depth, ']'))),
              "bad.json: node 0 (y): an argument is nested more than 64 deep");
  }
  for (const std::size_t depth : {2000U, 1'000'000U}) {
    EXPECT_THAT(error_of(with_argument(std::string(depth, '[') + std::string(depth, ']'))),
                StartsWith("bad.json: not valid JSON"))
        << depth;
    EXPECT_THAT(error_of(std::string(depth, '[')), StartsWith("bad.json: not valid JSON")) << depth;
  }
}

TEST(JsonErrors, refuse_numbers_that_fit_nowhere) {
  EXPECT_THAT(error_of(with_argument("123456789012345678901234567890")), StartsWith("bad.json: not valid JSON"));
  EXPECT_THAT(error_of(with_argument("1e999")), StartsWith("bad.json: not valid JSON"));
  EXPECT_THAT(error_of(with_argument("18446744073709551615")), HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(error_of(with_argument("-9223372036854775809")), StartsWith("bad.json: not valid JSON"));
  const auto edges =
      read_graph_json(with_argument("-9223372036854775808, 9223372036854775807, 1e308, 5e-324"), "edges.json");
  ASSERT_TRUE(edges) << edges.error().to_string();
  must_survive(*edges);
}

TEST(JsonErrors, are_found_at_every_place_where_a_file_is_cut_off) {
  const std::string text = write_graph_json(random_graph(8, {.shape = GraphShape::ddp, .layers = 1}));
  for (std::size_t size = 0; size + 1 < text.size() - 1; ++size) {
    const auto graph = read_graph_json(std::string_view(text).substr(0, size), "cut.json");
    ASSERT_FALSE(graph) << "the first " << size << " bytes";
    ASSERT_THAT(graph.error().to_string(), StartsWith("cut.json: not valid JSON"));
  }
}

// A member that is missing or of another kind is an error that names the node, or changes the graph, but never a crash.
TEST(JsonErrors, a_graph_without_one_of_its_members_is_refused_or_still_survives) {
  const auto whole =
      nlohmann::json::parse(write_graph_json(random_graph(9, {.operators = 10, .coalesced = true, .in_place = true})));
  int refused = 0;
  const auto try_it = [&](const nlohmann::json& changed) {
    const auto graph = read_graph_json(changed.dump(), "changed.json");
    if (!graph) {
      ++refused;
      ASSERT_THAT(graph.error().to_string(), StartsWith("changed.json: "));
      return;
    }
    const auto problems = verify(*graph);
    must_survive(*graph);
  };
  for (std::size_t i = 0; i < whole["nodes"].size(); ++i) {
    for (const auto& member : whole["nodes"][i].items()) {
      nlohmann::json without = whole;
      without["nodes"][i].erase(member.key());
      try_it(without);
      for (const auto& other : {nlohmann::json(nullptr), nlohmann::json(-1), nlohmann::json("x"),
                                nlohmann::json(nlohmann::json::array()), nlohmann::json(nlohmann::json::object())}) {
        nlohmann::json changed = whole;
        changed["nodes"][i][member.key()] = other;
        try_it(changed);
      }
    }
    nlohmann::json shorter = whole;
    shorter["nodes"].erase(i);
    try_it(shorter);
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace hocket
