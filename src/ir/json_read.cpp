#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "hocket/base/log.h"
#include "hocket/ir/builder.h"
#include "hocket/ir/json.h"
#include "ir/json_members.h"
#include "ir/simdjson_memory.h"

namespace hocket {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::string_view schema = "commgraph/1";
constexpr std::int64_t max_bytes = Dim::max;

const char* kind_of(element value) {
  switch (value.type()) {
    case element_type::ARRAY: return "a list";
    case element_type::OBJECT: return "an object";
    case element_type::INT64:
    case element_type::UINT64: return "an integer";
    case element_type::DOUBLE: return "a number";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "true or false";
    case element_type::NULL_VALUE: return "null";
  }
  return "something else";
}

template <class... Args>
tl::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::input, format, std::forward<Args>(args)...);
}

// Takes a value as T, or says what was there instead. `what` names it in the message.
Result<object> as_object(element value, std::string_view what) {
  object result;
  if (value.get(result) != simdjson::SUCCESS) return wrong("{} is {}, expected an object", what, kind_of(value));
  return result;
}

Result<array> as_array(element value, std::string_view what) {
  array result;
  if (value.get(result) != simdjson::SUCCESS) return wrong("{} is {}, expected a list", what, kind_of(value));
  return result;
}

Result<std::string_view> as_string(element value, std::string_view what) {
  std::string_view result;
  if (value.get(result) != simdjson::SUCCESS) return wrong("{} is {}, expected a string", what, kind_of(value));
  return result;
}

Result<bool> as_bool(element value, std::string_view what) {
  bool result = false;
  if (value.get(result) != simdjson::SUCCESS) return wrong("{} is {}, expected true or false", what, kind_of(value));
  return result;
}

Result<std::int64_t> as_integer(element value, std::string_view what, std::int64_t low, std::int64_t high) {
  std::int64_t result = 0;
  if (value.type() == element_type::DOUBLE) {
    // captures count FLOPs in floating point now and then
    const double number = value.get_double().value_unsafe();
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (!(std::abs(number) <= exact) || number != std::floor(number))
      return wrong("{} is {}, expected an integer", what, number);
    result = static_cast<std::int64_t>(number);
  } else if (value.get(result) != simdjson::SUCCESS) {
    return wrong("{} is {}, expected an integer", what, value.is_uint64() ? "a number above 2^63" : kind_of(value));
  }
  if (result < low || result > high) return wrong("{} is {}, expected {} to {}", what, result, low, high);
  return result;
}

bool mentions_a_node(element value) {
  if (value.is_array()) {
    const array items = value.get_array().value_unsafe();
    for (const element item : items) {
      if (mentions_a_node(item)) return true;
    }
  } else if (value.is_object()) {
    const object fields = value.get_object().value_unsafe();
    for (const auto& field : fields) {
      if (field.key == "n" || mentions_a_node(field.value)) return true;
    }
  }
  return false;
}

constexpr std::string_view graph_members[] = {"schema", "name", "world_size", "rank", "groups", "storages", "nodes"};
constexpr std::string_view node_members[] = {
    "id",  "name",    "kind",    "op",      "in",   "args",   "kwargs", "out",        "multi",        "compute",
    "int", "view_of", "wait_of", "mutates", "coll", "est_ms", "flops",  "bytes_read", "bytes_written"};
constexpr std::string_view labels[] = {"dtype", "device", "layout", "memory_format",
                                       "float", "group",  "sym"};  // of texts in arguments

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// An object with one member that says what the argument is.
bool is_labelled(object fields) {
  if (fields.size() != 1) return false;
  const auto [key, inner] = *fields.begin();
  return key == "n" || (key == "d" && inner.is_object()) || (inner.is_string() && is_among(labels, key));
}

class Reader {
 public:
  Reader(const OpTable& table) : table_(table) {}

