#include "hocket/base/error.h"

namespace hocket {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::input: return "input";
    case ErrorKind::system: return "system";
    case ErrorKind::peer: return "peer";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

std::string Error::to_string() const { return where.empty() ? message : where + ": " + message; }

}  // namespace hocket
