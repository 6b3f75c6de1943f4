// Measured times: of a node or step by its name, or of every call of an operator with the same tensors.
//
//   Profile profile;
//   profile.set_name("mm_3", Nanoseconds::from_ms(0.012));
//   Status set = profile.set_call("aten.mm(f32[64,1024],f32[1024,1024])", Nanoseconds::from_ms(0.011));
//
// Look-ups take constant time. docs/machines.md describes the files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hocket/base/error.h"
#include "hocket/base/units.h"
#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

class Profile {
 public:
  void set_name(std::string name, Nanoseconds time) { names_.insert_or_assign(std::move(name), time); }
  // A call as call_key() writes it; ".default" may be left out. An error where it can be no such call.
  Status set_call(std::string_view call, Nanoseconds time);

  std::optional<Nanoseconds> by_name(std::string_view name) const { return find(names_, name); }
  std::optional<Nanoseconds> by_call(std::string_view key) const { return find(calls_, key); }
  bool has_names() const { return !names_.empty(); }
  bool has_calls() const { return !calls_.empty(); }
  std::size_t size() const { return names_.size() + calls_.size(); }

  std::string to_json() const;  // sorted
  friend bool operator==(const Profile&, const Profile&) = default;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Times = std::unordered_map<std::string, Nanoseconds, Hash, std::equal_to<>>;
  static std::optional<Nanoseconds> find(const Times& times, std::string_view key) {
    const auto found = times.find(key);
    return found == times.end() ? std::nullopt : std::optional(found->second);
  }

  Times names_;
  Times calls_;
};

// The operator with the dtypes and sizes of its tensor arguments, in their order: "aten.mm.default(f32[64,1024],f32[1024,8])".
std::string call_key(const Graph& graph, NodeId id);
std::string call_key(const Program& program, StepId id);

// The JSON form. `file` is what errors call the text.
Result<Profile> read_profile_json(std::string_view text, const std::string& file);
Result<Profile> read_profile(const std::string& path);
Status write_profile(const Profile& profile, const std::string& path);

}  // namespace hocket