  Result<Graph> read(element root) {
    HOCKET_TRY(const object top, as_object(root, "the file"));
    HOCKET_TRY(const std::string_view given_schema, member_string(top, "schema"));
    if (given_schema != schema) return wrong("schema is \"{}\", expected \"{}\"", given_schema, schema);
    HOCKET_TRY(const std::string_view name, member_string(top, "name"));
    if (name.empty()) return wrong("\"name\" is empty");
    builder_ = std::make_unique<GraphBuilder>(std::string(name), table_);
    HOCKET_CHECK(read_header(top));
    HOCKET_CHECK(read_storages(top));
    HOCKET_TRY(const array nodes, member_array(top, "nodes"));
    std::size_t count = 0;
    for ([[maybe_unused]] const element node : nodes) ++count;  // size() saturates at 2^24
    node_count_ = count;
    builder_->reserve(count);
    std::size_t index = 0;
    for (const element node : nodes) {
      if (auto status = read_node(node, index); !status)
        return fail(at(std::move(status).error(), node_place(node, index)));
      ++index;
    }
    HOCKET_TRY(Graph graph, builder_->finish());
    HOCKET_CHECK(check_allocations(graph));
    return graph;
  }

 private:
  static std::string node_place(element node, std::size_t index) {
    std::string_view name;
    if (node.is_object() && node["name"].get(name) == simdjson::SUCCESS)
      return fmt::format("node {} ({})", index, name.substr(0, 100));
    return fmt::format("node {}", index);
  }

  static Result<element> member(object from, std::string_view key) {
    element value;
    if (from.at_key(key).get(value) != simdjson::SUCCESS) return wrong("\"{}\" is missing", key);
    return value;
  }
  static Result<std::string_view> member_string(object from, std::string_view key) {
    HOCKET_TRY(const element value, member(from, key));
    return as_string(value, key);
  }
  static Result<array> member_array(object from, std::string_view key) {
    HOCKET_TRY(const element value, member(from, key));
    return as_array(value, key);
  }

  Status read_header(object top) {
    std::int64_t world_size = -1;
    std::int64_t rank = -1;
    constexpr std::int64_t most_ranks = std::numeric_limits<std::int32_t>::max();
    bool has_groups = false;
    for (const auto& [key, value] : top) {
      if (key == "world_size") {
        HOCKET_TRY(world_size, as_integer(value, key, -1, most_ranks));
      } else if (key == "rank") {
        HOCKET_TRY(rank, as_integer(value, key, -1, most_ranks));
      } else if (key == "groups") {
        has_groups = true;
        HOCKET_CHECK(read_groups(value));
      } else if (!is_among(graph_members, key)) {
        builder_->meta(std::string(key), simdjson::minify(value));
      }
    }
    if (!has_groups) return wrong("\"groups\" is missing");
    builder_->world(world_size, rank);
    return {};
  }

  Status read_groups(element value) {
    HOCKET_TRY(const array groups, as_array(value, "groups"));
    for (const element entry : groups) {
      HOCKET_TRY(const object group, as_object(entry, "an entry of groups"));
      HOCKET_TRY(const std::string_view name, member_string(group, "name"));
      if (name.empty()) return wrong("a group without a name");
      HOCKET_TRY(const array list, member_array(group, "ranks"));
      std::vector<Rank> ranks;
      for (const element item : list) {
        HOCKET_TRY(const std::int64_t rank, as_integer(item, fmt::format("a rank of group {}", name), 0,
                                                       std::numeric_limits<std::int32_t>::max()));
        ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
      }
      for (const auto& [key, member_value] : group) {
        if (key == "name" || key == "ranks") continue;
        if (key != "size") return wrong("group {} has an unknown member \"{}\"; known: name, size, ranks", name, key);
        HOCKET_TRY(const std::int64_t size, as_integer(member_value, fmt::format("the size of group {}", name), 0,
                                                       std::numeric_limits<std::int32_t>::max()));
        if (size != static_cast<std::int64_t>(ranks.size()))
          return wrong("group {}: size is {}, but it lists {} ranks", name, size, ranks.size());
      }
      if (builder_->find_group(name)) return wrong("two groups are called {}", name);
      builder_->group(std::string(name), std::move(ranks));
    }
    return {};
  }

