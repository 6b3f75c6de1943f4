#include "run/program_groups.h"

namespace hocket {

Result<ProgramGroups> ProgramGroups::create(const Program& program, const World& world) {
  std::vector<bool> used(program.groups().size(), false);
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (const Collective* collective = program.collective(StepId(i))) used[collective->group.index()] = true;
  }
  for (const Buffer& buffer : program.buffers()) {
    if (buffer.home == Home::symmetric) used[buffer.group.index()] = true;
  }
  ProgramGroups groups;
  groups.communicators_.resize(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const Group& group = program.group(GroupId(i));
    Ranks ranks;
    for (const Rank rank : group.ranks) ranks.push_back(rank.value);
    Result<Communicator> communicator = world.communicator(ranks);
    if (!communicator) return fail(at(std::move(communicator).error(), fmt::format("group @{}", group.name)));
    groups.communicators_[i] = std::move(*communicator);
  }
  return groups;
}

void ProgramGroups::abandon(const Error& reason) const {
  for (const auto& communicator : communicators_) {
    if (communicator) communicator->abandon(reason);
  }
}

}  // namespace hocket
