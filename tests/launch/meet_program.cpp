// A rank that finds out how it was started, meets the others of its host, and says whom it met.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>

#include "comm/rendezvous.h"

namespace hocket {
namespace {

Result<std::string> meet_the_others() {
  HOCKET_TRY(const LaunchInfo info, launch_info());
  HOCKET_TRY(const bool is_one_host, on_one_host(info));
  HOCKET_TRY(const MeetingPlace place, meeting_place(info));
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  HOCKET_TRY(HostLink link, HostLink::meet(place, info.local_rank.value_or(0), info.local_size.value_or(1), deadline));
  HOCKET_TRY(const std::vector<Packet> all, link.exchange(fmt::format("rank {}", info.rank), {}, deadline));
  std::vector<std::string> met;
  for (const Packet& packet : all) met.push_back(packet.bytes);
  return fmt::format("{}{}: met {}", info.to_string(), is_one_host ? "" : ", on several hosts", fmt::join(met, ", "));
}

}  // namespace
}  // namespace hocket

int main() {
  const hocket::Result<std::string> said = hocket::meet_the_others();
  fmt::print("{}\n", said ? *said : said.error().to_string());
  return said ? 0 : 1;
}
