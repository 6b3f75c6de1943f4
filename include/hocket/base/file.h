// Whole files. Errors name the file.
#pragma once

#include <string>
#include <string_view>

#include "hocket/base/error.h"

namespace hocket {

// "-" reads standard input. Refuses what is larger than 4 GiB.
Result<std::string> read_file(const std::string& path);
// Writes all or nothing: into a new file beside it, then in its place. "-" is standard output; pipes and devices are written into.
Status write_file(const std::string& path, std::string_view content);

}  // namespace hocket
