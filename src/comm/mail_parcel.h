// One message of a batch on its way, whichever way that is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/call.h"
#include "comm/runner.h"
#include "comm/wire.h"

namespace hocket {

// What a message is, said by its sender ahead of the data.
struct MailHeader {
  std::int64_t count;
  std::int32_t tag;
  Dtype dtype;

  std::int64_t bytes() const { return count * size_of(dtype); }
  bool fits(const GroupCall& call) const { return call.count == count && call.dtype == dtype; }
};

// Messages that are done together.
struct MailBatch final : WorkState {
  MailBatch(std::weak_ptr<Runner> mail, std::vector<GroupCall> its_calls)
      : WorkState(std::move(mail)), calls(std::move(its_calls)), left(calls.size()) {}
  std::vector<GroupCall> calls;
  std::size_t left;        // not done; touched by the mail's owner
  std::int32_t from = -1;  // the place that the last receive got its message from; touched by the mail's owner
  Status result;           // the first failure; touched by the mail's owner
};

struct Parcel {
  std::shared_ptr<MailBatch> batch;
  const GroupCall* call;
  std::size_t* open;                        // how many parcels of the mail are not finished
  std::int64_t done = 0;                    // bytes that have left
  std::uint64_t turn = 0;                   // of the receives of the mail
  bool begun = false;                       // something of it has left, and can't be taken back
  std::unique_ptr<std::byte[]> envelope{};  // between hosts: what goes ahead
  std::vector<RequestHandle> requests{};    // between hosts; they go before what they send

  std::int64_t bytes() const { return call->count * size_of(call->dtype); }
  MailHeader header() const { return {call->count, call->tag, call->dtype}; }
  void finish(Status status) const {
    --*open;
    if (!status && batch->result) batch->result = std::move(status);
    if (--batch->left == 0) batch->finish(std::move(batch->result));
  }
};

}  // namespace hocket
