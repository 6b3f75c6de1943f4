// Several hosts in one process: ranks are threads, those of one host have a transport of their own, and messages between hosts
// go through memory.
//
//   auto said = run_on_hosts({0, 1, 0, 1}, [](HostsTransport& transport, std::int32_t place) { return std::string(); });
#pragma once

#include <functional>
#include <numeric>
#include <thread>

#include "comm/host_transport.h"
#include "comm/hosts_transport.h"
#include "support/host_ranks.h"
#include "support/memory_wire.h"

namespace hocket {

using HostsBody = std::function<Status(HostsTransport&, std::int32_t)>;

// `hosts` has each place's host. What the body of each place said went wrong; empty where nothing did.
inline std::vector<std::string> run_on_hosts(const std::vector<std::int32_t>& hosts, const HostsOptions& options,
                                             const HostsBody& body) {
  const auto mail = std::make_shared<Mailboxes>();
  const HostsLayout all(hosts, 0);
  std::vector<MeetingPlace> places;
  for (std::int32_t host = 0; host < all.hosts(); ++host) places.push_back(MeetingPlace::random().value());
  std::vector<std::int32_t> world(hosts.size());
  std::iota(world.begin(), world.end(), 100);  // so that a place is not taken for a rank
  const auto be_place = [&](std::int32_t place) -> Status {
    HostsLayout layout(hosts, place);
    const Deadline deadline = in(std::chrono::seconds(30));
    const auto locals = static_cast<std::int32_t>(layout.locals().size());
    Ranks ranks;
    for (const std::int32_t one : layout.locals()) ranks.push_back(world[static_cast<std::size_t>(one)]);
    std::vector<std::int32_t> members(ranks.size());
    std::iota(members.begin(), members.end(), 0);
    HOCKET_TRY(HostLink link, HostLink::meet(places[static_cast<std::size_t>(layout.host())], layout.local_index(place),
                                             locals, deadline));
    HOCKET_TRY(const std::shared_ptr<Host> host, Host::create(std::move(link), ranks, Sharing::threads, deadline));
    HOCKET_TRY(std::unique_ptr<Rounds> rounds, Rounds::create(host, digest_of("hosts"), members, deadline));
    HostsTransport transport(std::make_unique<MemoryChannel>(mail, world, place),
                             std::make_unique<HostTransport>(std::move(rounds), "threads", Tuning{}), std::move(layout),
                             options);
    return body(transport, place);
  };
  std::vector<std::string> said(hosts.size());
  std::vector<std::thread> threads;
  for (std::size_t place = 0; place < hosts.size(); ++place) {
    threads.emplace_back([&, place] {
      const Status status = be_place(static_cast<std::int32_t>(place));
      if (!status) said[place] = status.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

}  // namespace hocket
