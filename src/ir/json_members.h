// What has a meaning of its own in the JSON form, so that text can refuse it where JSON would read it as something else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hocket {

bool is_graph_member(std::string_view key);  // "nodes", "world_size": not free for facts about the whole
// The first member of a JSON object that is a known member of a node, such as "args"; nothing if all are free.
std::optional<std::string> first_node_member(std::string_view object_json);
// Is this JSON value, as an argument, kept as it is (ArgKind::json)? {"n": 3} and 5 are not: they are a value and an integer.
bool stays_json(std::string_view json);

}  // namespace hocket
