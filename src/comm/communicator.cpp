#include "hocket/comm/communicator.h"

#include "comm/call_checks.h"
#include "comm/lane.h"

namespace hocket {

namespace {

GroupCall call_of(Operator op, Dtype dtype, const CallOptions& options, CallSite site, const Lane& lane) {
  GroupCall call;
  call.op = op;
  call.dtype = dtype;
  call.algorithm = options.algorithm;
  call.block = options.block;
  call.factor = options.factor;
  call.timeout = options.timeout.value_or(lane.timeout());
  call.site = options.site.value_or(site);
  return call;
}

// `describe(call)` says what is communicated.
template <class Describe>
Work start(Lane& lane, Operator op, Dtype dtype, const CallOptions& options, CallSite site, const Describe& describe) {
  GroupCall call = call_of(op, dtype, options, site, lane);
  describe(call);
  if (Status status = check_and_count(call, lane.group()); !status) return Work::failed(std::move(status).error());
  return lane.submit(call, options.blocking, options.keep_alive);
}

auto many(std::span<const Transfer> parts, ReduceOp op = ReduceOp::sum) {
  return [parts, op](GroupCall& call) {
    call.many.assign(parts.begin(), parts.end());
    call.reduce = op;
  };
}

auto one(const Transfer& part, ReduceOp op = ReduceOp::sum) {
  return [part, op](GroupCall& call) {
    call.first = part;
    call.reduce = op;
  };
}

}  // namespace

const RankGroup& Communicator::group() const { return lane_->group(); }

Work Communicator::all_reduce(const void* input, void* output, std::int64_t count, Dtype dtype, ReduceOp op,
                              const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::all_reduce, dtype, options, site, one({input, output, count}, op));
}

Work Communicator::all_gather(const void* input, void* output, std::int64_t count, Dtype dtype,
                              const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::all_gather, dtype, options, site, one({input, output, count}));
}

Work Communicator::reduce_scatter(const void* input, void* output, std::int64_t count, Dtype dtype, ReduceOp op,
                                  const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::reduce_scatter, dtype, options, site, one({input, output, count}, op));
}

Work Communicator::all_to_all(const void* input, void* output, std::int64_t count, Dtype dtype,
                              const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::all_to_all, dtype, options, site, one({input, output, count}));
}

Work Communicator::all_to_all(const void* input, std::span<const std::int64_t> input_splits, void* output,
                              std::span<const std::int64_t> output_splits, Dtype dtype, const CallOptions& options,
                              CallSite site) const {
  return start(*lane_, Operator::all_to_all, dtype, options, site, [&](GroupCall& call) {
    call.first = {input, output, 0};
    call.has_splits = true;
    call.input_splits.assign(input_splits.begin(), input_splits.end());
    call.output_splits.assign(output_splits.begin(), output_splits.end());
  });
}

Work Communicator::broadcast(const void* input, void* output, std::int64_t count, Dtype dtype, std::int32_t source,
                             const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::broadcast, dtype, options, site, [&](GroupCall& call) {
    call.first = {input, output, count};
    call.root = source;
  });
}

Work Communicator::barrier(const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::barrier, Dtype::u8, options, site, [](GroupCall&) {});
}

Work Communicator::all_reduce_coalesced(std::span<const Transfer> parts, Dtype dtype, ReduceOp op,
                                        const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::all_reduce, dtype, options, site, many(parts, op));
}

Work Communicator::all_gather_coalesced(std::span<const Transfer> parts, Dtype dtype, const CallOptions& options,
                                        CallSite site) const {
  return start(*lane_, Operator::all_gather, dtype, options, site, many(parts));
}

Work Communicator::reduce_scatter_coalesced(std::span<const Transfer> parts, Dtype dtype, ReduceOp op,
                                            const CallOptions& options, CallSite site) const {
  return start(*lane_, Operator::reduce_scatter, dtype, options, site, many(parts, op));
}

Work Communicator::isend(const void* data, std::int64_t count, Dtype dtype, std::int32_t destination, std::int32_t tag,
                         const CallOptions& options, CallSite site) const {
  // The receiver's buffer is written, the sender's only read.
  const Message message{Message::Direction::send, const_cast<void*>(data), count, destination, tag};
  return batch({&message, 1}, dtype, options, site);
}

Work Communicator::irecv(void* data, std::int64_t count, Dtype dtype, std::int32_t source, std::int32_t tag,
                         const CallOptions& options, CallSite site) const {
  const Message message{Message::Direction::receive, data, count, source, tag};
  return batch({&message, 1}, dtype, options, site);
}

Work Communicator::batch(std::span<const Message> messages, Dtype dtype, const CallOptions& options,
                         CallSite site) const {
  std::vector<GroupCall> calls;
  for (const Message& message : messages) {
    const bool sends = message.direction == Message::Direction::send;
    GroupCall& call =
        calls.emplace_back(call_of(sends ? Operator::send : Operator::receive, dtype, options, site, *lane_));
    call.first =
        sends ? Transfer{message.data, nullptr, message.count} : Transfer{nullptr, message.data, message.count};
    call.root = message.peer;
    call.tag = message.tag;
    if (Status status = check_and_count(call, group()); !status) return Work::failed(std::move(status).error());
  }
  Result<std::shared_ptr<Mail>> mail = lane_->mail();
  if (!mail) return Work::failed(std::move(mail).error());
  Work work((*mail)->submit(std::move(calls), options.keep_alive));
  if (options.blocking) static_cast<void>(work.wait());
  return work;
}

void Communicator::abandon(const Error& reason) const { lane_->transport().fail_all(reason); }

Result<std::string> Communicator::flight_report() const { return lane_->flight_report(); }

Result<SymmetricBuffer> Communicator::allocate(Bytes bytes, const CallOptions& options, CallSite site) const {
  if (bytes.count < 0) return fail(ErrorKind::usage, "allocate({}), expected 0 bytes or more", bytes.count);
  GroupCall call = call_of(Operator::allocate, Dtype::u8, options, site, *lane_);
  call.count = bytes.count;
  return lane_->allocate(std::move(call));
}

}  // namespace hocket
