// The version of the library that is linked, which may differ from the one of the headers.
//
//   fmt::print("hocket {}\n", hocket::version());   // "0.1.0"
#pragma once

namespace hocket {

const char* version();

}  // namespace hocket
