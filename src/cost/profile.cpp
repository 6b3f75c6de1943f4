#include "hocket/cost/profile.h"

#include <array>
#include <map>

#include "cost/json_value.h"
#include "hocket/ir/builder.h"
#include "hocket/ir/file.h"
#include "hocket/ir/json.h"

namespace hocket {

namespace {

constexpr JsonLimits profile_limits{.bytes = std::size_t{256} << 20, .depth = 4};
constexpr std::array<std::string_view, 3> profile_members = {"description", "names", "calls"};
constexpr std::string_view example = "a call such as \"aten.mm(f32[64,1024],f32[1024,8])\"";

// Takes "f32[64,1024]" off the front of `text` and adds it to `key`, sizes in their normal form; false if there is none.
bool take_type(std::string_view& text, std::string& key) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return false;
  if (!dtype_from_short_name(text.substr(0, open))) return false;
  key += text.substr(0, open + 1);
  std::string_view sizes = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  SymbolTable symbols;
  while (!sizes.empty()) {
    const std::size_t comma = sizes.find(',');
    const auto size = symbols.parse(sizes.substr(0, comma));
    if (!size || comma + 1 == sizes.size()) return false;
    if (!key.ends_with('[')) key += ',';
    key += symbols.to_string(*size);
    sizes = comma == std::string_view::npos ? std::string_view() : sizes.substr(comma + 1);
  }
  key += ']';
  return true;
}

bool take_types(std::string_view text, std::string& key) {
  if (text.empty()) return true;
  while (take_type(text, key)) {
    if (text.empty()) return true;
    if (!text.starts_with(',')) return false;
    text.remove_prefix(1);
    key += ',';
  }
  return false;
}

std::string members_json(std::string_view member, const std::map<std::string_view, Nanoseconds>& times) {
  std::vector<std::string> lines;
  for (const auto& [key, time] : times) {
    std::string line = "    ";
    append_json_string(line, key);
    lines.push_back(line + ": \"" + print_time(time) + "\"");
  }
  return fmt::format("  \"{}\": {{\n{}\n  }}", member, fmt::join(lines, ",\n"));
}

}  // namespace

Status Profile::set_call(std::string_view call, Nanoseconds time) {
  const std::size_t open = call.find('(');
  const bool closed = open != std::string_view::npos && open > 0 && call.ends_with(')');
  std::string types(closed ? call.substr(open + 1, call.size() - open - 2) : "");
  std::erase(types, ' ');
  std::string key = full_op_name(call.substr(0, open)) + "(";
  if (!closed || !take_types(types, key)) return fail(ErrorKind::input, "got \"{}\", expected {}", call, example);
  key += ')';
  std::erase(key, ' ');
  calls_.insert_or_assign(std::move(key), time);
  return {};
}

std::string Profile::to_json() const {
  std::vector<std::string> members;
  if (has_names()) members.push_back(members_json("names", {names_.begin(), names_.end()}));
  if (has_calls()) members.push_back(members_json("calls", {calls_.begin(), calls_.end()}));
  return fmt::format("{{\n{}\n}}\n", fmt::join(members, ",\n"));
}

Result<Profile> read_profile_json(std::string_view text, const std::string& file) {
  HOCKET_TRY(const nlohmann::json document, parse_json(text, file, profile_limits));
  const JsonValue top(document, file);
  HOCKET_CHECK(top.has_only(profile_members));
  if (const auto description = top.find("description")) {
    HOCKET_TRY(const std::string ignored, description->text());
  }
  Profile profile;
  if (const auto names = top.find("names")) {
    HOCKET_TRY(auto members, names->members());
    for (auto& [name, value] : members) {
      HOCKET_TRY(const Nanoseconds time, value.time());
      profile.set_name(std::move(name), time);
    }
  }
  if (const auto calls = top.find("calls")) {
    HOCKET_TRY(const auto members, calls->members());
    for (const auto& [call, value] : members) {
      HOCKET_TRY(const Nanoseconds time, value.time());
      if (const Status set = profile.set_call(call, time); !set) return calls->refuse(set.error().message);
    }
  }
  return profile;
}

Result<Profile> read_profile(const std::string& path) {
  HOCKET_TRY(const std::string text, read_bytes(path));
  return read_profile_json(text, path);
}

Status write_profile(const Profile& profile, const std::string& path) { return write_bytes(path, profile.to_json()); }

}  // namespace hocket
