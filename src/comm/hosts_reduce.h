// all_reduce and reduce_scatter between hosts, of inputs that don't fit on a card.
//
// The data goes in blocks, several of them under way at once. Each block has a part for each host.
//   start    the ranks of each host combine their inputs, as far as the tree allows (see Piece); the leader sends the pieces
//            of each part to the leader of the host that owns it
//   combine  that leader combines the pieces of all hosts; in an all_reduce it sends the result to the other leaders
//   finish   the leader gives its ranks what they want
// An all_reduce sends 2·(H-1)/H of the data out of each of H hosts, which is the least that can be. Only leaders touch the wire:
// ranks that wait for each other inside a host can't keep a message of another host waiting.
#pragma once

#include <memory>
#include <vector>

#include "comm/hosts_combine.h"
#include "comm/hosts_context.h"
#include "comm/parts.h"

namespace hocket {

// Memory that only grows, so that calls after the first touch no fresh pages.
class Scratch {
 public:
  std::byte* reserve(std::int64_t bytes);

 private:
  std::unique_ptr<std::byte[]> data_;
  std::int64_t bytes_ = 0;
};

// Inputs and outputs of a block; inputs of a reduce_scatter in the order of their owners.
struct Stripe {
  const std::byte* data;
  std::int64_t count;
};
struct Landing {
  std::byte* data;
  std::int64_t count;
};

// One block under way.
struct Flight {
  enum class State { empty, pieces, results, ready };
  State state = State::empty;
  std::vector<Stripe> inputs;
  std::vector<Landing> outputs;
  std::vector<std::int64_t> starts;  // of each host's part, in elements, and the end of the last
  std::byte* result = nullptr;       // of the whole block in an all_reduce, of the own part otherwise
  std::byte* arriving =
      nullptr;  // where the others' parts of an all_reduce come; like `result`, unless that is still being sent
  std::vector<const std::byte*> own;     // this host's pieces of the whole block
  std::vector<const std::byte*> pieces;  // of all hosts, of the own part
  std::vector<RequestHandle> incoming;   // pieces, then results
  std::size_t piece_messages = 0;        // of `incoming`
  std::size_t arrived = 0;
  std::vector<RequestHandle> piece_sends;
  std::vector<RequestHandle> result_sends;
  Scratch packed, gathered, combined, received, finished;

  // After a failure: nothing of it touches anybody's memory any more.
  void let_go();

  std::int64_t count() const { return starts.back(); }
  std::int64_t start(std::int32_t host) const { return starts[static_cast<std::size_t>(host)]; }
  std::int64_t part(std::int32_t host) const { return starts[static_cast<std::size_t>(host) + 1] - start(host); }
};

class HostsReduce {
 public:
  explicit HostsReduce(HostsContext& context) : context_(&context) {}
  Status run(const GroupCall& call);

 private:
  struct Running;
  HostsContext* context_;
  std::vector<Flight> flights_;  // reused from call to call
};

}  // namespace hocket
