// Collectives of a group whose ranks are on several hosts: inside a host by its own transport, between hosts over a channel.
//
//   HOCKET_TRY(std::unique_ptr<Channel> channel, wire.channel(group.ranks(), deadline));
//   HostsTransport transport(std::move(channel), std::move(local), HostsLayout(hosts, group.place()));
#pragma once

#include <memory>
#include <string>

#include "comm/hosts_alarm.h"
#include "comm/hosts_greeting.h"
#include "comm/hosts_reduce.h"

namespace hocket {

class HostsTransport final : public Transport {
 public:
  // `channel` is of all ranks of the group, `local` of those on this host in the same order.
  // `watch` tells other hosts of failures, under the group's name; without it they hear at their timeouts.
  HostsTransport(std::shared_ptr<Channel> channel, std::unique_ptr<Transport> local, HostsLayout layout,
                 HostsOptions options = {}, std::shared_ptr<WireWatch> watch = nullptr, const Digest& name = {});
  ~HostsTransport() override;
  HostsTransport(const HostsTransport&) = delete;
  HostsTransport& operator=(const HostsTransport&) = delete;

  std::string_view name() const override { return name_; }
  Status run(const GroupCall& call) override;
  // The same offset on all hosts.
  Result<SymmetricPlace> allocate(const GroupCall& call) override;
  void release(std::int64_t offset) override { local_->release(offset); }
  void fail_all(const Error& error) override;
  const Rounds* local_rounds() const override { return local_->local_rounds(); }

 private:
  Status run_now(const GroupCall& call);
  Status run_greeted(const GroupCall& call);
  Result<SymmetricPlace> allocate_now(const GroupCall& call);
  Status compare_offsets(const GroupCall& call, std::int64_t own);
  // Lets all ranks of the group know of a failure. Returns why it failed, as they hear it.
  Error spread(Error error);
  Error explained(Error error);

  std::shared_ptr<Channel> channel_;
  std::unique_ptr<Transport> local_;
  std::shared_ptr<WireWatch> watch_;
  std::shared_ptr<HostsAlarm> alarm_;
  HostsLayout layout_;
  HostsContext context_;
  Greeting greeting_;
  HostsReduce reduce_;
  std::string name_;
};

}  // namespace hocket