  Status read_storages(object top) {
    HOCKET_TRY(const array list, member_array(top, "storages"));
    for (const element entry : list) {
      const std::string what = fmt::format("storages[{}]", storages_.size());
      HOCKET_TRY(const object storage, as_object(entry, what));
      FileStorage record;
      bool has_id = false;
      for (const auto& [key, value] : storage) {
        if (key == "id") {
          has_id = true;
          HOCKET_TRY(const std::int64_t id,
                     as_integer(value, what + ".id", 0, std::numeric_limits<std::int64_t>::max()));
          if (id != static_cast<std::int64_t>(storages_.size()))
            return wrong("{}.id is {}, expected its position", what, id);
        } else if (key == "bytes") {
          HOCKET_TRY(record.bytes, size(value, what + ".bytes"));
        } else if (key == "alloc_by") {
          if (!value.is_null()) {
            HOCKET_TRY(record.allocated_by,
                       as_integer(value, what + ".alloc_by", 0, std::numeric_limits<std::int32_t>::max()));
          }
        } else {
          return wrong("{} has an unknown member \"{}\"; known: id, bytes, alloc_by", what, key);
        }
      }
      if (!has_id) return wrong("{}: \"id\" is missing", what);
      storages_.push_back(record);
    }
    return {};
  }

  // A size: an integer, or a string with an expression of symbols.
  Result<Dim> size(element value, std::string_view what) {
    if (value.is_string()) {
      auto dim = builder_->symbols().parse(value.get_string().value_unsafe());
      if (!dim) return wrong("{}: {}", what, dim.error().message);
      return *dim;
    }
    HOCKET_TRY(const std::int64_t number, as_integer(value, what, 0, Dim::max));
    return Dim(number);
  }

  Result<std::vector<Dim>> sizes(element value, std::string_view what) {
    HOCKET_TRY(const array list, as_array(value, what));
    std::vector<Dim> dims;
    for (const element item : list) {
      HOCKET_TRY(const Dim dim, size(item, what));
      dims.push_back(dim);
    }
    return dims;
  }

  Result<NodeId> node_id(element value, std::string_view what) const {
    HOCKET_TRY(const std::int64_t id, as_integer(value, what, std::numeric_limits<std::int64_t>::min(),
                                                 std::numeric_limits<std::int64_t>::max()));
    if (id < 0 || static_cast<std::size_t>(id) >= node_count_)
      return wrong("{} names node {}, but there are only nodes 0 to {}", what, id, node_count_ - 1);
    return NodeId(static_cast<std::size_t>(id));
  }

  Result<Arg> arg(element value, int depth) {
    if (depth > ArgPool::max_depth) return wrong("an argument is nested more than {} deep", ArgPool::max_depth);
    switch (value.type()) {
      case element_type::NULL_VALUE: return Arg::none();
      case element_type::BOOL: return Arg::boolean(value.get_bool().value_unsafe());
      case element_type::INT64: return Arg::integer(value.get_int64().value_unsafe());
      case element_type::UINT64:
        return wrong("an argument is {}, which does not fit in 64 bits", value.get_uint64().value_unsafe());
      case element_type::DOUBLE: return Arg::real(value.get_double().value_unsafe());
      case element_type::STRING: return builder_->string(value.get_string().value_unsafe());
      case element_type::ARRAY: {
        std::vector<Arg> elements;
        const array items = value.get_array().value_unsafe();
        for (const element item : items) {
          HOCKET_TRY(const Arg one, arg(item, depth + 1));
          elements.push_back(one);
        }
        return builder_->list(elements);
      }
      case element_type::OBJECT: return object_arg(value, depth);
    }
    return wrong("an argument of unknown kind");
  }

  Result<Arg> object_arg(element value, int depth) {
    const object fields = value.get_object().value_unsafe();
    if (is_labelled(fields)) {
      const auto [key, inner] = *fields.begin();
      if (key == "n") {
        HOCKET_TRY(const NodeId node, node_id(inner, "an argument"));
        return Arg::value(node);
      }
      if (key == "d") return dict(inner.get_object().value_unsafe(), depth);
      return labelled_text(key, inner.get_string().value_unsafe());
    }
    if (mentions_a_node(value))
      return wrong("an argument {} refers to a node in a way that is not known", simdjson::minify(value));
    return builder_->text(ArgKind::json, simdjson::minify(value));
  }

