#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

#include "hocket/ir/file.h"
#include "hocket/report/chakra.h"
#include "report/wire_format.h"

namespace hocket {

namespace {

struct Attribute {
  std::string_view name;
  std::int64_t integer = 0;
  std::string_view text;
  std::vector<std::int64_t> list;
};

// A packed list, or one element of one that is not.
void add_integers(const WireReader::Field& field, auto& list) {
  using Value = typename std::remove_reference_t<decltype(list)>::value_type;
  if (!field.has_text) return list.push_back(static_cast<Value>(field.integer));
  WireReader inside(field.text);
  while (!inside.at_end()) {
    const auto value = inside.varint();
    if (!value) return;
    list.push_back(static_cast<Value>(*value));
  }
}

Attribute read_attribute(std::string_view bytes) {
  Attribute attribute;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: attribute.name = field->text; break;
      case 7:
      case 9:
      case 11:
      case 13:
      case 27: attribute.integer = static_cast<std::int64_t>(field->integer); break;
      case 15:
      case 17:  // zigzag
        attribute.integer =
            static_cast<std::int64_t>(field->integer >> 1) ^ -static_cast<std::int64_t>(field->integer & 1);
        break;
      case 29: attribute.text = field->text; break;
      case 8:
      case 10:
      case 12:
      case 14: {
        WireReader inside(field->text);
        while (const auto one = inside.next()) add_integers(*one, attribute.list);
        break;
      }
      default: break;
    }
  }
  return attribute;
}

std::optional<CollectiveKind> kind_of(std::int64_t number) {
  switch (number) {
    case 0:
    case 1: return CollectiveKind::all_reduce;
    case 2:
    case 3: return CollectiveKind::all_gather;
    case 4:
    case 5: return CollectiveKind::broadcast;
    case 6: return CollectiveKind::all_to_all;
    case 7:
    case 8: return CollectiveKind::reduce_scatter;
    default: return std::nullopt;
  }
}

Result<ChakraNode> read_node(std::string_view bytes, std::size_t number) {
  ChakraNode node;
  WireReader reader(bytes);
  constexpr std::uint64_t longest = 9'000'000'000;  // microseconds: 2.5 hours
  std::optional<std::int64_t> picoseconds;
  std::uint64_t micros = 0;
  while (const auto field = reader.next()) {
    if (field->number == 1) node.id = field->integer;
    else if (field->number == 2) node.name = field->text;
    else if (field->number == 3) node.type = static_cast<ChakraType>(std::min<std::uint64_t>(field->integer, 255));
    else if (field->number == 4) add_integers(*field, node.control);
    else if (field->number == 5) add_integers(*field, node.data);
    else if (field->number == 7) micros = field->integer;
    else if (field->number == 10) {
      const Attribute attribute = read_attribute(field->text);
      if (attribute.name == "comm_type" && !node.kind) node.kind = kind_of(attribute.integer);
      if (attribute.name == "hocket_kind") node.kind = collective_kind_from_name(attribute.text);
      if (attribute.name == "comm_size" || attribute.name == "tensor_size") node.bytes = Bytes(attribute.integer);
      if (attribute.name == "pg_name") node.group = attribute.text;
      if (attribute.name == "num_ops") node.flops = static_cast<std::uint64_t>(attribute.integer);
      if (attribute.name == "hocket_ps") picoseconds = attribute.integer;
    }
  }
  if (!reader.ok()) return fail(ErrorKind::input, "message {} is no node of a Chakra trace", number);
  if (micros > longest)
    return fail(ErrorKind::input, "node {} ({}) takes {} µs, more than 2.5 hours", node.id, node.name, micros);
  if (picoseconds && (*picoseconds < 0 || *picoseconds > static_cast<std::int64_t>(longest) * 1'000'000))
    return fail(ErrorKind::input, "node {} ({}) takes {} ps, expected 0 to 2.5 hours", node.id, node.name,
                *picoseconds);
  if (node.bytes.count < 0 || node.bytes.count > Dim::max)
    return fail(ErrorKind::input, "node {} ({}) has {} bytes, expected 0 to {}", node.id, node.name, node.bytes.count,
                Dim::max);
  node.time = Nanoseconds::from_picoseconds(picoseconds.value_or(static_cast<std::int64_t>(micros) * 1'000'000));
  return node;
}

