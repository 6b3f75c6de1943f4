#include "hocket/comm/world.h"

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "comm/host_transport.h"
#include "comm/hosts_transport.h"
#include "comm/lane.h"
#include "comm/neighbourhood.h"
#include "comm/world_factory.h"
#include "hocket/base/log.h"

namespace hocket {

struct World::State {
  State(LaunchInfo its_launch, WorldOptions its_options, Neighbourhood its_neighbours, const char* its_transport)
      : launch(std::move(its_launch)),
        options(its_options),
        groups(launch.world_size, launch.rank),
        neighbours(std::move(its_neighbours)),
        transport(its_transport) {}
  // A thread that has run the program's last call may still hold the lane: its memory and descriptors, which are given back when
  // this returns, and maybe MPI, which the program may end next.
  ~State() { threads->rest(neighbours.wire ? longest_rest : longest_rest_on_one_host); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Calls may be left alone, and other ranks not come to them.
  static constexpr std::chrono::milliseconds longest_rest{1000};
  static constexpr std::chrono::milliseconds longest_rest_on_one_host{100};
  LaunchInfo launch;
  WorldOptions options;
  GroupTable groups;
  Neighbourhood neighbours;
  const char* transport;
  std::shared_ptr<LaneThreads> threads = std::make_shared<LaneThreads>();
  // A group is formed once and stays. Its name is there from the begin, so that other groups can be formed meanwhile. The name of
  // one that could not be formed goes, so that whoever asks again tries again.
  using Forming = std::shared_future<Result<std::shared_ptr<Lane>>>;
  std::mutex mutex;                                              // guards what follows
  std::map<std::pair<std::string, std::string>, Forming> lanes;  // by name of the group and purpose
  std::map<std::string, Error> failed_channels;

  Result<std::shared_ptr<Lane>> lane_of(const GroupHandle& group, const std::string& purpose);
  Result<std::shared_ptr<Lane>> form(const GroupHandle& group, const std::string& purpose);
  // The channel of a group that is on several hosts.
  Result<std::shared_ptr<Channel>> channel_of(const RankGroup& group, Deadline deadline);
  Result<std::unique_ptr<Transport>> transport_of(const RankGroup& group, const std::shared_ptr<Channel>& channel,
                                                  const std::string& purpose, Deadline deadline) const;
  Result<std::unique_ptr<Transport>> local_transport_of(const RankGroup& group,
                                                        const std::vector<std::int32_t>& members,
                                                        const std::string& purpose, Deadline deadline) const;
  // The group's members as this host numbers them, by place; -1 for those of other hosts.
  std::vector<std::int32_t> members_of(const RankGroup& group) const;
};

namespace {

// The same on all members, and different for any other group, purpose or use.
Digest digest_of(const RankGroup& group, const std::string& purpose, const char* use) {
  Digester digester;
  digester.add(use);
  digester.add(purpose);
  for (const std::int32_t rank : group.ranks()) digester.add(std::int64_t{rank});
  return digester.finish();
}

Deadline after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

}  // namespace

Result<World> World::join(WorldOptions options) {
  // Not what was read once: a process may have been forked, and told its rank, since.
  const LaunchVariables variables = Env::read().launch;
  HOCKET_TRY(LaunchInfo launch, launch_info(variables));
  log().debug("{}", launch.to_string());
  HOCKET_TRY(Neighbourhood neighbours, meet_neighbours(launch, variables, after(options.join_timeout)));
  World world = WorldFactory::make(std::move(launch), options, std::move(neighbours), "shm");
  world.make_current();
  return world;
}

World WorldFactory::make(LaunchInfo launch, WorldOptions options, Neighbourhood neighbours, const char* transport) {
  return World(std::make_shared<World::State>(std::move(launch), options, std::move(neighbours), transport));
}

Result<World> WorldFactory::join_over(LaunchInfo launch, WorldOptions options, std::shared_ptr<Wire> wire) {
  HOCKET_TRY(Neighbourhood neighbours, meet_over(std::move(wire), after(options.join_timeout)));
  World world = make(std::move(launch), options, std::move(neighbours), "shm");
  world.make_current();
  return world;
}

Result<World> WorldFactory::join_at(const MeetingPlace& place, LaunchInfo launch, WorldOptions options) {
  HOCKET_TRY(Neighbourhood neighbours,
             meet_processes(place, launch.rank, launch.world_size, after(options.join_timeout)));
  World world = make(std::move(launch), options, std::move(neighbours), "shm");
  world.make_current();
  return world;
}

Result<std::vector<World>> World::threads(std::int32_t count, WorldOptions options) {
  if (count < 1) return fail(ErrorKind::usage, "a world of {} threads, expected 1 or more", count);
  const Deadline deadline = after(options.join_timeout);
  HOCKET_TRY(const MeetingPlace place, MeetingPlace::random());
  std::vector<Result<Neighbourhood>> met(static_cast<std::size_t>(count));
  std::vector<std::thread> joining;
  for (std::int32_t rank = 0; rank < count; ++rank) {
    joining.emplace_back(
        [&, rank] { met[static_cast<std::size_t>(rank)] = meet_threads(place, rank, count, deadline); });
  }
  for (std::thread& thread : joining) thread.join();
  std::vector<World> worlds;
  for (std::int32_t rank = 0; rank < count; ++rank) {
    LaunchInfo launch;
    launch.rank = rank;
    launch.world_size = count;
    HOCKET_TRY(Neighbourhood neighbours, std::move(met[static_cast<std::size_t>(rank)]));
    worlds.push_back(WorldFactory::make(std::move(launch), options, std::move(neighbours), "threads"));
  }
  return worlds;
}

std::int32_t World::rank() const { return state_->launch.rank; }
std::int32_t World::size() const { return state_->launch.world_size; }
const LaunchInfo& World::launch() const { return state_->launch; }

Result<GroupHandle> World::group(const GroupRef& ref) const { return state_->groups.resolve(ref); }
Status World::add_name(std::string name, const GroupRef& ref) const {
  return state_->groups.add_name(std::move(name), ref);
}
Result<Mesh> World::mesh(std::vector<MeshDim> dims) const { return state_->groups.mesh(std::move(dims)); }
Result<Mesh> World::mesh(std::vector<MeshDim> dims, Ranks ranks) const {
  return state_->groups.mesh(std::move(dims), std::move(ranks));
}

Result<Communicator> World::communicator(const GroupRef& ref) const {
  HOCKET_TRY(std::shared_ptr<Lane> lane, WorldFactory::lane(*this, ref, ""));
  return Communicator(std::move(lane));
}

Result<std::shared_ptr<Lane>> WorldFactory::lane(const World& world, const GroupRef& ref, const std::string& purpose) {
  HOCKET_TRY(const GroupHandle group, world.state_->groups.resolve(ref));
  return world.state_->lane_of(group, purpose);
}

Result<std::shared_ptr<Lane>> World::State::lane_of(const GroupHandle& group, const std::string& purpose) {
  const std::pair key(group->name(), purpose);
  std::promise<Result<std::shared_ptr<Lane>>> mine;
  std::unique_lock lock(mutex);
  const auto [entry, is_new] = lanes.try_emplace(key);
  if (is_new) entry->second = mine.get_future().share();
  const Forming forming = entry->second;
  lock.unlock();
  if (!is_new) return forming.get();
  Result<std::shared_ptr<Lane>> formed = form(group, purpose);
  if (!formed) {
    lock.lock();
    lanes.erase(key);
    lock.unlock();
  }
  mine.set_value(formed);
  return formed;
}

Result<std::shared_ptr<Lane>> World::State::form(const GroupHandle& group, const std::string& purpose) {
  const Deadline deadline = after(options.timeout);
  HOCKET_TRY(const std::shared_ptr<Channel> channel, channel_of(*group, deadline));
  HOCKET_TRY(std::unique_ptr<Transport> made, transport_of(*group, channel, purpose, deadline));
  // The lane may outlive the world, so it takes what its messages need along.
  auto make_mail = [here = neighbours.host, wire = MailWire{channel, neighbours.watch}, its_threads = threads, group,
                    name = digest_of(*group, purpose, "messages"), members = members_of(*group)] {
    return Mail::create(here, group, name, members, its_threads, wire);
  };
  return std::make_shared<Lane>(group, std::move(made), threads, std::move(make_mail), options.timeout);
}

std::vector<std::int32_t> World::State::members_of(const RankGroup& group) const {
  std::vector<std::int32_t> members;
  for (const std::int32_t rank : group.ranks()) {
    members.push_back(neighbours.is_here(rank) ? neighbours.index_of[static_cast<std::size_t>(rank)] : -1);
  }
  return members;
}

Result<std::unique_ptr<Transport>> World::State::transport_of(const RankGroup& group,
                                                              const std::shared_ptr<Channel>& channel,
                                                              const std::string& purpose, Deadline deadline) const {
  std::vector<std::int32_t> members = members_of(group);
  std::erase(members, -1);
  HOCKET_TRY(std::unique_ptr<Transport> local, local_transport_of(group, members, purpose, deadline));
  if (!channel) return local;
  std::vector<std::int32_t> hosts;
  for (const std::int32_t rank : group.ranks()) hosts.push_back(neighbours.host_of[static_cast<std::size_t>(rank)]);
  return std::make_unique<HostsTransport>(channel, std::move(local), HostsLayout(hosts, group.place()), HostsOptions{},
                                          neighbours.watch, digest_of(group, purpose, "hosts"));
}

// Once for each group: what its members sent for a channel that did not come about may still be under way, and would be taken for
// what they send for the next.
Result<std::shared_ptr<Channel>> World::State::channel_of(const RankGroup& group, Deadline deadline) {
  const auto is_here = [this](std::int32_t rank) { return neighbours.is_here(rank); };
  if (std::all_of(group.ranks().begin(), group.ranks().end(), is_here)) return nullptr;
  std::unique_lock lock(mutex);
  const auto failed = failed_channels.find(group.name());
  if (failed != failed_channels.end()) return fail(failed->second);
  lock.unlock();
  const auto nobody_died = [&] { return neighbours.watch->check(group.ranks()); };
  Result<std::shared_ptr<Channel>> channel = neighbours.wire->channel(group.ranks(), deadline, nobody_died);
  if (channel) return channel;
  channel.error().message += "; ranks of several hosts can't form a group again after that: start all ranks again";
  lock.lock();
  failed_channels.emplace(group.name(), channel.error());
  return channel;
}

Result<std::unique_ptr<Transport>> World::State::local_transport_of(const RankGroup& group,
                                                                    const std::vector<std::int32_t>& members,
                                                                    const std::string& purpose,
                                                                    Deadline deadline) const {
  HOCKET_TRY(std::unique_ptr<Rounds> rounds,
             Rounds::create(neighbours.host, digest_of(group, purpose, "calls"), members, deadline));
  const auto ranks = static_cast<std::int32_t>(members.size());
  return std::make_unique<HostTransport>(std::move(rounds), transport, neighbours.host->tuning().for_ranks(ranks),
                                         neighbours.host->default_tuning().for_ranks(ranks));
}

}  // namespace hocket
