#include "hocket/ir/file.h"
#include "hocket/report/chakra.h"
#include "report/wire_format.h"

namespace hocket {

namespace {

// Field numbers of AttributeProto.
constexpr std::uint32_t attribute_name = 1, attribute_int64 = 9, attribute_int64_list = 10, attribute_uint64 = 13,
                        attribute_bool = 27, attribute_string = 29;

std::string attribute(std::string_view name, std::uint32_t field, std::uint64_t value) {
  WireWriter message;
  message.text(attribute_name, name);
  message.always(field, value);
  return message.bytes();
}

std::string attribute(std::string_view name, std::string_view value) {
  WireWriter message;
  message.text(attribute_name, name);
  message.text(attribute_string, value);
  return message.bytes();
}

// Chakra's CollectiveCommType.
std::uint64_t number_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 0;
    case CollectiveKind::all_gather: return 2;
    case CollectiveKind::broadcast: return 5;
    case CollectiveKind::all_to_all: return 6;
    case CollectiveKind::reduce_scatter: return 7;
    case CollectiveKind::p2p: return 6;  // a batch of messages: everybody with everybody else
  }
  return 0;
}

std::string metadata(const ChakraTrace& trace) {
  WireWriter message;
  message.text(1, "0.0.4");
  message.text(2, attribute("hocket_name", trace.name));
  message.text(2, attribute("hocket_rank", attribute_int64, static_cast<std::uint64_t>(trace.rank.value)));
  message.text(2, attribute("hocket_world", attribute_int64, static_cast<std::uint64_t>(trace.world)));
  for (const SimLane& group : trace.groups) {
    WireWriter ranks, entry;
    std::vector<std::uint64_t> numbers;
    for (const Rank rank : group.ranks) numbers.push_back(static_cast<std::uint64_t>(rank.value));
    ranks.integers(1, numbers);
    entry.text(attribute_name, "hocket_group:" + group.name);
    entry.text(attribute_int64_list, ranks.bytes());
    message.text(2, entry.bytes());
  }
  return message.bytes();
}

std::string bytes_of(const ChakraNode& node) {
  constexpr std::int64_t microsecond = 1'000'000;  // in picoseconds
  WireWriter message;
  message.integer(1, node.id);
  message.text(2, node.name);
  message.always(3, static_cast<std::uint64_t>(node.type));
  message.integers(4, node.control);
  message.integers(5, node.data);
  message.integer(7, static_cast<std::uint64_t>((node.time.picoseconds + microsecond / 2) / microsecond));
  const auto add = [&](const std::string& attribute) { message.text(10, attribute); };
  add(attribute("is_cpu_op", attribute_bool, 0));
  if (node.kind) {
    add(attribute("comm_type", attribute_int64, number_of(*node.kind)));
    add(attribute("comm_size", attribute_int64, static_cast<std::uint64_t>(node.bytes.count)));
    add(attribute("hocket_kind", name_of(*node.kind)));
  } else {
    add(attribute("tensor_size", attribute_uint64, static_cast<std::uint64_t>(node.bytes.count)));
  }
  if (!node.kind || node.flops > 0) add(attribute("num_ops", attribute_int64, node.flops));
  if (!node.group.empty()) add(attribute("pg_name", node.group));
  add(attribute("hocket_ps", attribute_int64, static_cast<std::uint64_t>(node.time.picoseconds)));
  return message.bytes();
}

}  // namespace

// Messages one after the other, each behind its length.
std::string chakra_bytes(const ChakraTrace& trace) {
  std::string whole;
  const auto add = [&](const std::string& message) {
    WireWriter length;
    length.varint(message.size());
    whole += length.bytes() + message;
  };
  add(metadata(trace));
  for (const ChakraNode& node : trace.nodes) add(bytes_of(node));
  return whole;
}

Status write_chakra(const std::string& path, const ChakraTrace& trace) {
  return write_bytes(path, chakra_bytes(trace));
}

}  // namespace hocket
