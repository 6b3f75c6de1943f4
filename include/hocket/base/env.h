// Every environment variable that hocket reads. Nothing else in the project calls getenv.
#pragma once

#include <string>

namespace hocket {

struct Env {
  std::string log = "warning";  // HOCKET_LOG: trace, debug, info, warning, error, off
  bool color = true;            // NO_COLOR (any value) switches colours off, as on other tools
  int columns = 0;              // COLUMNS: width of tables; 0 asks the terminal

  // Read once, at the first call.
  static const Env& get();
  static Env read();
};

}  // namespace hocket
