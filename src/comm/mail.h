// Messages between two ranks of a group that share a host. They wait neither for collectives nor for each other.
//
// Every rank has a channel to every other: four blocks in its own segment, which it fills in turn and the receiver empties. A
// message is sent once it is in the channel; what does not fit waits for the receiver.
//
// What a rank sent before it ended can still be received. When one has crashed, all other messages of the group fail, also those
// between survivors, who may have given up. One that left, or ended well, fails only the messages to and from itself.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/call.h"
#include "comm/host.h"
#include "comm/lane_threads.h"
#include "comm/runner.h"
#include "hocket/comm/group.h"

namespace hocket {

class Mail final : public Runner, public std::enable_shared_from_this<Mail> {
 public:
  // Talks to nobody; a peer's channel is found when it is needed.
  static Result<std::shared_ptr<Mail>> create(std::shared_ptr<Host> host, GroupHandle group, const Digest& name,
                                              std::vector<std::int32_t> members, std::shared_ptr<LaneThreads> threads);
  ~Mail() override;

  // Calls of Operator::send and receive, which are done together.
  std::shared_ptr<WorkState> submit(std::vector<GroupCall> calls, std::shared_ptr<const void> keep_alive = nullptr);

  void help(WorkState& state) override;
  void drain() override;

 private:
  struct Batch;
  struct Parcel;
  struct Inbox;
  struct Control;
  struct Channel;
  struct Header;

  Mail(std::shared_ptr<Host> host, GroupHandle group, std::vector<std::int32_t> members,
       std::shared_ptr<LaneThreads> threads);

  bool try_own();
  void disown();
  void take_in();
  void progress_or_rest();
  bool progress();
  bool send_some(std::int32_t place);
  bool receive_some(std::int32_t place);
  void decide(Inbox& inbox, const Header& header);
  void take_block(Inbox& inbox, const Header& header, const std::byte* data);
  void deliver_stored(Inbox& inbox);
  void look_for_crashes(Deadline now);
  Status may_send(std::int32_t place, Deadline now);
  void fail_what_can_not_end(Deadline now);
  void finish(Parcel& parcel, Status status);
  bool find_peer(std::int32_t place);
  void ring(std::int32_t place);
  Error differs(const GroupCall& call, const Header& header) const;

  std::shared_ptr<Host> host_;
  GroupHandle group_;
  std::vector<std::int32_t> members_;
  std::shared_ptr<LaneThreads> threads_;
  Digest name_;
  Control* mine_ = nullptr;
  std::vector<Control*> controls_;  // by place; null until found

  std::mutex mutex_;  // guards what is new and the ownership
  std::list<std::shared_ptr<Batch>> fresh_;
  bool owned_ = false;

  // Touched by the owner only.
  std::vector<std::list<Parcel>> sending_;    // by place
  std::vector<Inbox> inboxes_;                // by place
  std::vector<std::optional<Error>> broken_;  // by place: why nothing can be sent there any more
  std::vector<Deadline> looked_;              // by place: when its receiver was last seen alive
  Deadline looked_for_crashes_{};
  std::optional<Error> crash_;  // of a member: nothing new can be sent or received
  std::size_t pending_ = 0;
};

}  // namespace hocket
