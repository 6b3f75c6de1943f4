#include <simdjson.h>

#include <limits>
#include <unordered_map>

#include "hocket/ir/builder.h"
#include "hocket/ir/text.h"
#include "ir/json_members.h"
#include "ir/text_args.h"

namespace hocket {

namespace {

class GraphParser final : public TextParser {
 public:
  GraphParser(std::string_view text, const std::string& file, const OpTable& table)
      : TextParser(text, file), table_(table) {}

  Result<Graph> parse() {
    HOCKET_CHECK(expect("graph", "at the beginning"));
    HOCKET_TRY(std::string graph_name, name(TokenKind::global, "the graph's name such as @step"));
    builder_ = std::make_unique<GraphBuilder>(std::move(graph_name), table_);
    HOCKET_CHECK(find_definitions());
    HOCKET_CHECK(parameters());
    HOCKET_CHECK(expect("{", "after the parameters"));
    while (!accept("}")) HOCKET_CHECK(statement());
    if (!at(TokenKind::end)) return wrong(fmt::format("expected the end after '}}', {}", found()));
    auto graph = builder_->finish();
    if (!graph) return fail(at_file(std::move(graph).error()));
    return graph;
  }

 private:
  Error at_file(Error error) const {
    error.where = error.where.empty() ? file_ : file_ + ": " + error.where;
    return error;
  }
  using TextParser::at;

  TablesBuilder& tables() override { return builder_->tables(); }

  Result<Arg> value() override {
    HOCKET_TRY(const NodeId node, node_reference());
    return Arg::value(node);
  }

  Result<NodeId> node_reference() {
    const std::size_t place = peek().begin;
    HOCKET_TRY(const std::string text, name(TokenKind::value, "a value such as %x"));
    const auto found = ids_.find(text);
    if (found == ids_.end()) return wrong_at(place, fmt::format("%{} is not defined", text));
    return found->second;
  }

  // Values are numbered in the order of their definitions, and may be used before. So definitions are looked for first:
  // a value before ':' among the parameters, a value before '=' or a return outside of all brackets. A return has a name too, but
  // using it is a mistake that verify() reports.
  Status find_definitions() {
    const Token start = peek();
    std::size_t depth = 0;
    bool in_parameters = true;
    Token before;
    Token previous;
    std::size_t count = 0;
    std::string return_name;  // of the return whose facts may come
    for (; !at(TokenKind::end); take()) {
      if (at("return") && !in_parameters && depth == 1) {
        return_name = "output";
        ids_.try_emplace(return_name, NodeId(count++));
      }
      if (at(TokenKind::string) && depth == 2 && lexer_.text(previous) == "=" && lexer_.text(before) == "name" &&
          !return_name.empty()) {
        if (auto text = unescape(word())) rename(return_name, *text, NodeId(count - 1));
      }
      if (at(TokenKind::string) && !in_parameters && depth == 1 && lexer_.text(previous) == "device") {
        // it holds for the parameters too, which come before it
        HOCKET_TRY(default_device_, string("a device"));
        lexer_.rewind(last_end_);
        previous = Token();
        continue;
      }
      const bool defines = previous.kind == TokenKind::value && depth == 1 && (in_parameters ? at(":") : at("="));
      if (defines) {
        auto text = bare_name(lexer_.text(previous));
        if (!text) return wrong_at(previous.begin, text.error().message);
        if (!ids_.try_emplace(*text, NodeId(count)).second)
          return wrong_at(previous.begin, fmt::format("%{} is defined twice", *text));
        ++count;
        return_name.clear();
      }
      if (at("(") || at("[") || at("{")) ++depth;
      if (at(")") || at("]") || at("}")) {
        if (depth == 0) break;
        --depth;
        if (depth == 0 && in_parameters) in_parameters = false;
      }
      before = previous;
      previous = peek();
    }
    builder_->reserve(count);
    lexer_.rewind(start.begin);
    take();
    return {};
  }

  void rename(std::string& name, const std::string& other, NodeId id) {
    if (const auto found = ids_.find(name); found != ids_.end() && found->second == id) ids_.erase(found);
    ids_.try_emplace(other, id);
    name = other;
  }

  Status parameters() {
    HOCKET_CHECK(expect("(", "after the graph's name"));
    if (accept(")")) return {};
    do {
      begin_node();
      HOCKET_TRY(own_name_, name(TokenKind::value, "a parameter such as %x"));
      HOCKET_CHECK(expect(":", "after a parameter's name"));
      spec_.kind = NodeKind::input;
      HOCKET_CHECK(result());
      HOCKET_CHECK(facts());
      HOCKET_CHECK(add());
    } while (accept(","));
    return expect(")", "or ',' after a parameter");
  }

