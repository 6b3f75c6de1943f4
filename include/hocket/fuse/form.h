// The two ways to make one collective of many.
#pragma once

#include <cstdint>
#include <string_view>

namespace hocket {

enum class FusedForm : std::uint8_t {
  concat,     // the inputs copied into one tensor, one collective, its result taken apart
  coalesced,  // one collective on a list of tensors: no copies
};

constexpr std::string_view name_of(FusedForm form) { return form == FusedForm::concat ? "concat" : "coalesced"; }

}  // namespace hocket
