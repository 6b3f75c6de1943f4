#include <fmt/format.h>

#include <cmath>

#include "hocket/ir/json.h"

namespace hocket {

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    switch (c) {
      case '"': to += "\\\""; break;
      case '\\': to += "\\\\"; break;
      case '\b': to += "\\b"; break;
      case '\f': to += "\\f"; break;
      case '\n': to += "\\n"; break;
      case '\r': to += "\\r"; break;
      case '\t': to += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
        else to += c;
    }
  }
  to += '"';
}

namespace {

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string write() {
    text_.reserve(400 * graph_.size() + 4096);
    text_ += R"({"schema":"commgraph/1","name":)";
    append_json_string(text_, graph_.name());
    // facts that come before world_size in captures stay there: order has no meaning, but diffs read better
    for (const auto& [key, json] : graph_.meta()) {
      text_ += ',';
      append_json_string(text_, key);
      text_ += ':';
      text_ += json;
    }
    if (graph_.world_size() >= 0) number("world_size", graph_.world_size());
    if (graph_.rank() >= 0) number("rank", graph_.rank());
    groups();
    storages();
    text_ += ",\"nodes\":[";
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (i > 0) text_ += ',';
      node(NodeId(i));
    }
    text_ += "]}\n";
    return std::move(text_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void number(std::string_view key, std::int64_t value) { put(",\"{}\":{}", key, value); }

  void dim(Dim value) {
    if (value.is_static()) put("{}", value.value());
    else append_json_string(text_, graph_.symbols().to_string(value));
  }
  void dims(std::string_view key, Dims list) {
    put("\"{}\":[", key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text_ += ',';
      dim(list[i]);
    }
    text_ += ']';
  }
  void ids(std::string_view key, std::span<const NodeId> list) {
    put(",\"{}\":[", key);
    for (std::size_t i = 0; i < list.size(); ++i) put("{}{}", i > 0 ? "," : "", list[i].value);
    text_ += ']';
  }

  void groups() {
    text_ += ",\"groups\":[";
    bool first = true;
    for (const Group& group : graph_.groups()) {
      text_ += first ? "{\"name\":" : ",{\"name\":";
      first = false;
      append_json_string(text_, group.name);
      put(",\"size\":{},\"ranks\":[", group.ranks.size());
      for (std::size_t i = 0; i < group.ranks.size(); ++i) put("{}{}", i > 0 ? "," : "", group.ranks[i].value);
      text_ += "]}";
    }
    text_ += ']';
  }

  void storages() {
    text_ += ",\"storages\":[";
    const auto list = graph_.storages();
    for (std::size_t i = 0; i < list.size(); ++i) {
      put("{}{{\"id\":{},\"bytes\":", i > 0 ? "," : "", i);
      dim(list[i].bytes);
      put(",\"alloc_by\":{}}}", list[i].allocated_by.value);
    }
    text_ += ']';
  }

  void labelled(std::string_view label, std::string_view value) {
    put("{{\"{}\":", label);
    append_json_string(text_, value);
    text_ += '}';
  }

  void real(double value) {
    if (std::isnan(value)) labelled("float", "nan");
    else if (std::isinf(value)) labelled("float", value > 0 ? "inf" : "-inf");
    else {
      const std::size_t begin = text_.size();
      put("{}", value);
      if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
    }
  }

  void arg(const Arg& value) {
    const ArgPool& pool = graph_.pool();
    switch (value.kind()) {
      case ArgKind::none: text_ += "null"; break;
      case ArgKind::boolean: text_ += value.as_bool() ? "true" : "false"; break;
      case ArgKind::integer: put("{}", value.as_integer()); break;
      case ArgKind::real: real(value.as_real()); break;
      case ArgKind::symbolic: labelled("sym", graph_.symbols().to_string(value.as_symbolic())); break;
      case ArgKind::string: append_json_string(text_, pool.text(value)); break;
      case ArgKind::value: put("{{\"n\":{}}}", value.as_node().value); break;
      case ArgKind::group: labelled("group", graph_.group(value.as_group()).name); break;
      case ArgKind::dtype: labelled("dtype", torch_name(value.as_dtype())); break;
      case ArgKind::device: labelled("device", pool.text(value)); break;
      case ArgKind::layout: labelled("layout", pool.text(value)); break;
      case ArgKind::memory_format: labelled("memory_format", pool.text(value)); break;
      case ArgKind::json: text_ += pool.text(value); break;
      case ArgKind::list: {
        text_ += '[';
        bool first = true;
        for (const Arg& element : pool.elements(value)) {
          if (!first) text_ += ',';
          first = false;
          arg(element);
        }
        text_ += ']';
        break;
      }
      case ArgKind::dict: {
        text_ += "{\"d\":{";
        const auto pairs = pool.elements(value);
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
          if (i > 0) text_ += ',';
          append_json_string(text_, pool.text(pairs[i]));
          text_ += ':';
          arg(pairs[i + 1]);
        }
        text_ += "}}";
        break;
      }
    }
  }

