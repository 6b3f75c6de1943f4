// The calls of one group on one rank: numbered, queued, and run one after the other by whoever has time, the caller or a thread
// of the pool.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/host_transport.h"
#include "comm/lane_threads.h"
#include "comm/mail.h"
#include "comm/runner.h"
#include "hocket/comm/group.h"
#include "hocket/comm/work.h"

namespace hocket {

// A call in the queue.
class QueuedCall final : public WorkState {
 public:
  QueuedCall(std::weak_ptr<Runner> lane, GroupCall its_call) : WorkState(std::move(lane)), call(std::move(its_call)) {}

  std::string call_text() const override { return call.to_string(); }

  GroupCall call;        // touched only by the thread that runs it
  SymmetricPlace place;  // of an allocate
};

class Lane final : public Runner, public std::enable_shared_from_this<Lane> {
 public:
  using MailMaker = std::function<Result<std::shared_ptr<Mail>>()>;
  Lane(GroupHandle group, std::unique_ptr<Transport> transport, std::shared_ptr<LaneThreads> threads,
       MailMaker make_mail, std::chrono::milliseconds timeout)
      : group_(std::move(group)),
        transport_(std::move(transport)),
        threads_(std::move(threads)),
        make_mail_(std::move(make_mail)),
        timeout_(timeout) {
    threads_->add_runner();
  }
  ~Lane() override { threads_->remove_runner(); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const RankGroup& group() const { return *group_; }
  Transport& transport() { return *transport_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  // Takes what is in the call.
  Work submit(GroupCall& call, bool blocking, std::shared_ptr<const void> keep_alive = nullptr);
  Result<SymmetricBuffer> allocate(GroupCall call);
  // Messages of the group; many groups never have any.
  Result<std::shared_ptr<Mail>> mail();
  // JSON. Any thread.
  Result<std::string> flight_report() const;
  // Runs the calls up to this one.
  void help(WorkState& state) override;
  void drain() override;

 private:
  // True if nobody runs calls or is about to.
  bool enqueue(std::shared_ptr<QueuedCall> state);
  bool try_own();
  void disown();
  bool run_next();
  Status run(QueuedCall& state);
  Status run(GroupCall& call);
  Status may_run(GroupCall& call);
  Status remember(Status status);

  GroupHandle group_;
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<LaneThreads> threads_;
  MailMaker make_mail_;
  std::mutex mail_mutex_;  // guards mail_
  std::shared_ptr<Mail> mail_;
  std::chrono::milliseconds timeout_;
  std::uint64_t calls_ = 0;       // touched by the owner only
  std::optional<Error> failure_;  // touched by the owner only

  // Bit 0: a thread runs calls of this lane, it is its owner. The other bits count the calls in the queue.
  std::atomic<std::uint32_t> busy_ = 0;
  std::mutex mutex_;  // guards the queue
  std::deque<std::shared_ptr<QueuedCall>> queue_;
};

}  // namespace hocket
