// Messages between two ranks, and the barrier that is made of them.
#include <fmt/ranges.h>

#include "comm/any_source.h"
#include "comm/call_checks.h"
#include "comm/lane.h"
#include "distributed_backend.h"

namespace hocket {

namespace {

using c10d::OpType;

// Tags of c10d's users are not negative. Each barrier has two of its own, so that what came too late for one is not taken for the next.
std::int32_t here_tag(std::int32_t barrier) { return -1 - 2 * barrier; }
std::int32_t go_on_tag(std::int32_t barrier) { return -2 - 2 * barrier; }
constexpr std::int32_t barriers_with_tags = 1 << 29;

}  // namespace

DistributedBackend::WorkHandle DistributedBackend::message(OpType op, const char* title, Tensors& tensors, int peer,
                                                           int tag) {
  const bool sends = op == OpType::SEND;
  const char* name = sends ? "send" : "recv";
  TORCH_CHECK_VALUE(tensors.size() == 1, name, " got ", tensors.size(), " tensors, expected one");
  TORCH_CHECK_VALUE(tag >= 0, name, " got the tag ", tag, ", expected 0 or more");
  check_tensor(name, tensors.front());
  Started started = start(op, title, tensors, tensors, c10d::kUnsetTimeout, true);
  --calls_;  // those of a group are its collectives
  lane_->count_message();
  const at::Tensor piece =
      sends ? in_one_piece(tensors.front()) : written_in_one_piece(tensors.front(), false, started.back);
  const CallOptions& options = options_with(started, {piece});
  const std::int64_t count = piece.numel();
  const Dtype dtype = moved_as(piece);
  if (sends) {
    lane_->count_sent(root(name, peer));
    return finish(started, communicator().isend(piece.const_data_ptr(), count, dtype, root(name, peer), tag, options));
  }
  if (peer != any_source) {
    started.work->comes_from(std::make_shared<const std::int32_t>(root(name, peer)));
    return finish(started,
                  communicator().irecv(piece.mutable_data_ptr(), count, dtype, root(name, peer), tag, options));
  }
  return receive_from_anyone(started, {nullptr, piece.mutable_data_ptr(), count}, dtype, tag);
}

DistributedBackend::WorkHandle DistributedBackend::receive_from_anyone(Started& started, const Transfer& into,
                                                                       Dtype dtype, int tag) {
  GroupCall call;
  call.op = Operator::receive;
  call.dtype = dtype;
  call.first = into;
  call.root = any_source;
  call.tag = tag;
  call.timeout = *started.options.timeout;
  if (const Status status = check_and_count(call, lane_->lane()->group()); !status) throw_error(status.error());
  const Result<std::shared_ptr<Mail>> mail = lane_->lane()->mail();
  if (!mail) throw_error(mail.error());
  auto batch = std::static_pointer_cast<MailBatch>((*mail)->submit({call}, started.options.keep_alive));
  started.work->comes_from({batch, &batch->from});
  return finish(started, Work(std::move(batch)));
}

DistributedBackend::WorkHandle DistributedBackend::send(Tensors& tensors, int destination, int tag) {
  return message(OpType::SEND, "hocket:send", tensors, destination, tag);
}

DistributedBackend::WorkHandle DistributedBackend::recv(Tensors& tensors, int source, int tag) {
  TORCH_CHECK_VALUE(source >= 0, "recv got ", source, " as its source, expected a rank of the group");
  return message(OpType::RECV, "hocket:recv", tensors, source, tag);
}

DistributedBackend::WorkHandle DistributedBackend::recvAnysource(Tensors& tensors, int tag) {
  return message(OpType::RECVANYSOURCE, "hocket:recvAnySource", tensors, any_source, tag);
}

// The words of the errors are those of gloo, which people look for.
//
// Everyone says to rank 0 that it is here, and waits until rank 0 has heard it of all: rank 0 knows who is missing.
void DistributedBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  const std::int32_t barrier = monitored_++ % barriers_with_tags;
  CallOptions options;
  options.timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout : opts.timeout;
  options.site = CallSite{"", 0};
  std::uint8_t word = 0;
  if (rank_ != 0) {
    Status status = communicator().isend(&word, 1, Dtype::u8, 0, here_tag(barrier), options).wait();
    if (status) status = communicator().irecv(&word, 1, Dtype::u8, 0, go_on_tag(barrier), options).wait();
    if (status) return;
    lane_->spoil();
    throw_error({ErrorKind::peer,
                 fmt::format("Rank {} successfully reached monitoredBarrier, but received errors while waiting for "
                             "send/recv from rank 0, which can say who is missing: {}",
                             rank_, status.error().message),
                 ""});
  }
  if (*options.timeout <= std::chrono::milliseconds(0)) {
    throw_error({ErrorKind::peer, "Rank 0 timed out in monitoredBarrier after 0 ms: it was given no time", ""});
  }
  std::vector<Work> arrivals;
  std::vector<std::uint8_t> words(static_cast<std::size_t>(size_));
  for (int rank = 1; rank < size_; ++rank) {
    arrivals.push_back(
        communicator().irecv(&words[static_cast<std::size_t>(rank)], 1, Dtype::u8, rank, here_tag(barrier), options));
  }
  std::vector<int> missing;
  std::string reason;
  for (int rank = 1; rank < size_; ++rank) {
    const Status came = arrivals[static_cast<std::size_t>(rank - 1)].wait();
    if (came) continue;
    missing.push_back(rank);
    if (reason.empty()) reason = came.error().message;
  }
  if (!missing.empty()) {
    lane_->spoil();
    if (!wait_all_ranks) missing.resize(1);
    throw_error({ErrorKind::peer,
                 fmt::format("Rank{} {} failed to pass monitoredBarrier in {} ms: {}", missing.size() > 1 ? "s" : "",
                             fmt::join(missing, ", "), options.timeout->count(), reason),
                 ""});
  }
  for (int rank = 1; rank < size_; ++rank) {
    const Status sent = communicator().isend(&word, 1, Dtype::u8, rank, go_on_tag(barrier), options).wait();
    if (!sent) throw_error(sent.error());
  }
}

}  // namespace hocket