  void node(NodeId id) {
    const Node& node = graph_.node(id);
    put("{{\"id\":{},\"name\":", id.value);
    append_json_string(text_, graph_.name(id));
    static constexpr const char* kinds[] = {"placeholder", "get_attr", "op", "output"};
    put(",\"kind\":\"{}\"", kinds[static_cast<std::size_t>(node.kind)]);
    if (node.kind == NodeKind::op) {
      text_ += ",\"op\":";
      append_json_string(text_, graph_.op_name(id));
    }
    ids("in", graph_.inputs(id));
    if (node.kind == NodeKind::op || node.kind == NodeKind::output || node.args.count > 0 || node.keywords.count > 0)
      arguments(id);
    outputs(id);
    if (node.multi) text_ += ",\"multi\":true";
    if (node.view_of.valid()) number("view_of", node.view_of.value);
    if (node.mutates.count > 0) ids("mutates", graph_.mutates(id));
    if (const auto time = graph_.estimate(id)) put(",\"est_ms\":{}", exact_ms(*time));
    if (node.measured.flops >= 0) number("flops", node.measured.flops);
    if (node.gemm) text_ += ",\"compute\":true";
    if (node.measured.read >= 0) number("bytes_read", node.measured.read);
    if (node.measured.written >= 0) number("bytes_written", node.measured.written);
    if (const Collective* c = graph_.collective(id)) {
      put(",\"coll\":{{\"kind\":\"{}\",\"group\":", name_of(c->kind));
      append_json_string(text_, graph_.group(c->group).name);
      put(",\"bytes_in\":{},\"bytes_out\":{}}}", c->bytes_in.count, c->bytes_out.count);
    }
    if (node.wait_of.valid()) number("wait_of", node.wait_of.value);
    if (node.has_integer) number("int", node.integer);
    if (const std::string_view extra = graph_.extra(id); !extra.empty()) {
      text_ += ',';
      text_ += extra;
    }
    text_ += '}';
  }

  void arguments(NodeId id) {
    text_ += ",\"args\":[";
    const OpSpec* spec = graph_.op_spec(id);
    const int group_arg = spec != nullptr && spec->effects.comm ? spec->effects.comm->group_arg : -1;
    const auto args = graph_.args(id);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (i > 0) text_ += ',';
      // where an operator takes its group, captures have the bare name
      if (static_cast<int>(i) == group_arg && args[i].is(ArgKind::group))
        append_json_string(text_, graph_.group(args[i].as_group()).name);
      else arg(args[i]);
    }
    text_ += ']';
    if (graph_.keywords(id).empty()) return;
    text_ += ",\"kwargs\":{";
    bool first = true;
    for (const Keyword& keyword : graph_.keywords(id)) {
      if (!first) text_ += ',';
      first = false;
      append_json_string(text_, graph_.pool().strings[keyword.key]);
      text_ += ':';
      arg(keyword.value);
    }
    text_ += '}';
  }

  void outputs(NodeId id) {
    text_ += ",\"out\":[";
    bool first = true;
    for (const Output& output : graph_.outputs(id)) {
      const TypeView type = graph_.type(output);
      text_ += first ? "{" : ",{";
      first = false;
      dims("shape", type.shape);
      put(",\"dtype\":\"{}\",", torch_name(type.dtype));
      dims("stride", type.strides);
      text_ += ",\"offset\":";
      dim(type.offset);
      text_ += ",\"device\":";
      append_json_string(text_, graph_.device(output.device));
      put(",\"storage\":{}}}", output.storage.value);
    }
    text_ += ']';
  }

  const Graph& graph_;
  std::string text_;
};

}  // namespace

std::string write_graph_json(const Graph& graph) { return Writer(graph).write(); }

}  // namespace hocket
