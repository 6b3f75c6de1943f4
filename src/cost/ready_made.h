// The descriptions that come with hocket, in the JSON form that users write, so that they are read the same way.
#pragma once

#include <string_view>

namespace hocket {

extern const std::string_view a100x8_json;
extern const std::string_view cpu_json;
extern const std::string_view h100x8_json;

}  // namespace hocket