  Status statement() {
    begin_node();
    place_ = peek().begin;
    if (at(TokenKind::value)) return definition();
    if (accept("return")) return output();
    if (accept("group")) return group();
    if (accept("device")) {
      if (device_said_) return wrong_at(place_, "device is said twice");
      device_said_ = true;
      HOCKET_CHECK(string("a device"));  // find_definitions() has noted it
      return {};
    }
    if (accept("world")) {
      const auto rank_or_unknown = [&](std::string_view what) -> Result<std::int64_t> {
        const std::size_t where = peek().begin;
        HOCKET_TRY(const std::int64_t number, integer(what));
        if (number < -1 || number > std::numeric_limits<std::int32_t>::max())
          return wrong_at(where, fmt::format("{} is not {}; -1 says that it is unknown", number, what));
        return number;
      };
      HOCKET_TRY(const std::int64_t size, rank_or_unknown("the number of ranks"));
      HOCKET_CHECK(expect("rank", "after the number of ranks"));
      HOCKET_TRY(const std::int64_t rank, rank_or_unknown("this rank"));
      builder_->world(size, rank);
      return {};
    }
    if (accept("meta")) {
      const std::size_t where = peek().begin;
      HOCKET_TRY(std::string key, string("a key"));
      if (is_graph_member(key))
        return wrong_at(where, fmt::format("\"{}\" has a meaning of its own; choose another key", key));
      HOCKET_CHECK(expect("=", "after a key"));
      HOCKET_TRY(std::string value, json());
      builder_->meta(std::move(key), std::move(value));
      return {};
    }
    return wrong(
        fmt::format("expected a definition '%x = …', return, group, world, device, meta or '}}', {}", found()));
  }

  Status definition() {
    HOCKET_TRY(own_name_, name(TokenKind::value, "a value"));
    HOCKET_CHECK(expect("=", "after a value's name"));
    if (at("input") || at("attribute")) {
      spec_.kind = at("input") ? NodeKind::input : NodeKind::attribute;
      take();
      if (accept("(")) HOCKET_CHECK(call_arguments(args_, keywords_, ")"));
    } else {
      HOCKET_TRY(op_, op_name());
      HOCKET_CHECK(expect("(", "after an operator"));
      HOCKET_CHECK(call_arguments(args_, keywords_, ")"));
      HOCKET_CHECK(check_group());
    }
    if (accept(":")) {
      HOCKET_CHECK(result());
    } else if (spec_.kind == NodeKind::op) {
      spec_.infer = true;
    } else {
      return wrong(fmt::format("expected ':' and a type, {}", found()));
    }
    HOCKET_CHECK(facts());
    return add();
  }

  // JSON has a group's bare name where an operator takes its group; text tells groups and strings apart.
  Status check_group() const {
    const OpSpec* row = table_.find(op_);
    if (row == nullptr || !row->effects.comm || row->effects.comm->group_arg < 0) return {};
    const auto position = static_cast<std::size_t>(row->effects.comm->group_arg);
    if (position >= args_.size() || !args_[position].is(ArgKind::string)) return {};
    const std::string_view text = builder_->pool().text(args_[position]);
    return wrong_at(place_, fmt::format("argument {} of {} is the string \"{}\", expected a group such as @{}",
                                        position, op_, text.substr(0, 60), text.substr(0, 60)));
  }

  // return %a, %b [: result] [{facts}]; what follows on the next line begins with a value and '=', a word, or '}'
  Status output() {
    spec_.kind = NodeKind::output;
    own_name_ = "output";
    if (accept("(")) {
      HOCKET_CHECK(expect(")", "for no results"));
    } else {
      do {
        HOCKET_TRY(const Arg one, arg(0));
        args_.push_back(one);
      } while (accept(","));
    }
    if (accept(":")) HOCKET_CHECK(result());
    HOCKET_CHECK(facts());
    return add();
  }

  Status result() {
    if (accept("int")) {
      HOCKET_CHECK(expect("=", "after int"));
      HOCKET_TRY(spec_.integer, integer("an integer"));
      return {};
    }
    if (!accept("(")) return output_type();
    if (accept(")")) return {};
    while (!at(")")) {
      if (!at(",")) HOCKET_CHECK(output_type());
      if (!accept(",")) break;
      spec_.multi = true;
    }
    if (outputs_.size() > 1) spec_.multi = true;
    return expect(")", "or ',' after a type");
  }

