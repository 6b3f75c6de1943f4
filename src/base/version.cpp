#include "hocket/base/version.h"

namespace hocket {

const char* version() { return HOCKET_VERSION; }  // from project() in CMakeLists.txt

}  // namespace hocket
