// The collective table inside a machine file.
#pragma once

#include <string_view>

#include "cost/json_value.h"
#include "hocket/cost/collective_table.h"

namespace hocket {

// What the sizes of a table mean, as its member "size" must say where it is there.
inline constexpr std::string_view size_meaning = "bytes of all inputs plus all outputs of the collective";

Result<CollectiveTable> read_table(const JsonValue& value);
std::string kind_names();  // for messages

}  // namespace hocket