  Result<Arg> labelled_text(std::string_view label, std::string_view text) {
    if (label == "dtype") {
      const auto dtype = dtype_from_torch_name(text);
      if (!dtype) return wrong("an argument has the unknown dtype \"{}\"", text);
      return Arg::dtype(*dtype);
    }
    if (label == "device") return builder_->text(ArgKind::device, text);
    if (label == "layout") return builder_->text(ArgKind::layout, text);
    if (label == "memory_format") return builder_->text(ArgKind::memory_format, text);
    if (label == "float") return special_float(text);
    if (label == "group") {
      HOCKET_TRY(const GroupId group, group_named(text));
      return Arg::group(group);
    }
    HOCKET_TRY(const Dim dim, builder_->symbols().parse(text));
    return dim.is_static() ? Arg::integer(dim.value()) : Arg::symbolic(dim);
  }

  static Result<Arg> special_float(std::string_view text) {
    if (text == "inf") return Arg::real(std::numeric_limits<double>::infinity());
    if (text == "-inf") return Arg::real(-std::numeric_limits<double>::infinity());
    if (text == "nan") return Arg::real(std::numeric_limits<double>::quiet_NaN());
    return wrong("an argument is the unknown number \"{}\"; expected inf, -inf or nan", text);
  }

  Result<Arg> dict(object fields, int depth) {
    std::vector<Arg> pairs;
    for (const auto& [key, value] : fields) {
      HOCKET_TRY(const Arg one, arg(value, depth + 1));
      pairs.push_back(builder_->string(key));
      pairs.push_back(one);
    }
    return builder_->dict(pairs);
  }

  Result<OutputSpec> output(element value) {
    HOCKET_TRY(const object fields, as_object(value, "an entry of out"));
    OutputSpec spec;
    bool has_shape = false;
    bool has_dtype = false;
    for (const auto& [key, inner] : fields) {
      if (key == "shape") {
        has_shape = true;
        HOCKET_TRY(spec.shape, sizes(inner, "out.shape"));
      } else if (key == "dtype") {
        has_dtype = true;
        HOCKET_TRY(const std::string_view name, as_string(inner, "out.dtype"));
        const auto dtype = dtype_from_torch_name(name);
        if (!dtype) return wrong("out.dtype is the unknown \"{}\"", name);
        spec.dtype = *dtype;
      } else if (key == "stride") {
        HOCKET_TRY(spec.strides, sizes(inner, "out.stride"));
      } else if (key == "offset") {
        HOCKET_TRY(spec.offset, size(inner, "out.offset"));
      } else if (key == "device") {
        HOCKET_TRY(spec.device, as_string(inner, "out.device"));
      } else if (key == "storage") {
        HOCKET_TRY(const std::int64_t storage,
                   as_integer(inner, "out.storage", std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max()));
        if (storage < 0 || static_cast<std::size_t>(storage) >= storages_.size()) {
          return wrong("out.storage is {}, but there are only storages 0 to {}", storage,
                       static_cast<std::int64_t>(storages_.size()) - 1);
        }
        spec.storage_key = static_cast<std::uint64_t>(storage);
        FileStorage& record = storages_[static_cast<std::size_t>(storage)];
        if (record.first_node < 0) {
          record.first_node = static_cast<std::int64_t>(builder_->graph().size());
          spec.storage_bytes = record.bytes;
        }
      } else {
        return wrong("out has an unknown member \"{}\"; known: shape, dtype, stride, offset, device, storage", key);
      }
    }
    if (!has_shape || !has_dtype) return wrong("out lacks its \"{}\"", has_shape ? "dtype" : "shape");
    if (spec.strides && spec.strides->size() != spec.shape.size())
      return wrong("out has {} sizes but {} strides", spec.shape.size(), spec.strides->size());
    return spec;
  }

