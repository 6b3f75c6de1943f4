// Bytes as text, for data inside a page.
#pragma once

#include <string>
#include <string_view>

namespace hocket {

std::string base64(std::string_view bytes);  // RFC 4648, padded

}  // namespace hocket