  Status output_type() {
    HOCKET_TRY(const ParsedType parsed, type());
    OutputSpec spec;
    spec.dtype = parsed.dtype;
    spec.shape = parsed.shape;
    spec.strides = parsed.strides;
    spec.offset = parsed.offset;
    spec.device = default_device_;
    if (accept("on")) {
      HOCKET_TRY(spec.device, string("a device"));
    }
    if (accept("of")) {
      if (accept("new")) {
        spec.storage_key = next_storage_key_++;
      } else {
        HOCKET_TRY(const NodeId node, node_reference());
        std::int64_t index = 0;
        if (accept("#")) {
          const std::size_t place = peek().begin;
          HOCKET_TRY(index, integer("which output"));
          if (index < 0) return wrong_at(place, "an output below zero");
        }
        spec.shares = {node, static_cast<std::size_t>(index)};
      }
    }
    if (accept("storage")) {
      HOCKET_TRY(spec.storage_bytes, dim());
    }
    outputs_.push_back(std::move(spec));
    return {};
  }

  Status facts() {
    if (!accept("{")) return {};
    if (accept("}")) return {};
    do {
      HOCKET_TRY(const bool known, measured_fact(spec_.measured, spec_.gemm));
      if (!known) HOCKET_CHECK(other_fact());
    } while (accept(","));
    return expect("}", "or ',' after a fact");
  }

  Result<NodeId> reference_or_none() {
    if (accept("none")) return NodeId::none();
    return node_reference();
  }

  Status other_fact() {
    const std::size_t place = peek().begin;
    if (accept("multi")) {
      spec_.multi = !accept("=");
      return spec_.multi ? Status() : expect("false", "after multi=");
    }
    const std::string key(word());
    if (!at(TokenKind::word)) return wrong(fmt::format("expected a fact such as est=1.5ms, {}", found()));
    take();
    HOCKET_CHECK(expect("=", "after the name of a fact"));
    if (key == "view_of") {
      HOCKET_TRY(spec_.view_of, reference_or_none());
    } else if (key == "wait_of") {
      HOCKET_TRY(spec_.wait_of, reference_or_none());
    } else if (key == "mutates") {
      HOCKET_CHECK(expect("[", "after mutates="));
      if (!at("]")) {
        do {
          HOCKET_TRY(const NodeId node, node_reference());
          mutates_.push_back(node);
        } while (accept(","));
      }
      HOCKET_CHECK(expect("]", "after the values"));
      mutates_said_ = true;
    } else if (key == "coll") {
      if (accept("none")) {
        spec_.collective = std::optional<Collective>();
      } else {
        HOCKET_TRY(const Collective parsed, collective());
        spec_.collective = parsed;
      }
    } else if (key == "int") {
      HOCKET_TRY(spec_.integer, integer("an integer"));
    } else if (key == "name") {
      if (spec_.kind != NodeKind::output) return wrong_at(place, "only a return has its name among its facts");
      HOCKET_TRY(own_name_, string("a name"));
      if (own_name_.empty()) return wrong_at(place, "an empty name");
    } else if (key == "json") {
      HOCKET_TRY(extra_, json());
      if (extra_.size() < 2 || extra_.front() != '{') return wrong_at(place, "json= takes an object");
      if (const auto member = first_node_member(extra_))
        return wrong_at(place, fmt::format("\"{}\" has a meaning of its own and can't stand in json=", *member));
      extra_ = extra_.substr(1, extra_.size() - 2);
    } else {
      return wrong_at(place, fmt::format("unknown fact '{}'; known: est, flops, read, written, gemm, multi, view_of, "
                                         "wait_of, mutates, coll, int, name, json",
                                         key));
    }
    return {};
  }

  void begin_node() {
    spec_ = NodeSpec();
    place_ = peek().begin;
    own_name_.clear();
    op_.clear();
    args_.clear();
    keywords_.clear();
    outputs_.clear();
    mutates_.clear();
    mutates_said_ = false;
    extra_.clear();
  }

  Status add() {
    spec_.name = own_name_;
    spec_.op = op_;
    spec_.args = args_;
    spec_.keywords = keywords_;
    spec_.outputs = outputs_;
    spec_.extra = extra_;
    if (mutates_said_) spec_.mutates = std::span<const NodeId>(mutates_);
    builder_->add(spec_);
    if (const auto& error = builder_->error()) return wrong_at(place_, error->message);
    return {};
  }

  const OpTable& table_;
  std::unique_ptr<GraphBuilder> builder_;
  std::unordered_map<std::string, NodeId> ids_;
  std::string default_device_ = "cpu";
  bool device_said_ = false;
  std::uint64_t next_storage_key_ = 0;

  // The node being read.
  NodeSpec spec_;
  std::size_t place_ = 0;
  std::string own_name_;
  std::string op_;
  std::vector<Arg> args_;
  std::vector<Keyword> keywords_;
  std::vector<OutputSpec> outputs_;
  std::vector<NodeId> mutates_;
  bool mutates_said_ = false;
  std::string extra_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const std::string& file, const OpTable& table) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return fail(Error{ErrorKind::input, "not UTF-8; program text is UTF-8", file});
  return GraphParser(text, file, table).parse();
}

}  // namespace hocket
