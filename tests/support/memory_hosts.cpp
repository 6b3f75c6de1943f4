#include "support/memory_hosts.h"

#include <algorithm>
#include <thread>

#include "comm/world_factory.h"
#include "support/memory_wire.h"

namespace hocket {

namespace {

struct Meeting {
  std::vector<std::int32_t> hosts;
  std::vector<MeetingPlace> places;  // by host
  std::shared_ptr<MemoryNetwork> network = std::make_shared<MemoryNetwork>();
  Deadline deadline;
};

Result<Neighbourhood> meet(const Meeting& meeting, std::int32_t rank) {
  Neighbourhood all;
  all.host_of = meeting.hosts;
  std::vector<std::int32_t> counts(meeting.places.size());
  const std::int32_t own = meeting.hosts[static_cast<std::size_t>(rank)];
  Ranks everybody;
  Ranks here;
  for (std::int32_t one = 0; one < static_cast<std::int32_t>(meeting.hosts.size()); ++one) {
    const std::int32_t host = meeting.hosts[static_cast<std::size_t>(one)];
    all.index_of.push_back(counts[static_cast<std::size_t>(host)]++);
    everybody.push_back(one);
    if (host == own) here.push_back(one);
  }
  const auto count = static_cast<std::int32_t>(here.size());
  HOCKET_TRY(HostLink link, HostLink::meet(meeting.places[static_cast<std::size_t>(own)],
                                           all.index_of[static_cast<std::size_t>(rank)], count, meeting.deadline));
  HOCKET_TRY(all.host, Host::create(std::move(link), std::move(here), Sharing::threads, meeting.deadline));
  all.wire = std::make_shared<MemoryWire>(meeting.network, meeting.hosts, rank);
  HOCKET_TRY(std::unique_ptr<Channel> news, all.wire->channel(everybody, meeting.deadline));
  all.watch = std::make_shared<WireWatch>(std::move(news), all.host);
  return all;
}

}  // namespace

Result<std::vector<World>> worlds_on_hosts(const std::vector<std::int32_t>& hosts, WorldOptions options) {
  Meeting meeting;
  meeting.hosts = hosts;
  meeting.deadline = std::chrono::steady_clock::now() + options.join_timeout;
  for (std::int32_t host = 0; host <= *std::max_element(hosts.begin(), hosts.end()); ++host) {
    HOCKET_TRY(MeetingPlace place, MeetingPlace::random());
    meeting.places.push_back(std::move(place));
  }
  std::vector<Result<Neighbourhood>> met(hosts.size());
  std::vector<std::thread> joining;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    joining.emplace_back([&, rank] { met[rank] = meet(meeting, static_cast<std::int32_t>(rank)); });
  }
  for (std::thread& thread : joining) thread.join();
  std::vector<World> worlds;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    LaunchInfo launch;
    launch.rank = static_cast<std::int32_t>(rank);
    launch.world_size = static_cast<std::int32_t>(hosts.size());
    HOCKET_TRY(Neighbourhood neighbours, std::move(met[rank]));
    worlds.push_back(WorldFactory::make(std::move(launch), options, std::move(neighbours), "threads"));
  }
  return worlds;
}

}  // namespace hocket
