// Which process has started this rank.
#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "hocket/base/error.h"

namespace hocket {

// A number of a process may be used again; with its start it is that process alone.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start = 0;  // in ticks since the machine was started
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// The nearest process above this one that was started without `variable`, which the launcher sets for its ranks: so that
// ranks that were started by a script or a debugger in between agree all the same.
Result<ProcessIdentity> launcher_process(std::string_view variable);

}  // namespace hocket
