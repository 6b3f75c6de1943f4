// Ranks of one host as threads, each with its Host, for tests of what stands on it.
//
//   auto said = run_hosts(3, [](const std::shared_ptr<Host>& host) -> Result<std::string> { …; return "fine"; });
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "comm/host.h"

namespace hocket {

inline Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

using HostBody = std::function<Result<std::string>(const std::shared_ptr<Host>&)>;

// What the body of each rank returned, or the message of its error.
inline std::vector<std::string> run_hosts(std::int32_t count, const HostBody& body) {
  const MeetingPlace place = MeetingPlace::random().value();
  Ranks ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::string> said(ranks.size());
  const auto be_rank = [&](std::int32_t rank) -> Result<std::string> {
    HOCKET_TRY(HostLink link, HostLink::meet(place, rank, count, in(std::chrono::seconds(30))));
    HOCKET_TRY(const std::shared_ptr<Host> host,
               Host::create(std::move(link), ranks, Sharing::threads, in(std::chrono::seconds(30))));
    return body(host);
  };
  std::vector<std::thread> threads;
  for (const std::int32_t rank : ranks) {
    threads.emplace_back([&, rank] {
      const Result<std::string> result = be_rank(rank);
      said[static_cast<std::size_t>(rank)] = result ? *result : result.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

inline Digest digest_of(const std::string& name) {
  Digester digester;
  digester.add(name);
  return digester.finish();
}

}  // namespace hocket
