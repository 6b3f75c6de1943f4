// A rank of the tests across hosts: messages between all ranks, of the same host and of another. Prints a line from rank 0 if all
// ranks agree that all was right.
#include <fmt/format.h>

#include <numeric>

#include "hocket/comm/world.h"
#include "rank_program.h"

namespace hocket {
namespace {

using Numbers = std::vector<std::int32_t>;

// Known to both ends.
Numbers message(std::int32_t from, std::int32_t to, std::int32_t tag, std::int64_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), from * 1'000'003 + to * 10'007 + tag * 101);
  return numbers;
}

class Checks {
 public:
  explicit Checks(Communicator group) : group_(std::move(group)) {}

  // None, in the envelope with its last byte and one more, and up to 6 MB; to all and from all at once.
  Status all_sizes_at_once() {
    const std::vector<std::int64_t> counts = {0, 1, 124, 125, 1'024, 16'385, 300'007, 1'500'001};
    std::vector<Numbers> buffers;
    std::vector<Message> batch;
    for (const bool sends : {true, false}) {
      for (std::int32_t peer = 0; peer < size(); ++peer) {
        for (std::int32_t tag = 0; tag < static_cast<std::int32_t>(counts.size()); ++tag) {
          const std::int64_t count = counts[static_cast<std::size_t>(tag)];
          buffers.push_back(sends ? message(place(), peer, tag, count) : Numbers(static_cast<std::size_t>(count), -1));
          const auto direction = sends ? Message::Direction::send : Message::Direction::receive;
          batch.push_back({direction, buffers.back().data(), count, peer, tag});
        }
      }
    }
    HOCKET_CHECK(group_.batch(batch, Dtype::i32).wait());
    for (std::size_t i = batch.size() / 2; i < batch.size(); ++i) {
      const Message& one = batch[i];
      if (buffers[i] != message(one.peer, place(), one.tag, one.count)) return wrong("a batch", one.peer, one.tag);
    }
    return {};
  }

  // The last that was sent is asked for first, so the others have to be kept.
  Status backwards() {
    constexpr std::int32_t tags = 60;
    std::vector<Numbers> buffers;
    std::vector<Work> sends;
    for (std::int32_t peer = 0; peer < size(); ++peer) {
      if (peer == place()) continue;
      for (std::int32_t tag = 0; tag < tags; ++tag) {
        buffers.push_back(message(place(), peer, tag, tag * 700));
        sends.push_back(group_.isend(buffers.back().data(), std::ssize(buffers.back()), Dtype::i32, peer, tag));
      }
    }
    for (std::int32_t tag = tags - 1; tag >= 0; --tag) {
      for (std::int32_t peer = 0; peer < size(); ++peer) {
        if (peer == place()) continue;
        Numbers got(static_cast<std::size_t>(tag * 700), -1);
        HOCKET_CHECK(group_.irecv(got.data(), std::ssize(got), Dtype::i32, peer, tag).wait());
        if (got != message(peer, place(), tag, tag * 700)) return wrong("backwards", peer, tag);
      }
    }
    for (const Work& send : sends) HOCKET_CHECK(send.wait());
    return {};
  }

  Status in_order() {
    constexpr std::int32_t count = 300;
    const std::int32_t to = (place() + 1) % size();
    const std::int32_t from = (place() + size() - 1) % size();
    const Numbers sent = message(place(), to, 7, count);
    Numbers got(count, -1);
    std::vector<Work> works;
    for (std::size_t i = 0; i < count; ++i) {
      works.push_back(group_.isend(&sent[i], 1, Dtype::i32, to, 7));
      works.push_back(group_.irecv(&got[i], 1, Dtype::i32, from, 7));
    }
    for (const Work& work : works) HOCKET_CHECK(work.wait());
    return got == message(from, place(), 7, count) ? Status{} : wrong("order", from, 7);
  }

  // A collective that needs the messages to be received before it can end, and one that is under way meanwhile.
  Status beside_collectives() {
    std::vector<float> data(400'000, 1.0F);
    const Work sum = group_.all_reduce(data.data(), data.data(), std::ssize(data), Dtype::f32, ReduceOp::sum);
    if (place() == 0) {
      const Work barrier = group_.barrier();  // the others come to it only when they have their message
      for (std::int32_t peer = 1; peer < size(); ++peer) {
        const Numbers one = message(0, peer, 9, 5'000);
        HOCKET_CHECK(group_.isend(one.data(), 5'000, Dtype::i32, peer, 9).wait());
      }
      HOCKET_CHECK(barrier.wait());
    } else {
      Numbers got(5'000, -1);
      HOCKET_CHECK(group_.irecv(got.data(), 5'000, Dtype::i32, 0, 9).wait());
      if (got != message(0, place(), 9, 5'000)) return wrong("a message beside a barrier", 0, 9);
      HOCKET_CHECK(group_.barrier().wait());
    }
    HOCKET_CHECK(sum.wait());
    return data.back() == static_cast<float>(size()) ? Status{} : wrong("the sum", 0, 0);
  }

  // Named where it is received; the next message is not affected.
  Status another_size() {
    const std::int32_t peer = (place() + size() / 2) % size();  // of the other host
    const Numbers sent(200'000, 4);
    const Work first = group_.isend(sent.data(), 200'000, Dtype::i32, peer, 11);
    const Work second = group_.isend(sent.data(), 3, Dtype::i32, peer, 11);
    Numbers got(3);
    const Status status = group_.irecv(got.data(), 2, Dtype::i32, peer, 11).wait();
    const std::string expected = fmt::format("rank {} sends i32[200000] with tag 11 to rank {}, which expects receive(",
                                             group_.group().ranks()[static_cast<std::size_t>(peer)],
                                             group_.group().ranks()[static_cast<std::size_t>(place())]);
    if (status || !status.error().message.starts_with(expected)) return wrong("a message of another size", peer, 11);
    HOCKET_CHECK(group_.irecv(got.data(), 3, Dtype::i32, peer, 11).wait());
    HOCKET_CHECK(first.wait());
    HOCKET_CHECK(second.wait());
    return got == Numbers(3, 4) ? Status{} : wrong("what came after it", peer, 11);
  }

  Status all() {
    HOCKET_CHECK(all_sizes_at_once());
    HOCKET_CHECK(backwards());
    HOCKET_CHECK(in_order());
    HOCKET_CHECK(beside_collectives());
    HOCKET_CHECK(another_size());
    return group_.barrier().wait();
  }

 private:
  std::int32_t place() const { return group_.group().place(); }
  std::int32_t size() const { return group_.group().size(); }
  Status wrong(const char* what, std::int32_t peer, std::int32_t tag) const {
    return fail(ErrorKind::internal, "place {}: {} from {} with tag {} is wrong", place(), what, peer, tag);
  }
  Communicator group_;
};

Status check_all() {
  HOCKET_TRY(const World world, World::join());
  HOCKET_TRY(const Communicator everybody, world.communicator());
  HOCKET_CHECK(Checks(everybody).all());
  // One rank of each host; and two groups at the same time.
  HOCKET_TRY(const Communicator pair, world.communicator(world.rank() % 2 == 0 ? Ranks{0, 2} : Ranks{1, 3}));
  HOCKET_CHECK(Checks(pair).all());
  HOCKET_CHECK(everybody.barrier().wait());
  if (world.rank() == 0) fmt::print("all messages right on {} ranks\n", world.size());
  return {};
}

}  // namespace
}  // namespace hocket

int main() { return hocket::exit_code_of(hocket::check_all()); }
