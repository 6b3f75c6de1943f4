// The way of messages between ranks that share a host. Every rank has a channel to every other: four blocks in its own
// segment, which it fills in turn and the receiver empties. A message is sent once it is in the channel; what does not fit waits
// for the receiver.
#pragma once

#include <memory>
#include <vector>

#include "comm/host.h"
#include "comm/mail_route.h"

namespace hocket {

// What one rank has of a group's channels.
class MailRings {
 public:
  // Talks to nobody; a peer's channel is found when it is needed. `members` are the host's numbers of the group's ranks by
  // place; -1 for ranks of other hosts.
  static Result<std::unique_ptr<MailRings>> create(std::shared_ptr<Host> host, const Digest& name,
                                                   std::vector<std::int32_t> members);

  // Others add one to it when there is something to look at.
  Flag& bell();
  // Any thread.
  void ring_own() { hocket::ring(bell()); }
  std::unique_ptr<MailRoute> route_to(std::int32_t place);
  const WaitPolicy& policy() const { return host_->policy(); }

 private:
  struct Channel;
  struct Control;
  class Route;

  MailRings(std::shared_ptr<Host> host, const Digest& name, std::vector<std::int32_t> members)
      : host_(std::move(host)), name_(name), members_(std::move(members)), controls_(members_.size()) {}
  bool find_peer(std::int32_t place);

  std::shared_ptr<Host> host_;
  Digest name_;
  std::vector<std::int32_t> members_;
  std::int32_t place_ = 0;  // own
  Control* mine_ = nullptr;
  std::vector<Control*> controls_;  // by place; null until found
};

}  // namespace hocket
