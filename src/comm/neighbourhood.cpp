#include "comm/neighbourhood.h"

#include <numeric>

#include "comm/rendezvous.h"
#include "hocket/base/env.h"

namespace hocket {

namespace {

Ranks ranks_up_to(std::int32_t size) {
  Ranks ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Result<MeetingPlace> place_for(const LaunchInfo& launch, const LaunchVariables& variables) {
  if (launch.launcher == Launcher::alone) return MeetingPlace::random();
  return meeting_place(launch, variables);
}

Result<Neighbourhood> meet_on_one_host(const MeetingPlace& place, std::int32_t rank, std::int32_t size, Sharing sharing,
                                       Deadline deadline) {
  HOCKET_TRY(HostLink link, HostLink::meet(place, rank, size, deadline));
  Neighbourhood all;
  HOCKET_TRY(all.host, Host::create(std::move(link), ranks_up_to(size), sharing, deadline));
  all.host_of.resize(static_cast<std::size_t>(size));
  all.index_of = ranks_up_to(size);
  return all;
}

// The lowest rank of each host thinks of a place and tells the others.
Result<MeetingPlace> agree_on_place(Wire& wire, const Ranks& here, Deadline deadline) {
  HOCKET_TRY(const MeetingPlace mine, MeetingPlace::random());
  HOCKET_TRY(const std::vector<std::string> all, wire.exchange(to_variable(mine), deadline));
  return from_variable(all[static_cast<std::size_t>(here.front())]);
}

Result<WireOptions> wire_options() {
  WireOptions options;
  const std::string& mpi = Env::get().mpi;
  options.one_thread = mpi == "one_thread";
  if (mpi.empty() || options.one_thread) return options;
  return fail(ErrorKind::usage, "HOCKET_MPI is \"{}\", expected one_thread or nothing", mpi);
}

Result<Neighbourhood> meet_on_hosts(const LaunchInfo& launch, Deadline deadline) {
  HOCKET_TRY(const WireOptions options, wire_options());
  HOCKET_TRY(std::shared_ptr<Wire> wire, open_wire(launch, options, deadline));
  return meet_over(std::move(wire), deadline);
}

}  // namespace

bool Neighbourhood::is_here(std::int32_t rank) const {
  const std::int32_t own = host->world_rank(host->self());
  return host_of[static_cast<std::size_t>(rank)] == host_of[static_cast<std::size_t>(own)];
}

Result<Neighbourhood> meet_neighbours(const LaunchInfo& launch, const LaunchVariables& variables, Deadline deadline) {
  HOCKET_TRY(const bool alone, on_one_host(launch));
  if (!alone) return meet_on_hosts(launch, deadline);
  HOCKET_TRY(const MeetingPlace place, place_for(launch, variables));
  return meet_on_one_host(place, launch.rank, launch.world_size, Sharing::processes, deadline);
}

Result<Neighbourhood> meet_over(std::shared_ptr<Wire> wire, Deadline deadline) {
  Neighbourhood all;
  Ranks here;
  std::int32_t index = 0;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(wire->size()));
  const std::int32_t own_host = wire->host_of(wire->rank());
  for (std::int32_t rank = 0; rank < wire->size(); ++rank) {
    const std::int32_t host = wire->host_of(rank);
    all.host_of.push_back(host);
    all.index_of.push_back(counts[static_cast<std::size_t>(host)]++);
    if (host == own_host) here.push_back(rank);
    if (rank == wire->rank()) index = all.index_of.back();
  }
  const auto count = static_cast<std::int32_t>(here.size());
  HOCKET_TRY(const MeetingPlace place, agree_on_place(*wire, here, deadline));
  HOCKET_TRY(HostLink link, HostLink::meet(place, index, count, deadline));
  HOCKET_TRY(all.host, Host::create(std::move(link), std::move(here), Sharing::processes, deadline));
  if (count == wire->size()) return all;
  HOCKET_TRY(std::unique_ptr<Channel> news, wire->channel(ranks_up_to(wire->size()), deadline));
  all.wire = std::move(wire);
  all.watch = std::make_shared<WireWatch>(std::move(news), all.host);
  return all;
}

Result<Neighbourhood> meet_processes(const MeetingPlace& place, std::int32_t rank, std::int32_t count,
                                     Deadline deadline) {
  return meet_on_one_host(place, rank, count, Sharing::processes, deadline);
}

Result<Neighbourhood> meet_threads(const MeetingPlace& place, std::int32_t rank, std::int32_t count,
                                   Deadline deadline) {
  return meet_on_one_host(place, rank, count, Sharing::threads, deadline);
}

}  // namespace hocket
