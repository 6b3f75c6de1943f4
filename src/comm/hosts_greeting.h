// The first step of every call between hosts: everyone learns what everyone calls, and gets their inputs if they are small.
//
// Each rank fills a card. The cards of a host are gathered by its own transport, the leaders exchange those of their hosts, and
// give their ranks all of them. A card has the same size whatever is called, so ranks that call different things meet here
// all the same, before any buffer is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/hosts_context.h"

namespace hocket {

// The front of a card; up to Greeting::room() bytes of the rank's input follow it.
struct CardFront {
  std::uint64_t fingerprint = 0;
  std::uint8_t has_splits = 0;
  std::uint8_t failed = 0;
  std::array<char, 246> text{};  // the call, or why it can't go on; ends with a zero
};
static_assert(sizeof(CardFront) == 256);

class Greeting {
 public:
  explicit Greeting(HostsContext& context);

  // Bytes of input that fit on a card: fewer in large groups, since every rank gets the cards of all.
  std::int64_t room() const { return card_ - static_cast<std::int64_t>(sizeof(CardFront)); }
  // An error of kind `peer` that names two ranks and what they called, the same on all ranks, if they differ.
  Status greet(const GroupCall& call, const std::vector<std::byte>& input);
  // What the rank at that place wrote, since the last greet().
  const CardFront& front_of(std::int32_t place) const;
  const std::byte* input_of(std::int32_t place) const;
  bool anyone_has_splits() const;

  // Whether the last error was found by all ranks alike.
  bool failed_on_all() const { return failed_on_all_; }
  // All ranks say how the call goes at theirs: if one says that it failed, it fails with that on all of them.
  Status agree(const GroupCall& call, const Status& own);

 private:
  Status exchange(const GroupCall& call);
  Status check_same(const GroupCall& call) const;
  std::byte* card_of(std::int32_t place);
  std::byte* first_card_of(std::int32_t host) { return card_of(context_->layout().leader(host)); }

  HostsContext* context_;
  std::int64_t card_;
  std::vector<std::int64_t> position_;  // of each place's card: those of one host side by side
  std::vector<std::byte> cards_;
  bool failed_on_all_ = false;
};

}  // namespace hocket