  Result<Collective> collective(element value) const {
    HOCKET_TRY(const object fields, as_object(value, "coll"));
    Collective result;
    HOCKET_TRY(const std::string_view kind, member_string(fields, "kind"));
    const auto known = collective_kind_from_name(kind);
    if (!known)
      return wrong("coll.kind is \"{}\"; known: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, p2p",
                   kind);
    result.kind = *known;
    HOCKET_TRY(const std::string_view group, member_string(fields, "group"));
    HOCKET_TRY(result.group, group_named(group));
    for (const auto& [key, inner] : fields) {
      if (key == "kind" || key == "group") continue;
      if (key != "bytes_in" && key != "bytes_out")
        return wrong("coll has an unknown member \"{}\"; known: kind, group, bytes_in, bytes_out", key);
      HOCKET_TRY(const std::int64_t bytes, as_integer(inner, fmt::format("coll.{}", key), 0, max_bytes));
      (key == "bytes_in" ? result.bytes_in : result.bytes_out) = Bytes(bytes);
    }
    return result;
  }

  Result<GroupId> group_named(std::string_view name) const {
    if (const auto group = builder_->find_group(name)) return *group;
    std::string known;
    for (const Group& group : builder_->graph().groups()) known += (known.empty() ? "" : ", ") + group.name;
    return wrong("group \"{}\" is not declared; known groups: {}", name, known.empty() ? "none" : known);
  }

  Status read_node(element value, std::size_t index);
  Status read_member(std::string_view key, element value);
  Status check_inputs(element value) const;
  Status name_the_group();

  Status check_allocations(const Graph& graph) const {
    std::size_t unused = 0;
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      const FileStorage& storage = storages_[i];
      if (storage.first_node < 0) ++unused;
      else if (storage.allocated_by >= 0 && storage.allocated_by != storage.first_node) {
        return wrong("storages[{}].alloc_by is {}, but node {} ({}) is the first whose result lies in it", i,
                     storage.allocated_by, storage.first_node,
                     graph.name(NodeId(static_cast<std::size_t>(storage.first_node))));
      }
    }
    if (unused > 0) log().debug("{} storages that no tensor lies in were left out", unused);
    return {};
  }

  struct FileStorage {
    Dim bytes = 0;
    std::int64_t allocated_by = -1;
    std::int64_t first_node = -1;
  };

  const OpTable& table_;
  std::unique_ptr<GraphBuilder> builder_;
  std::vector<FileStorage> storages_;
  std::size_t node_count_ = 0;

  // The node being read. Kept here so that its lists keep their memory from node to node.
  NodeSpec spec_;
  std::string_view kind_;
  std::vector<Arg> args_;
  std::vector<Keyword> keywords_;
  std::vector<OutputSpec> outputs_;
  std::vector<NodeId> mutates_;
  std::string extra_;
};

Status Reader::read_node(element value, std::size_t index) {
  HOCKET_TRY(const object fields, as_object(value, "the node"));
  spec_ = NodeSpec();
  kind_ = {};
  args_.clear();
  keywords_.clear();
  outputs_.clear();
  mutates_.clear();
  extra_.clear();
  bool has_id = false;
  for (const auto& [key, inner] : fields) {
    if (key == "id") {
      has_id = true;
      HOCKET_TRY(const std::int64_t id, as_integer(inner, "id", std::numeric_limits<std::int64_t>::min(),
                                                   std::numeric_limits<std::int64_t>::max()));
      if (id != static_cast<std::int64_t>(index)) return wrong("id is {}, expected its position {}", id, index);
    } else {
      HOCKET_CHECK(read_member(key, inner));
    }
  }
  if (!has_id) return wrong("\"id\" is missing");
  if (spec_.name.empty()) return wrong("\"name\" is missing or empty");
  if (kind_ == "op") spec_.kind = NodeKind::op;
  else if (kind_ == "placeholder") spec_.kind = NodeKind::input;
  else if (kind_ == "get_attr") spec_.kind = NodeKind::attribute;
  else if (kind_ == "output") spec_.kind = NodeKind::output;
  else return wrong("kind is \"{}\", expected placeholder, get_attr, op or output", kind_);
  if (spec_.kind == NodeKind::op && spec_.op.empty()) return wrong("an op without \"op\"");
  if (spec_.kind != NodeKind::op && !spec_.op.empty()) return wrong("\"op\" on a node of kind {}", kind_);

  if (spec_.kind == NodeKind::output && !keywords_.empty()) return wrong("an output with \"kwargs\"");
  HOCKET_CHECK(name_the_group());
  spec_.args = args_;
  spec_.keywords = keywords_;
  spec_.outputs = outputs_;
  spec_.mutates = std::span<const NodeId>(mutates_);
  if (!spec_.view_of) spec_.view_of = NodeId::none();
  if (!spec_.wait_of) spec_.wait_of = NodeId::none();
  if (!spec_.collective) spec_.collective = std::optional<Collective>();
  spec_.extra = extra_;
  builder_->add(spec_);
  element inputs;
  if (value["in"].get(inputs) == simdjson::SUCCESS) return check_inputs(inputs);
  return {};
}

