// What the operator table makes of one call, in program text:
//
//   EXPECT_EQ(type_of("%x: f32[4,6]", "aten.permute(%x, [1, 0])"), "f32[6,4] strides[1,6]");
#pragma once

#include <string>
#include <string_view>

#include "hocket/ir/graph.h"

namespace hocket {

// The result's type, "(…, …)" for a list, or the error's message. The call may use the group @g of ranks 0 to 3.
std::string type_of(std::string_view inputs, std::string_view call);

// The same for a body of several definitions: the type of %y.
std::string type_in(std::string_view inputs, std::string_view body);

// A type as program text writes it.
std::string to_text(const TypeView& type, const SymbolTable& symbols);

}  // namespace hocket
