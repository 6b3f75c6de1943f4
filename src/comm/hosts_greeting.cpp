#include "comm/hosts_greeting.h"

#include <algorithm>
#include <cstring>

namespace hocket {

namespace {

constexpr std::int64_t largest_card = 1024;  // what a network packet takes
constexpr std::int64_t most_of_all = 64 << 10;

void write_text(CardFront& front, std::string_view text) {
  const std::size_t length = std::min(text.size(), front.text.size() - 1);
  std::memcpy(front.text.data(), text.data(), length);
  front.text[length] = '\0';
}

}  // namespace

Greeting::Greeting(HostsContext& context) : context_(&context) {
  const HostsLayout& layout = context.layout();
  card_ = std::clamp<std::int64_t>(most_of_all / layout.size() / 64 * 64, sizeof(CardFront), largest_card);
  position_.resize(static_cast<std::size_t>(layout.size()));
  std::int64_t next = 0;
  for (std::int32_t host = 0; host < layout.hosts(); ++host) {
    for (const std::int32_t place : layout.members(host)) position_[static_cast<std::size_t>(place)] = next++;
  }
  cards_.resize(static_cast<std::size_t>(next * card_));
}

std::byte* Greeting::card_of(std::int32_t place) {
  return cards_.data() + position_[static_cast<std::size_t>(place)] * card_;
}

const CardFront& Greeting::front_of(std::int32_t place) const {
  return *reinterpret_cast<const CardFront*>(cards_.data() + position_[static_cast<std::size_t>(place)] * card_);
}

const std::byte* Greeting::input_of(std::int32_t place) const {
  return reinterpret_cast<const std::byte*>(&front_of(place)) + sizeof(CardFront);
}

bool Greeting::anyone_has_splits() const {
  for (std::int32_t place = 0; place < context_->layout().size(); ++place) {
    if (front_of(place).has_splits != 0) return true;
  }
  return false;
}

Status Greeting::exchange(const GroupCall& call) {
  const HostsLayout& layout = context_->layout();
  const auto locals = static_cast<std::int64_t>(layout.locals().size());
  if (locals > 1) {
    GroupCall gather;
    gather.op = Operator::all_gather;
    gather.count = card_;
    gather.first = {card_of(layout.place()), first_card_of(layout.host()), card_};
    HOCKET_CHECK(context_->run_local(std::move(gather), call));
  }
  if (layout.leads()) {
    std::vector<RequestHandle> requests;
    for (std::int32_t host = 0; host < layout.hosts(); ++host) {
      if (host == layout.host()) continue;
      const auto theirs = static_cast<std::int64_t>(layout.members(host).size());
      HOCKET_CHECK(context_->receive(requests, first_card_of(host), theirs * card_, layout.leader(host), tag_greeting));
      HOCKET_CHECK(
          context_->send(requests, first_card_of(layout.host()), locals * card_, layout.leader(host), tag_greeting));
    }
    HOCKET_CHECK(context_->wait_promptly(requests, call));
  }
  if (locals == 1) return {};
  return context_->broadcast_local(cards_.data(), cards_.data(), static_cast<std::int64_t>(cards_.size()), 0, call);
}

Status Greeting::check_same(const GroupCall& call) const {
  const HostsLayout& layout = context_->layout();
  for (std::int32_t place = 1; place < layout.size(); ++place) {
    if (front_of(place).fingerprint == front_of(0).fingerprint) continue;
    return fail(ErrorKind::peer, "rank {} called {}, but rank {} called {}: all ranks of a group make the same calls",
                context_->rank_of(0), front_of(0).text.data(), context_->rank_of(place), front_of(place).text.data());
  }
  if (front_of(0).fingerprint == call.fingerprint()) return {};
  return fail(ErrorKind::internal, "rank {} finds another call than its own on its card",
              context_->rank_of(layout.place()));
}

Status Greeting::greet(const GroupCall& call, const std::vector<std::byte>& input) {
  std::byte* const card = card_of(context_->layout().place());
  CardFront front;
  front.fingerprint = call.fingerprint();
  front.has_splits = call.input_splits.empty() ? 0 : 1;
  write_text(front, call.to_string());
  std::memcpy(card, &front, sizeof front);
  if (!input.empty()) std::memcpy(card + sizeof front, input.data(), input.size());
  HOCKET_CHECK(exchange(call));
  Status same = check_same(call);
  failed_on_all_ = !same;
  return same;
}

Status Greeting::agree(const GroupCall& call, const Status& own) {
  CardFront front;
  front.failed = own ? 0 : 1;
  if (!own) write_text(front, own.error().message);
  std::memcpy(card_of(context_->layout().place()), &front, sizeof front);
  HOCKET_CHECK(exchange(call));
  for (std::int32_t place = 0; place < context_->layout().size(); ++place) {
    if (front_of(place).failed == 0) continue;
    failed_on_all_ = true;
    return fail(ErrorKind::peer, "{}", front_of(place).text.data());
  }
  return {};
}

}  // namespace hocket