// In the file a group argument is a string; the operator's row tells which one.
Status Reader::name_the_group() {
  if (spec_.kind != NodeKind::op) return {};
  const OpSpec* row = table_.find(spec_.op);
  if (row == nullptr || !row->effects.comm || row->effects.comm->group_arg < 0) return {};
  const auto position = static_cast<std::size_t>(row->effects.comm->group_arg);
  if (position >= args_.size() || !args_[position].is(ArgKind::string)) return {};
  HOCKET_TRY(const GroupId group, group_named(builder_->pool().text(args_[position])));
  args_[position] = Arg::group(group);
  return {};
}

Status Reader::check_inputs(element value) const {
  HOCKET_TRY(const array list, as_array(value, "in"));
  const Graph& graph = builder_->graph();
  if (graph.size() == 0) return {};
  const auto inputs = graph.inputs(NodeId(graph.size() - 1));
  std::size_t position = 0;
  for (const element item : list) {
    HOCKET_TRY(const NodeId input, node_id(item, "in"));
    if (position >= inputs.size() || inputs[position] != input) {
      return wrong(
          "\"in\" has node {} at position {}, but the arguments refer to {}", input.value, position,
          position < inputs.size() ? fmt::format("node {} there", inputs[position].value) : std::string("fewer nodes"));
    }
    ++position;
  }
  if (position != inputs.size())
    return wrong("\"in\" lists {} nodes, but the arguments refer to {}", position, inputs.size());
  return {};
}

Status Reader::read_member(std::string_view key, element value) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (key == "name") {
    HOCKET_TRY(spec_.name, as_string(value, key));
  } else if (key == "kind") {
    HOCKET_TRY(kind_, as_string(value, key));
  } else if (key == "op") {
    HOCKET_TRY(spec_.op, as_string(value, key));
  } else if (key == "in") {
    HOCKET_CHECK(as_array(value, key));  // compared with the arguments once they are read
  } else if (key == "args") {
    HOCKET_TRY(const array list, as_array(value, key));
    for (const element item : list) {
      HOCKET_TRY(const Arg one, arg(item, 0));
      args_.push_back(one);
    }
  } else if (key == "kwargs") {
    HOCKET_TRY(const object fields, as_object(value, key));
    for (const auto& [keyword, item] : fields) {
      HOCKET_TRY(const Arg one, arg(item, 0));
      keywords_.push_back({builder_->key(keyword), one});
    }
  } else if (key == "out") {
    HOCKET_TRY(const array list, as_array(value, key));
    for (const element item : list) {
      HOCKET_TRY(OutputSpec one, output(item));
      outputs_.push_back(std::move(one));
    }
  } else if (key == "multi") {
    HOCKET_TRY(spec_.multi, as_bool(value, key));
  } else if (key == "compute") {
    HOCKET_TRY(spec_.gemm, as_bool(value, key));
  } else if (key == "int") {
    HOCKET_TRY(spec_.integer, as_integer(value, key, std::numeric_limits<std::int64_t>::min(), most));
  } else if (key == "view_of") {
    HOCKET_TRY(spec_.view_of, node_id(value, key));
  } else if (key == "wait_of") {
    HOCKET_TRY(spec_.wait_of, node_id(value, key));
  } else if (key == "mutates") {
    HOCKET_TRY(const array list, as_array(value, key));
    for (const element item : list) {
      HOCKET_TRY(const NodeId node, node_id(item, key));
      mutates_.push_back(node);
    }
  } else if (key == "coll") {
    HOCKET_TRY(spec_.collective, collective(value));
  } else if (key == "est_ms") {
    double ms = 0;
    if (value.get(ms) != simdjson::SUCCESS) return wrong("est_ms is {}, expected a number", kind_of(value));
    if (!(ms >= 0 && ms <= longest_ms)) return wrong("est_ms is {}, expected 0 to {}", ms, longest_ms);
    spec_.measured.picoseconds = Nanoseconds::from_ms(ms).picoseconds;
  } else if (key == "flops") {
    HOCKET_TRY(spec_.measured.flops, as_integer(value, key, 0, most));
  } else if (key == "bytes_read") {
    HOCKET_TRY(spec_.measured.read, as_integer(value, key, 0, max_bytes));
  } else if (key == "bytes_written") {
    HOCKET_TRY(spec_.measured.written, as_integer(value, key, 0, max_bytes));
  } else {
    extra_ += extra_.empty() ? "" : ",";
    append_json_string(extra_, key);
    extra_ += ":" + simdjson::minify(value);
  }
  return {};
}

