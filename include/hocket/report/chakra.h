// Chakra execution traces of MLCommons (schema/protobuf/et_def.proto): what ASTRA-sim and others replay.
//
//   HOCKET_TRY(const ChakraTrace trace, chakra_of(graph, cost));
//   HOCKET_CHECK(write_chakra("step.0.et", trace));
//   HOCKET_TRY(const ChakraTrace again, read_chakra("step.0.et"));
//   HOCKET_TRY(const SimProgram program, sim_program(again));
//
// A node computes or communicates. Waits are no nodes: what stands behind a wait depends on the collective. Control dependencies keep
// the order of the compute lane, so that a replay has the overlap of this schedule. Times are whole microseconds in Chakra; the
// attribute hocket_ps has them exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/sim/simulate.h"

namespace hocket {

// Chakra's NodeType, as far as it matters here.
enum class ChakraType : std::uint8_t { metadata = 1, compute = 4, send = 5, receive = 6, collective = 7 };

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraType type = ChakraType::compute;
  std::vector<std::uint64_t> control, data;  // ids that it depends on
  Nanoseconds time;
  std::optional<CollectiveKind> kind;  // of communication
  Bytes bytes;                         // of communication: what goes in; otherwise what is read and written
  std::string group;                   // of communication
  std::uint64_t flops = 0;

  bool communicates() const {
    return type == ChakraType::collective || type == ChakraType::send || type == ChakraType::receive;
  }
  friend bool operator==(const ChakraNode&, const ChakraNode&) = default;
};

struct ChakraTrace {
  std::string name;
  std::vector<ChakraNode> nodes;  // every node behind those that it depends on
  std::vector<SimLane> groups;    // their ranks, where the trace says them
  Rank rank;
  std::int64_t world = 1;
};

Result<ChakraTrace> chakra_of(const Subject& subject, const CostModel& cost);

std::string chakra_bytes(const ChakraTrace& trace);
// `file` is what errors call the bytes. Nodes come back in an order in which each stands behind what it depends on.
Result<ChakraTrace> read_chakra_bytes(std::string_view bytes, const std::string& file);
Status write_chakra(const std::string& path, const ChakraTrace& trace);
Result<ChakraTrace> read_chakra(const std::string& path);

// For the simulator: a wait stands before the first node that depends on a collective.
Result<SimProgram> sim_program(const ChakraTrace& trace);

}  // namespace hocket
