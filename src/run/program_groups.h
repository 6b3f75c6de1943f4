// The communicators of a program's groups.
#pragma once

#include <optional>
#include <vector>

#include "hocket/comm/world.h"
#include "hocket/ir/program.h"

namespace hocket {

class ProgramGroups {
 public:
  // Collective: forms the groups that the program communicates in, in their order in the program. Groups that it only names need
  // not have this rank.
  static Result<ProgramGroups> create(const Program& program, const World& world);

  const Communicator& of(GroupId group) const { return *communicators_[group.index()]; }
  // In all of them: other ranks may wait there for this one, though all of their own ranks are well.
  void abandon(const Error& reason) const;

 private:
  std::vector<std::optional<Communicator>> communicators_;  // by group
};

}  // namespace hocket
