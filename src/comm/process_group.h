// A process group whose members end when this process does, even by SIGKILL, and their children with them.
//
//   HOCKET_TRY(ProcessGroup group, ProcessGroup::create());
//   start.group = group.id();
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

// Its leader is the keeper, a process that does nothing but wait for the end of this one and then kills the group. As long as
// it isn't reaped, no other group can have the number.
class ProcessGroup {
 public:
  // Forks, so it wants a program that has no other threads yet.
  static Result<ProcessGroup> create();
  ProcessGroup(ProcessGroup&& other) noexcept
      : keeper_(std::exchange(other.keeper_, -1)), alive_(std::move(other.alive_)) {}
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  // Kills whoever is left.
  ~ProcessGroup();

  pid_t id() const { return keeper_; }
  // To all members, which the keeper doesn't count among; SIGKILL is for the end, since it takes the keeper, too.
  void signal(int number) const;
  // The members that run, as "sleep (pid 1234)".
  std::vector<std::string> members() const;

 private:
  ProcessGroup(pid_t keeper, FileDescriptor alive) : keeper_(keeper), alive_(std::move(alive)) {}
  pid_t keeper_;
  FileDescriptor alive_;  // the keeper reads the other end, and finds it closed when we are gone
};

}  // namespace hocket
