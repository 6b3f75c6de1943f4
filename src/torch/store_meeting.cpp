#include "torch/store_meeting.h"

#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>

#include "comm/rendezvous.h"
#include "comm/wire_hosts.h"
#include "torch/c10d_port.h"
#include "torch/gloo_backend.h"

namespace hocket {

namespace {

const char* const place_key = "hocket/place";

std::string host_of_key(std::int32_t rank) { return fmt::format("hocket/host of rank {}", rank); }

std::chrono::milliseconds until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

}  // namespace

StoreMeeting::~StoreMeeting() {
  for (const std::string& key : written_) {
    try {
      store_->deleteKey(key);
    } catch (const std::exception&) {  // a store that can't, or that is gone
    }
  }
}

void StoreMeeting::write(const std::string& key, const std::string& text) {
  store_->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
  written_.push_back(key);
}

std::string StoreMeeting::read(const std::string& key) {
  store_->wait({key}, until(deadline_));
  const std::vector<std::uint8_t> bytes = store_->get(key);
  return {bytes.begin(), bytes.end()};
}

Error StoreMeeting::missing_ranks(const std::exception& thrown) {
  std::vector<std::int32_t> missing;
  try {
    for (std::int32_t rank = 0; rank < size_; ++rank) {
      if (!store_->check({host_of_key(rank)})) missing.push_back(rank);
    }
  } catch (const std::exception&) {
    missing.clear();
  }
  if (missing.empty()) {
    return {ErrorKind::peer, fmt::format("rank {} can't use the store: {}", rank_, short_words(thrown)), ""};
  }
  return {ErrorKind::peer,
          fmt::format("of {} ranks these have not come in time to the store that they share: {}", size_,
                      fmt::join(missing, ", ")),
          ""};
}

Result<std::vector<std::string>> StoreMeeting::read_hosts() {
  try {
    write(host_of_key(rank_), host_key());
    std::vector<std::string> hosts;
    for (std::int32_t rank = 0; rank < size_; ++rank) hosts.push_back(read(host_of_key(rank)));
    return hosts;
  } catch (const std::exception& thrown) {
    return fail(missing_ranks(thrown));
  }
}

Result<bool> StoreMeeting::on_one_host() {
  HOCKET_TRY(const std::vector<std::string> hosts, read_hosts());
  return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) { return host == hosts.front(); });
}

Result<MeetingPlace> StoreMeeting::agree_on_place() {
  try {
    if (rank_ == 0) {
      HOCKET_TRY(const MeetingPlace mine, MeetingPlace::random());
      write(place_key, to_variable(mine));
      return mine;
    }
    return from_variable(read(place_key));
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::peer, "rank 0 has not said in the store where the ranks meet: {}", short_words(thrown));
  }
}

Result<c10::intrusive_ptr<c10d::ProcessGroup>> StoreMeeting::make_gloo_group() {
  try {
    const auto store = c10::make_intrusive<c10d::PrefixStore>("hocket/gloo", store_);
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank_, size_);
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                      make_gloo_backend(store, rank_, size_, until(deadline_)));
    return group;
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::peer,
                "rank {} can't reach the ranks on other hosts through gloo: {}; GLOO_SOCKET_IFNAME says which network "
                "interface gloo takes",
                rank_, short_words(thrown));
  }
}

}  // namespace hocket
