// The known name that looks most like a misspelt one, for error messages.
#pragma once

#include <span>
#include <string_view>

namespace hocket {

// Levenshtein distance, or `limit` where it is at least that.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// Empty if no name is near: with a third of its letters wrong it is no misspelling any more.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace hocket
