#include "comm/hosts_alarm.h"

#include "comm/rounds.h"

namespace hocket {

bool HostsAlarm::raise(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (error_ || local_ == nullptr) return false;
  error_ = error;
  local_->fail_all(error);
  raised_.store(true, std::memory_order_release);
  return true;
}

Status HostsAlarm::check() {
  if (!raised_.load(std::memory_order_acquire)) {
    const Deadline now = std::chrono::steady_clock::now();
    if (now - looked_ < between_looks_at_peers) return {};
    looked_ = now;
    const Rounds* const rounds = local_->local_rounds();
    const auto reason = rounds != nullptr ? rounds->failure() : std::nullopt;
    return reason ? fail(ErrorKind::peer, "{}", *reason) : Status{};
  }
  const std::lock_guard lock(mutex_);
  return fail(*error_);
}

void HostsAlarm::detach() {
  const std::lock_guard lock(mutex_);
  local_ = nullptr;
}

}  // namespace hocket
