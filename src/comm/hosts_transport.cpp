#include "comm/hosts_transport.h"

#include <cstring>
#include <thread>

#include "comm/hosts_copying.h"
#include "comm/hosts_small.h"

namespace hocket {

namespace {

constexpr std::int64_t no_place = -1;
// News of a death is two looks under way, and a third finds it.
constexpr auto time_for_news = 3 * between_looks_at_peers;

}  // namespace

HostsTransport::HostsTransport(std::shared_ptr<Channel> channel, std::unique_ptr<Transport> local, HostsLayout layout,
                               HostsOptions options, std::shared_ptr<WireWatch> watch, const Digest& name)
    : channel_(std::move(channel)),
      local_(std::move(local)),
      watch_(std::move(watch)),
      alarm_(std::make_shared<HostsAlarm>(name, channel_->ranks(), *local_)),
      layout_(std::move(layout)),
      context_(*channel_, *local_, *alarm_, layout_, options),
      greeting_(context_),
      reduce_(context_),
      name_(fmt::format("{} on {} hosts", local_->name(), layout_.hosts())) {
  if (watch_) watch_->add(alarm_);
}

HostsTransport::~HostsTransport() { alarm_->detach(); }

Status HostsTransport::run(const GroupCall& call) {
  HOCKET_CHECK(alarm_->check());
  Status status = run_now(call);
  if (!status) return fail(spread(std::move(status).error()));
  return status;
}

Result<SymmetricPlace> HostsTransport::allocate(const GroupCall& call) {
  HOCKET_CHECK(alarm_->check());
  Result<SymmetricPlace> place = allocate_now(call);
  if (!place) return fail(spread(std::move(place).error()));
  return place;
}

Error HostsTransport::spread(Error error) {
  if (error.kind != ErrorKind::peer) return error;
  if (greeting_.failed_on_all()) {
    alarm_->raise(error);
    return error;
  }
  error = explained(std::move(error));
  const bool is_news = alarm_->raise(error);
  channel_->abandon();
  if (is_news && watch_) watch_->tell(*alarm_, error);
  return error;
}

// A message may fail because a rank has died. The watch hears a moment later which one, and of what.
Error HostsTransport::explained(Error error) {
  if (!watch_) return error;
  const Deadline end = std::chrono::steady_clock::now() + time_for_news;
  do {
    if (Status status = alarm_->check(); !status) return std::move(status).error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < end);
  return error;
}

// The call that runs, if one does, hears of it and lets go of the channel.
void HostsTransport::fail_all(const Error& error) {
  if (alarm_->raise(error) && watch_) watch_->tell(*alarm_, error);
}

Status HostsTransport::run_now(const GroupCall& call) {
  if (call.algorithm != CollectiveAlgorithm::automatic) {
    return fail(ErrorKind::usage, "{} asks for an algorithm that works inside one host, but its group is on {} hosts",
                call.to_string(), layout_.hosts());
  }
  const bool splits = !call.input_splits.empty();
  const bool small = !splits && input_bytes(call, layout_) <= greeting_.room();
  HOCKET_CHECK(greeting_.greet(call, small ? packed_input(call, layout_) : std::vector<std::byte>()));
  // The root of a broadcast has the input, the others have none: all go by the size that all know.
  const bool all_small = call.op == Operator::broadcast ? call.count * size_of(call.dtype) <= greeting_.room() : small;
  if (!all_small) return run_greeted(call);
  finish_small(call, layout_, greeting_);
  return {};
}

Status HostsTransport::run_greeted(const GroupCall& call) {
  switch (call.op) {
    case Operator::all_reduce:
    case Operator::reduce_scatter: return reduce_.run(call);
    case Operator::all_gather: return hosts_all_gather(context_, call);
    case Operator::broadcast: return hosts_broadcast(context_, call);
    case Operator::all_to_all: return hosts_all_to_all(context_, greeting_, call);
    default: break;
  }
  return fail(ErrorKind::internal, "{} is no collective between hosts", call.to_string());
}

// Hosts place what is allocated and released in the same order at the same offsets. One whose ranks have released something
// else would not, and one may be out of memory.
Status HostsTransport::compare_offsets(const GroupCall& call, std::int64_t own) {
  std::vector<std::byte> bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  HOCKET_CHECK(greeting_.greet(call, bytes));
  std::int64_t first = 0;
  std::memcpy(&first, greeting_.input_of(0), sizeof first);
  for (std::int32_t place = 0; place < layout_.size(); ++place) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, greeting_.input_of(place), sizeof theirs);
    const std::int32_t rank = context_.rank_of(place);
    if (theirs == no_place) return fail(ErrorKind::system, "rank {} has no memory for {}", rank, call.to_string());
    if (theirs == first) continue;
    return fail(ErrorKind::peer,
                "{} is at offset {} on rank {}, but at {} on rank {}: ranks must let go of the same symmetric buffers "
                "before each allocation",
                call.to_string(), first, context_.rank_of(0), theirs, rank);
  }
  return {};
}

Result<SymmetricPlace> HostsTransport::allocate_now(const GroupCall& call) {
  HOCKET_CHECK(greeting_.greet(call, {}));
  const Result<SymmetricPlace> taken = local_->allocate(call);
  if (!taken && taken.error().kind == ErrorKind::peer) return taken;
  Status same = compare_offsets(call, taken ? taken->offset : no_place);
  if (!taken) return taken;
  if (!same) {
    local_->release(taken->offset);
    return fail(std::move(same).error());
  }
  const SymmetricPlace& own = *taken;
  SymmetricPlace place{own.offset, std::vector<std::byte*>(static_cast<std::size_t>(layout_.size()), nullptr)};
  for (std::size_t i = 0; i < own.parts.size(); ++i) {
    place.parts[static_cast<std::size_t>(layout_.locals()[i])] = own.parts[i];
  }
  return place;
}

}  // namespace hocket