// simdjson is fast but does not say where a text goes wrong; a second reader that does is asked then.
Error syntax_error(std::string_view text, simdjson::error_code code) {
  check_memory(code);
  try {
    struct Ignore final : nlohmann::json_sax<nlohmann::json> {
      bool null() override { return true; }
      bool boolean(bool) override { return true; }
      bool number_integer(number_integer_t) override { return true; }
      bool number_unsigned(number_unsigned_t) override { return true; }
      bool number_float(number_float_t, const string_t&) override { return true; }
      bool string(string_t&) override { return true; }
      bool binary(binary_t&) override { return true; }
      bool start_object(std::size_t) override { return true; }
      bool key(string_t&) override { return true; }
      bool end_object() override { return true; }
      bool start_array(std::size_t) override { return true; }
      bool end_array() override { return true; }
      bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        message = error.what();
        return false;
      }
      std::string message;
    } ignore;
    nlohmann::json::sax_parse(text, &ignore);
    if (!ignore.message.empty()) {
      // "[json.exception.parse_error.101] parse error at line 1, column 5: …": the part after the tag is for people
      const std::size_t tag = ignore.message.find("] ");
      return {ErrorKind::input, "not valid JSON: " + ignore.message.substr(tag == std::string::npos ? 0 : tag + 2), {}};
    }
  } catch (const std::exception& error) {
    log().debug("no place for the JSON error: {}", error.what());
  }
  return {ErrorKind::input, fmt::format("not valid JSON: {}", simdjson::error_message(code)), {}};
}

// The value of a JSON text that is known to be valid; `visit` sees it while it lives.
template <class Visit>
auto with_json(std::string_view json, Visit&& visit) {
  simdjson::dom::parser parser;
  element root;
  const simdjson::padded_string padded = padded_copy(json);
  const auto code = parser.parse(padded).get(root);
  check_memory(code);
  if (code != simdjson::SUCCESS) return decltype(visit(root))();
  return visit(root);
}

}  // namespace

bool is_graph_member(std::string_view key) { return is_among(graph_members, key); }

std::optional<std::string> first_node_member(std::string_view object_json) {
  return with_json(object_json, [](element root) -> std::optional<std::string> {
    object fields;
    if (root.get(fields) != simdjson::SUCCESS) return std::nullopt;
    for (const auto& field : fields) {
      if (is_among(node_members, field.key)) return std::string(field.key);
    }
    return std::nullopt;
  });
}

bool stays_json(std::string_view json) {
  return with_json(json, [](element root) {
    object fields;
    return root.get(fields) == simdjson::SUCCESS && !is_labelled(fields) && !mentions_a_node(root);
  });
}

Result<Graph> read_graph_json(std::string_view text, const std::string& file, const OpTable& table) {
  const auto in_file = [&](Error error) {
    error.where = error.where.empty() ? file : file + ": " + error.where;
    return fail(std::move(error));
  };
  simdjson::dom::parser parser;
  element root;
  const simdjson::padded_string padded = padded_copy(text);
  if (const auto code = parser.parse(padded).get(root); code != simdjson::SUCCESS)
    return in_file(syntax_error(text, code));
  auto graph = Reader(table).read(root);
  if (!graph) return in_file(std::move(graph).error());
  return graph;
}

}  // namespace hocket
