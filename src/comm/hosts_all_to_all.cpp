#include <cstring>

#include "comm/hosts_copying.h"
#include "comm/parts.h"

namespace hocket {

namespace {

// Elements to or from each place, and where they lie.
struct Shares {
  Shares(const std::vector<std::int64_t>& splits, std::int64_t equal, std::int32_t ranks) {
    std::int64_t at = 0;
    for (std::int32_t place = 0; place < ranks; ++place) {
      counts.push_back(splits.empty() ? equal : splits[static_cast<std::size_t>(place)]);
      starts.push_back(at);
      at += counts.back();
    }
    total = at;
  }
  std::int64_t count(std::int32_t place) const { return counts[static_cast<std::size_t>(place)]; }
  std::int64_t start(std::int32_t place) const { return starts[static_cast<std::size_t>(place)]; }
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> starts;
  std::int64_t total = 0;
};

// Tells every rank how much it will get, and hears whether that is what it expects.
Status compare_counts(HostsContext& context, const GroupCall& call, const Shares& sends, const Shares& gets) {
  const HostsLayout& layout = context.layout();
  std::vector<std::int64_t> announced(gets.counts.size());
  std::vector<RequestHandle> requests;
  for (std::int32_t place = 0; place < layout.size(); ++place) {
    const auto at = static_cast<std::size_t>(place);
    if (place == layout.place()) continue;
    HOCKET_CHECK(context.receive(requests, reinterpret_cast<std::byte*>(&announced[at]), sizeof(std::int64_t), place,
                                 tag_counts));
    HOCKET_CHECK(context.send(requests, reinterpret_cast<const std::byte*>(&sends.counts[at]), sizeof(std::int64_t),
                              place, tag_counts));
  }
  HOCKET_CHECK(context.wait(requests, call));
  for (std::int32_t place = 0; place < layout.size(); ++place) {
    const std::int64_t there = announced[static_cast<std::size_t>(place)];
    if (place == layout.place() || there == gets.count(place)) continue;
    return fail(ErrorKind::peer, "rank {} sends {} elements to rank {}, which expects {}, in {}",
                context.rank_of(place), there, context.rank_of(layout.place()), gets.count(place), call.to_string());
  }
  return {};
}

// The shares of this host's ranks as one stretch of memory: where they lie, if that is one, or a copy.
class LocalShares {
 public:
  LocalShares(const HostsLayout& layout, const Shares& shares, std::byte* data, std::int64_t size)
      : layout_(&layout), shares_(&shares), data_(data), size_(size) {
    std::int64_t total = 0;
    for (const std::int32_t place : layout.locals()) {
      splits.push_back(shares.count(place));
      total += shares.count(place);
    }
    if (!layout.locals_are_neighbours()) copy_.resize(static_cast<std::size_t>(total * size));
  }
  std::byte* data() {
    return layout_->locals_are_neighbours() ? data_ + shares_->start(layout_->locals().front()) * size_ : copy_.data();
  }
  void pack() {
    each_copied([](std::byte* copy, std::byte* own, std::size_t bytes) { std::memcpy(copy, own, bytes); });
  }
  void unpack() {
    each_copied([](std::byte* copy, std::byte* own, std::size_t bytes) { std::memcpy(own, copy, bytes); });
  }
  std::vector<std::int64_t> splits;

 private:
  template <class Move>
  void each_copied(const Move& move) {
    if (layout_->locals_are_neighbours()) return;
    std::byte* copy = copy_.data();
    for (const std::int32_t place : layout_->locals()) {
      const std::int64_t bytes = shares_->count(place) * size_;
      if (bytes > 0) move(copy, data_ + shares_->start(place) * size_, static_cast<std::size_t>(bytes));
      copy += bytes;
    }
  }
  const HostsLayout* layout_;
  const Shares* shares_;
  std::byte* data_;
  std::int64_t size_;
  std::vector<std::byte> copy_;
};

Status run_locally(HostsContext& context, const GroupCall& call, LocalShares sends, LocalShares gets) {
  sends.pack();
  GroupCall own;
  own.op = Operator::all_to_all;
  own.dtype = call.dtype;
  own.first = {sends.data(), gets.data(), 0};
  own.input_splits = sends.splits;
  own.output_splits = gets.splits;
  HOCKET_CHECK(context.run_local(std::move(own), call));
  gets.unpack();
  return {};
}

}  // namespace

Status hosts_all_to_all(HostsContext& context, Greeting& greeting, const GroupCall& call) {
  const HostsLayout& layout = context.layout();
  const std::int64_t size = size_of(call.dtype);
  const Shares sends(call.input_splits, call.count, layout.size());
  const Shares gets(call.output_splits, call.count, layout.size());
  if (greeting.anyone_has_splits()) {
    HOCKET_CHECK(greeting.agree(call, compare_counts(context, call, sends, gets)));
  }
  auto* output = static_cast<std::byte*>(call.first.output);
  auto* input = const_cast<std::byte*>(static_cast<const std::byte*>(call.first.input));  // only read
  std::vector<std::byte> copy;
  if (input == output && input != nullptr) {  // what comes would overwrite what is still to go
    copy.assign(input, input + sends.total * size);
    input = copy.data();
  }
  std::vector<RequestHandle> requests;
  for (std::int32_t step = 1; step < layout.size(); ++step) {
    const std::int32_t from = (layout.place() + layout.size() - step) % layout.size();
    const std::int32_t to = (layout.place() + step) % layout.size();  // another one for each rank
    if (layout.host_of(from) != layout.host()) {
      HOCKET_CHECK(
          context.receive(requests, output + gets.start(from) * size, gets.count(from) * size, from, tag_data));
    }
    if (layout.host_of(to) != layout.host()) {
      HOCKET_CHECK(context.send(requests, input + sends.start(to) * size, sends.count(to) * size, to, tag_data));
    }
  }
  HOCKET_CHECK(run_locally(context, call, {layout, sends, input, size}, {layout, gets, output, size}));
  return context.wait(requests, call);
}

}  // namespace hocket