Result<Rank> read_rank(std::int64_t number) {
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
    return fail(ErrorKind::input, "the metadata have rank {}, expected 0 to {}", number,
                std::numeric_limits<std::int32_t>::max());
  return Rank{static_cast<std::int32_t>(number)};
}

Status read_metadata(std::string_view bytes, ChakraTrace& trace) {
  constexpr std::string_view group = "hocket_group:";
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number != 2) continue;
    const Attribute attribute = read_attribute(field->text);
    if (attribute.name == "hocket_name") trace.name = attribute.text;
    if (attribute.name == "hocket_rank") {
      HOCKET_TRY(trace.rank, read_rank(attribute.integer));
    }
    if (attribute.name == "hocket_world") trace.world = std::max<std::int64_t>(attribute.integer, 1);
    if (!attribute.name.starts_with(group)) continue;
    SimLane lane{std::string(attribute.name.substr(group.size())), {}};
    for (const std::int64_t rank : attribute.list) {
      HOCKET_TRY(lane.ranks.emplace_back(), read_rank(rank));
    }
    trace.groups.push_back(std::move(lane));
  }
  return {};
}

// Every node behind what it depends on; of those that are ready the one that came first in the file.
Result<std::vector<ChakraNode>> in_order(std::vector<ChakraNode> nodes) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!place.emplace(nodes[i].id, i).second) return fail(ErrorKind::input, "two nodes have the id {}", nodes[i].id);
  }
  std::vector<std::vector<std::size_t>> after(nodes.size());
  std::vector<std::size_t> open(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto* list : {&nodes[i].control, &nodes[i].data}) {
      for (const std::uint64_t id : *list) {
        const auto found = place.find(id);
        if (found == place.end())
          return fail(ErrorKind::input, "node {} ({}) depends on node {}, which is not there", nodes[i].id,
                      nodes[i].name, id);
        after[found->second].push_back(i);
        ++open[i];
      }
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (open[i] == 0) ready.push(i);
  }
  std::vector<ChakraNode> result;
  while (!ready.empty()) {
    const std::size_t at = ready.top();
    ready.pop();
    for (const std::size_t next : after[at]) {
      if (--open[next] == 0) ready.push(next);
    }
    result.push_back(std::move(nodes[at]));
  }
  if (result.size() == nodes.size()) return result;
  const auto stuck = static_cast<std::size_t>(
      std::find_if(open.begin(), open.end(), [](std::size_t left) { return left > 0; }) - open.begin());
  return fail(ErrorKind::input, "node {} ({}) depends on itself through others", nodes[stuck].id, nodes[stuck].name);
}

}  // namespace

Result<ChakraTrace> read_chakra_bytes(std::string_view bytes, const std::string& file) {
  ChakraTrace trace;
  trace.name = file;
  std::vector<ChakraNode> nodes;
  WireReader reader(bytes);
  for (std::size_t number = 0; !reader.at_end(); ++number) {
    const auto length = reader.varint();
    const auto message = length ? reader.take(*length) : std::nullopt;
    if (!message)
      return fail(Error{ErrorKind::input,
                        fmt::format("message {} is cut off: this is no Chakra trace, or not all of one", number),
                        file});
    if (number == 0) {
      if (const Status read = read_metadata(*message, trace); !read) return fail(at(read.error(), file));
      continue;
    }
    auto node = read_node(*message, number);
    if (!node) return fail(at(node.error(), file));
    nodes.push_back(std::move(*node));
  }
  auto ordered = in_order(std::move(nodes));
  if (!ordered) return fail(at(ordered.error(), file));
  trace.nodes = std::move(*ordered);
  return trace;
}

Result<ChakraTrace> read_chakra(const std::string& path) {
  HOCKET_TRY(const std::string bytes, read_bytes(path));
  return read_chakra_bytes(bytes, path);
}

}  // namespace hocket
