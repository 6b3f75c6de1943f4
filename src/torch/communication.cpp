#include "torch/communication.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>

#include "hocket/base/log.h"

namespace hocket {

namespace {

class NeverWaited {
 public:
  static NeverWaited& instance() {
    static_cast<void>(log());  // made first, so that it is still there at the end
    static NeverWaited counter;
    return counter;
  }
  ~NeverWaited() {
    if (const std::int64_t number = count(); number > 0) {
      log().warn("{} of collectives {} never waited for: a failure would have gone unnoticed",
                 number == 1 ? "1 result" : fmt::format("{} results", number), number == 1 ? "was" : "were");
    }
  }
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  std::int64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  NeverWaited() = default;
  std::atomic<std::int64_t> count_ = 0;
};

std::string message_of(const char* op, const RankGroup& group, const std::string& call, const Error& error) {
  const std::string why = error.to_string();
  const bool names_call = call.empty() || why.find(call) != std::string::npos;
  return fmt::format("{} of rank {} in group {}: {}{}{}", op, group.ranks()[static_cast<std::size_t>(group.place())],
                     group.name(), names_call ? "" : call, names_call ? "" : ": ", why);
}

}  // namespace

CollectiveError::CollectiveError(hocket::Error error) : c10::Error(error.to_string()), error_(std::move(error)) {}

std::int64_t never_waited_results() { return NeverWaited::instance().count(); }

Communication::Communication(const char* op, GroupHandle group) : op_(op), group_(std::move(group)) {
  NeverWaited::instance();
}

Communication::~Communication() {
  if (!waited_.load(std::memory_order_relaxed)) NeverWaited::instance().add();
}

void Communication::add(Work work) {
  if (work.done()) {
    const Status status = work.wait();
    if (!status && status.error().kind == ErrorKind::usage) {
      waited_ = true;
      fail_with(status.error(), work.call_text());
    }
  }
  works_.push_back(std::move(work));
}

bool Communication::done() const {
  if (complete()) return true;
  return std::all_of(works_.begin(), works_.end(), [](const Work& work) { return work.done(); });
}

void Communication::wait() {
  if (complete()) return;
  waited_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (complete_.load(std::memory_order_relaxed)) return;
  for (const Work& work : works_) {
    if (const Status status = work.wait(); !status) fail_with(status.error(), work.call_text());
  }
  if (last_step_) {
    // Not a part of what the waiting thread captures or differentiates.
    const c10::impl::ExcludeDispatchKeyGuard not_captured(c10::DispatchKey::Fake);
    const at::NoGradGuard no_gradients;
    last_step_();
    last_step_ = nullptr;
  }
  complete_.store(true, std::memory_order_release);
}

void Communication::fail_with(const Error& error, const std::string& call) const {
  throw CollectiveError({error.kind, message_of(op_, *group_, call, error), ""});
}

}  // namespace hocket
