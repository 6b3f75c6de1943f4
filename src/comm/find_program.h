// The file that a command names, found as a shell finds it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace hocket {

struct NotFound {
  int exit_code = 127;  // 127: there is none, 126: there is one that can't be run
  std::string message;
};

// A name with a slash is a path; any other is looked for in the folders of `search`, which is what PATH has.
tl::expected<std::string, NotFound> find_program(const std::string& name, const std::string& search);

}  // namespace hocket
