#include "cost/json_value.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "hocket/base/nearest.h"

namespace hocket {

namespace {

using nlohmann::json;

// Deep nesting is found before the parser builds it: a bracket inside a string does not count.
bool deeper_than(std::string_view text, int limit) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    else if (c == '"') in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{') && ++depth > limit) return true;
    else if (!in_string && (c == ']' || c == '}')) --depth;
  }
  return false;
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 == 0
  return fmt::format("{}:{}", line, before.size() - begin + 1);
}

// nlohmann's message without its own prefix, "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string reason_of(const json::parse_error& error) {
  std::string_view what = error.what();
  if (const auto colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
  return std::string(what);
}

// Sees every member as it is parsed; the library itself would keep the last of two without a word.
class TwiceSeen {
 public:
  bool operator()(int, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second && !twice_) twice_ = key;
    }
    return true;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> twice_;
};

std::string got(const json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= longest ? text : value.is_string() ? "a long string" : "a long number";
}

std::string joined(std::span<const std::string_view> names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

Result<json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return fail({ErrorKind::input,
                 fmt::format("is {}, expected at most {}", to_string(Bytes(std::int64_t(text.size()))),
                             to_string(Bytes(std::int64_t(limits.bytes)))),
                 file});
  if (deeper_than(text, limits.depth))
    return fail({ErrorKind::input, fmt::format("lists and objects nest more than {} deep", limits.depth), file});
  TwiceSeen seen;
  try {
    json document = json::parse(
        text, [&](int depth, json::parse_event_t event, json& parsed) { return seen(depth, event, parsed); });
    if (seen.twice())
      return fail({ErrorKind::input, fmt::format("an object has the member \"{}\" twice", *seen.twice()), file});
    return document;
  } catch (const json::parse_error& error) {
    return fail({ErrorKind::input, fmt::format("not valid JSON: {}", reason_of(error)),
                 fmt::format("{}:{}", file, line_and_column(text, error.byte))});
  } catch (const json::exception& error) {  // a number out of range
    return fail({ErrorKind::input, fmt::format("not usable JSON: {}", error.what()), file});
  }
}

tl::unexpected<Error> JsonValue::refuse(std::string message) const {
  return fail({ErrorKind::input, std::move(message), path_.empty() ? file_ : file_ + ": " + path_});
}

tl::unexpected<Error> JsonValue::wrong(std::string_view expected) const {
  return refuse(fmt::format("got {}, expected {}", got(*value_), expected));
}

JsonValue JsonValue::child(const json& value, std::string_view key) const {
  return {value, file_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

JsonValue JsonValue::element(std::size_t index) const {
  return {(*value_)[index], file_, fmt::format("{}[{}]", path_, index)};
}

Status JsonValue::has_only(std::span<const std::string_view> members) const {
  if (!value_->is_object()) return wrong(fmt::format("an object with the members {}", joined(members)));
  for (const auto& [key, value] : value_->items()) {
    if (std::find(members.begin(), members.end(), key) != members.end()) continue;
    const std::string_view near = nearest(key, members);
    return child(value, key)
        .refuse(near.empty()
                    ? fmt::format("no member is called so, expected {}", joined(members))
                    : fmt::format("no member is called so, did you mean {}? expected {}", near, joined(members)));
  }
  return {};
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return child(*found, key);
}

Result<JsonValue> JsonValue::member(std::string_view key) const {
  if (auto found = find(key)) return *found;
  return refuse(fmt::format("has no member \"{}\", expected one", key));
}

Result<std::vector<std::pair<std::string, JsonValue>>> JsonValue::members() const {
  if (!value_->is_object()) return wrong("an object");
  std::vector<std::pair<std::string, JsonValue>> list;
  list.reserve(value_->size());
  for (const auto& [key, value] : value_->items()) list.emplace_back(key, child(value, key));
  return list;
}

Result<std::vector<JsonValue>> JsonValue::elements(std::size_t most) const {
  if (!value_->is_array()) return wrong("a list");
  if (value_->size() > most) return refuse(fmt::format("has {} elements, expected at most {}", value_->size(), most));
  std::vector<JsonValue> list;
  list.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) list.push_back(element(i));
  return list;
}

Result<std::string> JsonValue::text() const {
  if (!value_->is_string()) return wrong("a string");
  return value_->get<std::string>();
}

Result<std::int64_t> JsonValue::integer(std::int64_t low, std::int64_t high) const {
  const bool fits = value_->is_number_unsigned() ? value_->get<std::uint64_t>() <= std::uint64_t(INT64_MAX)
                                                 : value_->is_number_integer();
  const std::int64_t number = fits ? value_->get<std::int64_t>() : 0;
  if (!fits || number < low || number > high) return wrong(fmt::format("an integer from {} to {}", low, high));
  return number;
}

Result<double> JsonValue::number() const {
  const double number = value_->is_number() ? value_->get<double>() : -1;
  if (!(number >= 0) || !std::isfinite(number)) return wrong("a number that is not negative");
  return number;
}

Result<double> JsonValue::quantity(Quantity quantity) const {
  if (!value_->is_string()) return wrong(example_of(quantity));
  auto amount = parse_quantity(quantity, value_->get_ref<const std::string&>());
  if (!amount) return refuse(amount.error().message);
  return *amount;
}

Result<Nanoseconds> JsonValue::time() const {
  HOCKET_TRY(const double picoseconds, quantity(Quantity::time));
  return Nanoseconds::from_picoseconds(static_cast<std::int64_t>(picoseconds));
}

}  // namespace hocket
