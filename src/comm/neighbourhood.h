// Which ranks this one shares a host with, and how it reaches the others.
#pragma once

#include <memory>
#include <vector>

#include "comm/host.h"
#include "comm/wire.h"
#include "comm/wire_watch.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

struct Neighbourhood {
  std::shared_ptr<Host> host;
  std::shared_ptr<Wire> wire;          // null if all ranks are on one host
  std::shared_ptr<WireWatch> watch;    // null if all ranks are on one host
  std::vector<std::int32_t> host_of;   // by rank of the world
  std::vector<std::int32_t> index_of;  // by rank of the world: its number on its host

  bool is_here(std::int32_t rank) const;
};

// Collective over all ranks of the program, which were started as `launch` says, made from
// these variables.
Result<Neighbourhood> meet_neighbours(const LaunchInfo& launch, const LaunchVariables& variables, Deadline deadline);
// Collective over all ranks of the wire, whoever started them.
Result<Neighbourhood> meet_over(std::shared_ptr<Wire> wire, Deadline deadline);
// Collective over `count` processes of this host, which all know the place.
Result<Neighbourhood> meet_processes(const MeetingPlace& place, std::int32_t rank, std::int32_t count,
                                     Deadline deadline);
// Collective over `count` threads of this process, which all know the place.
Result<Neighbourhood> meet_threads(const MeetingPlace& place, std::int32_t rank, std::int32_t count, Deadline deadline);

}  // namespace hocket
