#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "hocket/ir/builder.h"
#include "ir/json_members.h"
#include "ir/simdjson_memory.h"
#include "ir/text_args.h"

namespace hocket {

namespace {

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::size_t max_group = std::size_t{1} << 24;

}  // namespace

std::string TextParser::found() const {
  switch (token_.kind) {
    case TokenKind::end: return "found the end of the text";
    case TokenKind::bad:
      if (lexer_.text()[token_.begin] == '"') return "found a string that does not end on its line";
      return fmt::format("found '{}', which has no meaning here", word());
    default: return fmt::format("found '{}'", word().substr(0, 60));
  }
}

Status TextParser::expect(std::string_view symbol_or_word, std::string_view where) {
  if (accept(symbol_or_word)) return {};
  return wrong(fmt::format("expected '{}' {}, {}", symbol_or_word, where, found()));
}

Result<std::string> TextParser::name(TokenKind kind, std::string_view what) {
  if (!at(kind)) return wrong(fmt::format("expected {}, {}", what, found()));
  auto result = bare_name(word());
  if (!result) return wrong(result.error().message);
  if (result->empty()) return wrong("an empty name");
  take();
  return result;
}

Result<std::string> TextParser::string(std::string_view what) {
  if (!at(TokenKind::string)) return wrong(fmt::format("expected {} in quotes, {}", what, found()));
  auto result = unescape(word());
  if (!result) return wrong(result.error().message);
  take();
  return result;
}

Result<std::int64_t> TextParser::integer(std::string_view what) {
  if (!at(TokenKind::integer)) return wrong(fmt::format("expected {}, a whole number, {}", what, found()));
  const auto value = number_from<std::int64_t>(word());
  if (!value) return wrong(fmt::format("{} does not fit in 64 bits", word()));
  take();
  return *value;
}

// A size: a number, or an expression of symbols; it ends where an operand is followed by no operator.
Result<Dim> TextParser::dim() {
  const std::size_t begin = token_.begin;
  accept("-");
  do {
    if (!at(TokenKind::integer) && !at(TokenKind::word)) return wrong(fmt::format("expected a size, {}", found()));
    take();
    // in s0-8 the lexer takes -8 for a number
  } while (accept("*") || accept("+") || accept("-") || (at(TokenKind::integer) && word()[0] == '-'));
  const std::string_view text = lexer_.text().substr(begin, last_end_ - begin);
  if (const auto value = number_from<std::int64_t>(text); value && *value >= 0 && *value <= Dim::max)
    return Dim(*value);
  auto parsed = tables().symbols().parse(text);
  if (!parsed) return wrong_at(begin, parsed.error().message);
  return *parsed;
}

Result<std::vector<Dim>> TextParser::dims() {
  HOCKET_CHECK(expect("[", "before the sizes"));
  std::vector<Dim> list;
  if (accept("]")) return list;
  do {
    HOCKET_TRY(const Dim size, dim());
    list.push_back(size);
  } while (accept(","));
  HOCKET_CHECK(expect("]", "after the sizes"));
  return list;
}

Result<ParsedType> TextParser::type() {
  ParsedType result;
  const auto dtype = at(TokenKind::word) ? dtype_from_short_name(word()) : std::nullopt;
  if (!dtype) return wrong(fmt::format("expected a type such as f32[64,1024], {}", found()));
  result.dtype = *dtype;
  take();
  HOCKET_TRY(result.shape, dims());
  if (accept("strides")) {
    const std::size_t place = token_.begin;
    HOCKET_TRY(result.strides, dims());
    if (result.strides->size() != result.shape.size()) {
      return wrong_at(place, fmt::format("{} strides for {} sizes", result.strides->size(), result.shape.size()));
    }
  }
  if (accept("offset")) {
    HOCKET_TRY(result.offset, dim());
  }
  return result;
}

Result<Arg> TextParser::number_arg() {
  if (at(TokenKind::integer)) {
    HOCKET_TRY(const std::int64_t value, integer("an argument"));
    return Arg::integer(value);
  }
  const auto value = number_from<double>(word());
  if (!value) return wrong(fmt::format("{} is not a number that fits", word()));
  take();
  return Arg::real(*value);
}

Result<Arg> TextParser::elements(std::string_view close, bool is_dict, int depth) {
  std::vector<Arg> list;
  if (!accept(close)) {
    do {
      if (is_dict) {
        HOCKET_TRY(const std::string key, string("a key"));
        HOCKET_CHECK(expect(":", "after a key"));
        list.push_back(Arg::text(ArgKind::string, tables().pool().strings.add(key)));
      }
      HOCKET_TRY(const Arg one, arg(depth + 1));
      list.push_back(one);
    } while (accept(","));
    HOCKET_CHECK(expect(close, "or ','"));
  }
  const Range range = tables().pool().add(list);
  return is_dict ? Arg::dict(range) : Arg::list(range);
}

Result<Arg> TextParser::word_arg(int) {
  const std::string_view text = word();
  const std::size_t place = token_.begin;
  if (const auto dtype = dtype_from_short_name(text)) {
    take();
    return Arg::dtype(*dtype);
  }
  if (accept("none")) return Arg::none();
  if (accept("true")) return Arg::boolean(true);
  if (accept("false")) return Arg::boolean(false);
  if (accept("inf")) return Arg::real(std::numeric_limits<double>::infinity());
  if (accept("nan")) return Arg::real(std::numeric_limits<double>::quiet_NaN());
  if (accept("sym")) {
    HOCKET_CHECK(expect("(", "after sym"));
    HOCKET_TRY(const Dim size, dim());
    HOCKET_CHECK(expect(")", "after a size expression"));
    return size.is_static() ? Arg::integer(size.value()) : Arg::symbolic(size);
  }
  if (accept("json")) {
    HOCKET_CHECK(expect("(", "after json"));
    const std::size_t json_place = token_.begin;
    HOCKET_TRY(const std::string raw, json());
    if (!stays_json(raw)) return wrong_at(json_place, "json(…) takes an object that no other argument can say");
    HOCKET_CHECK(expect(")", "after JSON"));
    return Arg::text(ArgKind::json, tables().pool().strings.add(raw));
  }
  const ArgKind kind = text == "device"          ? ArgKind::device
                       : text == "layout"        ? ArgKind::layout
                       : text == "memory_format" ? ArgKind::memory_format
                                                 : ArgKind::none;
  if (kind != ArgKind::none) {
    take();
    HOCKET_CHECK(expect("(", fmt::format("after {}", text)));
    HOCKET_TRY(const std::string value, string("a name"));
    HOCKET_CHECK(expect(")", "after a name"));
    return Arg::text(kind, tables().pool().strings.add(value));
  }
  return wrong_at(place, fmt::format("'{}' is no argument; a value is written %{}, a string \"{}\"", text.substr(0, 60),
                                     text.substr(0, 60), text.substr(0, 60)));
}

Result<Arg> TextParser::arg(int depth) {
  if (depth > ArgPool::max_depth)
    return wrong(fmt::format("an argument is nested more than {} deep", ArgPool::max_depth));
  switch (token_.kind) {
    case TokenKind::integer:
    case TokenKind::real: return number_arg();
    case TokenKind::word: return word_arg(depth);
    case TokenKind::value: return value();
    case TokenKind::global: {
      HOCKET_TRY(const GroupId group, known_group());
      return Arg::group(group);
    }
    case TokenKind::string: {
      HOCKET_TRY(const std::string text, string("a string"));
      return Arg::text(ArgKind::string, tables().pool().strings.add(text));
    }
    default: break;
  }
  if (accept("[")) return elements("]", false, depth);
  if (accept("{")) return elements("}", true, depth);
  if (accept("-")) {
    if (accept("inf")) return Arg::real(-std::numeric_limits<double>::infinity());
    return wrong(fmt::format("expected a number after '-', {}", found()));
  }
  return wrong(fmt::format("expected an argument, {}", found()));
}

// Positional arguments, then key=value ones, up to `close`, which is taken.
Status TextParser::call_arguments(std::vector<Arg>& args, std::vector<Keyword>& keywords, std::string_view close) {
  args.clear();
  keywords.clear();
  if (accept(close)) return {};
  do {
    // a word or a string is a key if '=' follows
    if (at(TokenKind::word) || at(TokenKind::string)) {
      const Token key = token_;
      const std::size_t before = last_end_;
      take();
      if (accept("=")) {
        std::string text(lexer_.text(key));
        if (key.kind == TokenKind::string) {
          auto bare = unescape(text);
          if (!bare) return wrong_at(key.begin, bare.error().message);
          text = std::move(*bare);
        }
        HOCKET_TRY(const Arg one, arg(0));
        keywords.push_back({tables().pool().strings.add(text), one});
        continue;
      }
      lexer_.rewind(key.begin);
      take();
      last_end_ = before;
    }
    if (!keywords.empty()) return wrong("an argument without a name after one with a name");
    HOCKET_TRY(const Arg one, arg(0));
    args.push_back(one);
  } while (accept(","));
  return expect(close, "or ',' after an argument");
}

Result<std::string> TextParser::op_name() {
  if (at(TokenKind::string)) {
    const std::size_t place = token_.begin;
    HOCKET_TRY(std::string quoted, string("an operator"));
    if (quoted.empty()) return wrong_at(place, "an empty name");
    return quoted;
  }
  if (!at(TokenKind::word)) return wrong(fmt::format("expected an operator such as aten.mm, {}", found()));
  std::string full = full_op_name(word());
  take();
  return full;
}

// A JSON value, in the one form that the JSON reader gives it too: no blanks, numbers and escapes as simdjson writes them.
Result<std::string> TextParser::json() {
  const std::size_t begin = token_.begin;
  std::int64_t depth = 0;
  do {
    if (at(TokenKind::end) || at(TokenKind::bad)) return wrong(fmt::format("expected JSON, {}", found()));
    if (at("{") || at("[")) ++depth;
    if (at("}") || at("]")) --depth;
    take();
  } while (depth > 0);
  constexpr std::size_t most_nested = 512;  // a file in JSON wraps it in some more levels, and readers allow 1024
  simdjson::dom::parser parser;
  const simdjson::padded_string raw = padded_copy(lexer_.text().substr(begin, last_end_ - begin));
  simdjson::dom::element value;
  auto code = parser.allocate(raw.size(), most_nested);
  if (code == simdjson::SUCCESS) code = parser.parse(raw).get(value);
  check_memory(code);
  if (code != simdjson::SUCCESS)
    return wrong_at(begin, fmt::format("not valid JSON: {}", simdjson::error_message(code)));
  return simdjson::minify(value);
}

Result<GroupId> TextParser::known_group() {
  const std::size_t place = token_.begin;
  HOCKET_TRY(const std::string text, name(TokenKind::global, "a group such as @dp"));
  if (const auto group = tables().find_group(text)) return *group;
  return wrong_at(place, fmt::format("group @{} is not declared; write: group @{} = ranks[0,1]", text, text));
}

// group @name = ranks[0,1,2] or ranks[begin:end:step]
Status TextParser::group() {
  const std::size_t place = token_.begin;
  HOCKET_TRY(std::string text, name(TokenKind::global, "a group's name such as @dp"));
  if (tables().find_group(text)) return wrong_at(place, fmt::format("group @{} is declared twice", text));
  HOCKET_CHECK(expect("=", "after a group's name"));
  HOCKET_CHECK(expect("ranks", "as in ranks[0,1]"));
  HOCKET_CHECK(expect("[", "after ranks"));
  Group group{std::move(text), {}};
  const auto rank = [&]() -> Result<std::int64_t> {
    const std::size_t where = token_.begin;
    HOCKET_TRY(const std::int64_t value, integer("a rank"));
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
      return wrong_at(where, fmt::format("{} is no rank", value));
    return value;
  };
  if (!at("]")) {
    HOCKET_TRY(const std::int64_t first, rank());
    if (accept(":")) {
      const std::size_t where = token_.begin;
      HOCKET_TRY(const std::int64_t last, rank());
      std::int64_t step = 1;
      if (accept(":")) {
        HOCKET_TRY(step, rank());
      }
      if (step < 1 || last < first || static_cast<std::size_t>((last - first) / step) > max_group)
        return wrong_at(where, "not a range of ranks");
      for (std::int64_t at_rank = first; at_rank < last; at_rank += step)
        group.ranks.push_back(Rank{static_cast<std::int32_t>(at_rank)});
    } else {
      group.ranks.push_back(Rank{static_cast<std::int32_t>(first)});
      while (accept(",")) {
        HOCKET_TRY(const std::int64_t next, rank());
        group.ranks.push_back(Rank{static_cast<std::int32_t>(next)});
      }
    }
  }
  HOCKET_CHECK(expect("]", "after the ranks"));
  tables().group(std::move(group));
  return {};
}

// Exact: whole milliseconds and up to nine decimals.
Result<Nanoseconds> TextParser::milliseconds() {
  if (!at(TokenKind::integer) && !at(TokenKind::real))
    return wrong(fmt::format("expected a time such as 1.5ms, {}", found()));
  const auto value = number_from<double>(word());
  if (!value || !(*value >= 0 && *value <= longest_ms))
    return wrong(fmt::format("{} is no time; expected 0 to {:.0f} ms", word(), longest_ms));
  take();
  HOCKET_CHECK(expect("ms", "after a time"));
  return Nanoseconds::from_ms(*value);
}

Result<bool> TextParser::measured_fact(Measured& measured, bool& gemm) {
  if (accept("gemm")) {
    gemm = true;
    return true;
  }
  if (accept("est")) {
    HOCKET_CHECK(expect("=", "after est"));
    HOCKET_TRY(const Nanoseconds time, milliseconds());
    measured.picoseconds = time.picoseconds;
    return true;
  }
  std::int64_t* field = at("flops")     ? &measured.flops
                        : at("read")    ? &measured.read
                        : at("written") ? &measured.written
                                        : nullptr;
  if (field == nullptr) return false;
  take();
  HOCKET_CHECK(expect("=", "after the name of a fact"));
  const std::size_t place = token_.begin;
  HOCKET_TRY(*field, integer("a count"));
  if (*field < 0) return wrong_at(place, "a count below zero");
  if (field != &measured.flops && *field > Dim::max) return wrong_at(place, "more than 2^60 bytes");
  return true;
}

// all_reduce(@dp, 4096, 4096): kind, group, bytes in, bytes out
Result<Collective> TextParser::collective() {
  const auto kind = at(TokenKind::word) ? collective_kind_from_name(word()) : std::nullopt;
  if (!kind) return wrong(fmt::format("expected a kind of collective such as all_reduce, {}", found()));
  take();
  Collective result;
  result.kind = *kind;
  HOCKET_CHECK(expect("(", "after the kind of a collective"));
  HOCKET_TRY(result.group, known_group());
  for (Bytes* bytes : {&result.bytes_in, &result.bytes_out}) {
    HOCKET_CHECK(expect(",", "between the parts of a collective"));
    const std::size_t place = token_.begin;
    HOCKET_TRY(const std::int64_t count, integer("a number of bytes"));
    if (count < 0) return wrong_at(place, "a number of bytes below zero");
    if (count > Dim::max) return wrong_at(place, "more than 2^60 bytes");
    *bytes = Bytes(count);
  }
  HOCKET_CHECK(expect(")", "after a collective"));
  return result;
}

}  // namespace hocket
