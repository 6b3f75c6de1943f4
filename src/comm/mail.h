// Messages between two ranks of a group. They wait neither for collectives nor for each other. Ranks that share a host exchange
// them in its memory (mail_ring.h), others over the wire (mail_wire.h).
//
// What a rank sent before it ended can still be received. When one has crashed, all other messages of the group fail, also those
// between survivors, who may have given up. One that left, or ended well, fails only the messages to and from itself.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/lane_threads.h"
#include "comm/mail_ring.h"
#include "comm/wire_watch.h"
#include "hocket/comm/group.h"

namespace hocket {

// How messages reach other hosts; empty where there are none.
struct MailWire {
  std::shared_ptr<Channel> channel;  // of the group
  std::shared_ptr<WireWatch> watch;
};

class Mail final : public Runner, public std::enable_shared_from_this<Mail> {
 public:
  // Talks to nobody. `members` are the host's numbers of the group's ranks by place, -1 for ranks of other hosts.
  static Result<std::shared_ptr<Mail>> create(std::shared_ptr<Host> host, GroupHandle group, const Digest& name,
                                              std::vector<std::int32_t> members, std::shared_ptr<LaneThreads> threads,
                                              const MailWire& wire = {});
  ~Mail() override;

  // Calls of Operator::send and receive, which are done together.
  std::shared_ptr<WorkState> submit(std::vector<GroupCall> calls, std::shared_ptr<const void> keep_alive = nullptr);

  void help(WorkState& state) override;
  void drain() override;

 private:
  // All there is with one place.
  struct Peer {
    Peer(std::unique_ptr<MailRoute> its_route, MailInbox its_inbox)
        : route(std::move(its_route)), inbox(std::move(its_inbox)) {}
    std::unique_ptr<MailRoute> route;
    std::list<Parcel> sending;
    MailInbox inbox;
    std::optional<Error> broken;  // why nothing can be sent there any more
    Deadline looked{};            // when it was last seen alive
    bool receives() const { return inbox.expects() || inbox.in_message(); }
    bool is_open() const { return !sending.empty() || inbox.expects(); }
  };

  Mail(std::unique_ptr<MailRings> rings, std::shared_ptr<LaneThreads> threads);

  bool try_own();
  void disown();
  void take_in();
  void take_in(const std::shared_ptr<MailBatch>& batch, const GroupCall& call, Deadline now);
  void progress_or_rest();
  bool progress();
  void look_for_crashes(Deadline now);
  Status may_send(Peer& peer, Deadline now);
  void fail_what_can_not_end(Deadline now);
  void fail_what_can_not_end(Peer& peer, Deadline now);
  void fail_those_from_anyone(Deadline now);

  std::unique_ptr<MailRings> rings_;
  std::shared_ptr<LaneThreads> threads_;

  std::mutex mutex_;  // guards what is new and the ownership
  std::list<std::shared_ptr<MailBatch>> fresh_;
  bool owned_ = false;

  // Touched by the owner only.
  std::list<Parcel> from_anyone_;  // receives whose message has not begun to come; before the inboxes that share it
  std::vector<Peer> peers_;        // by place
  std::uint64_t receives_ = 0;
  Patience patience_{Deadline::max()};
  Deadline looked_for_crashes_{};
  std::optional<Error> crash_;  // of a member: nothing new can be sent or received
  std::size_t pending_ = 0;
};

}  // namespace hocket
