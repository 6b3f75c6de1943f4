#include "comm/wire_hosts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>

namespace hocket {

namespace {

// The number of the namespace; 0 where /proc is not mounted, which is then the same for all ranks of the host.
std::uint64_t network_namespace() {
  struct stat found {};
  return stat("/proc/self/ns/net", &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}

}  // namespace

std::string host_key() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return fmt::format("{} {} {}", name.data(), boot, network_namespace());
}

std::vector<std::int32_t> number_hosts(const std::vector<std::string>& keys) {
  std::map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> hosts;
  hosts.reserve(keys.size());
  for (const std::string& key : keys) {
    hosts.push_back(numbers.try_emplace(key, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return hosts;
}

}  // namespace hocket
