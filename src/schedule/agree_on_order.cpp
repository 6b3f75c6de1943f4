// All ranks hold their orders against each other.
//
// Most programs are one program for all ranks, whose groups are rows and columns of a mesh. Then every rank comes to the k-th event
// at the same group as all ranks of that group, and waits only for what all of them have begun before: nobody can get stuck. To see
// that it is so, a digest of the events and the ranks of the groups are enough. Only where it is not so do the ranks exchange their
// orders in full, and everyone looks for itself how far all of them would get.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "hocket/schedule/collective_order.h"

namespace hocket {

namespace {

using Numbers = std::vector<std::int64_t>;

std::string canonical_name(std::vector<Rank> ranks) {
  std::ranges::sort(ranks);
  std::string name = "[";
  for (const Rank rank : ranks) name += fmt::format("{}{}", name.size() > 1 ? "," : "", rank.value);
  return name + "]";
}

// The order with its groups named by their ranks, so that groups that communicate through the same queue are one, and with a wait at
// the end for all that nothing else waits for: the memory is used again only after that.
RankOrder canonical(const RankOrder& order) {
  RankOrder result;
  result.rank = order.rank;
  std::map<std::string, std::string> name_of_group;
  std::map<std::string, std::size_t> issued;
  std::map<std::pair<std::string, std::size_t>, std::size_t> place;  // of a collective, among the events
  for (const Group& group : order.groups) {
    const std::string name = name_of_group[group.name] = canonical_name(group.ranks);
    const bool known = std::ranges::any_of(result.groups, [&](const Group& one) { return one.name == name; });
    if (!known) result.groups.push_back({name, group.ranks});
  }
  std::vector<bool> awaited(order.events.size(), false);
  for (const CommunicationEvent& event : order.events) {
    CommunicationEvent renamed = event;
    renamed.group = name_of_group.at(event.group);
    const std::pair key(event.group, event.sequence);
    if (event.waits) {
      renamed.sequence = result.events[place.at(key)].sequence;
      awaited[place.at(key)] = true;
    } else {
      renamed.sequence = issued[renamed.group]++;
      place[key] = result.events.size();
    }
    result.events.push_back(std::move(renamed));
  }
  for (std::size_t i = 0; i < order.events.size(); ++i) {
    if (result.events[i].waits || awaited[i]) continue;
    CommunicationEvent last = result.events[i];
    last.waits = true;
    result.events.push_back(std::move(last));
  }
  return result;
}

std::size_t number_of(const RankOrder& order, const std::string& group) {
  const auto found = std::ranges::find(order.groups, group, &Group::name);
  return static_cast<std::size_t>(found - order.groups.begin());
}

void add_groups(Numbers& numbers, const RankOrder& order) {
  numbers.push_back(static_cast<std::int64_t>(order.groups.size()));
  for (const Group& group : order.groups) {
    numbers.push_back(static_cast<std::int64_t>(group.ranks.size()));
    for (const Rank rank : group.ranks) numbers.push_back(rank.value);
  }
}

// A digest of the events, with groups by their numbers, then the groups.
Numbers summary_of(const RankOrder& order) {
  Digester digester;
  for (const CommunicationEvent& event : order.events) {
    const bool same_sizes = event.kind != CollectiveKind::all_to_all;
    digester.add(std::int64_t{event.waits}).add(static_cast<std::int64_t>(number_of(order, event.group)));
    digester.add(static_cast<std::int64_t>(event.sequence)).add(static_cast<std::int64_t>(event.kind));
    digester.add(same_sizes ? event.bytes_in.count : 0);
  }
  const Digest digest = digester.finish();
  Numbers numbers = {std::bit_cast<std::int64_t>(digest.high), std::bit_cast<std::int64_t>(digest.low)};
  add_groups(numbers, order);
  return numbers;
}

// Takes numbers of a list from the front. What another rank sent is not trusted to be whole.
class Reader {
 public:
  explicit Reader(std::span<const std::int64_t> numbers) : left_(numbers) {}

  std::int64_t next() {
    if (left_.empty()) {
      whole_ = false;
      return 0;
    }
    const std::int64_t number = left_.front();
    left_ = left_.subspan(1);
    return number;
  }
  // A number of things that follow, each of one number or more.
  std::size_t count() {
    const std::int64_t number = next();
    if (number < 0 || static_cast<std::size_t>(number) > left_.size()) whole_ = false;
    return whole_ ? static_cast<std::size_t>(number) : 0;
  }
  std::vector<Group> groups() {
    std::vector<Group> groups(count());
    for (Group& group : groups) {
      group.ranks.resize(count());
      for (Rank& rank : group.ranks) rank.value = static_cast<std::int32_t>(next());
      group.name = canonical_name(group.ranks);
    }
    return groups;
  }
  bool whole() const { return whole_; }

 private:
  std::span<const std::int64_t> left_;
  bool whole_ = true;
};

tl::unexpected<Error> not_an_order(std::size_t rank) {
  return fail(ErrorKind::peer, "rank {} sent no order of collectives: it takes part in another agreement", rank);
}

// Does every rank of every group have it under the same number, in the same order of events?
Result<bool> is_one_program(const std::vector<Numbers>& summaries) {
  bool one = true;
  std::vector<std::vector<Group>> groups;
  for (std::size_t rank = 0; rank < summaries.size(); ++rank) {
    Reader reader(summaries[rank]);
    const std::int64_t high = reader.next();
    const std::int64_t low = reader.next();
    groups.push_back(reader.groups());
    if (!reader.whole()) return not_an_order(rank);
    one = one && high == summaries[0][0] && low == summaries[0][1] && groups[rank].size() == groups[0].size();
  }
  for (std::size_t rank = 0; one && rank < groups.size(); ++rank) {
    for (std::size_t number = 0; number < groups[rank].size(); ++number) {
      const Group& group = groups[rank][number];
      const auto has_it = [&](Rank member) {
        const auto index = static_cast<std::size_t>(member.value);
        return index < groups.size() && groups[index][number].name == group.name;
      };
      one = one && std::ranges::find(group.ranks, static_cast<std::int32_t>(rank), &Rank::value) != group.ranks.end();
      one = one && std::ranges::all_of(group.ranks, has_it);
    }
  }
  return one;
}

// The whole order: the groups, then for each event what it is, its size, and its name as bytes.
Numbers packed(const RankOrder& order) {
  Numbers numbers;
  add_groups(numbers, order);
  numbers.push_back(static_cast<std::int64_t>(order.events.size()));
  for (const CommunicationEvent& event : order.events) {
    numbers.push_back(event.waits ? 1 : 0);
    numbers.push_back(static_cast<std::int64_t>(number_of(order, event.group)));
    numbers.push_back(static_cast<std::int64_t>(event.sequence));
    numbers.push_back(static_cast<std::int64_t>(event.kind));
    numbers.push_back(event.bytes_in.count);
    numbers.push_back(static_cast<std::int64_t>(event.name.size()));
    for (const char letter : event.name) numbers.push_back(letter);
  }
  return numbers;
}

Result<RankOrder> unpacked(const Numbers& numbers, std::size_t rank) {
  RankOrder order;
  order.rank.value = static_cast<std::int32_t>(rank);
  Reader reader(numbers);
  order.groups = reader.groups();
  order.events.resize(reader.count());
  for (CommunicationEvent& event : order.events) {
    event.waits = reader.next() != 0;
    const auto group = static_cast<std::size_t>(reader.next());
    if (group >= order.groups.size()) return not_an_order(rank);
    event.group = order.groups[group].name;
    event.sequence = static_cast<std::size_t>(reader.next());
    const std::int64_t kind = reader.next();
    if (kind < 0 || kind > static_cast<std::int64_t>(CollectiveKind::p2p)) return not_an_order(rank);
    event.kind = static_cast<CollectiveKind>(kind);
    event.bytes_in = Bytes(reader.next());
    event.name.resize(reader.count());
    for (char& letter : event.name) letter = static_cast<char>(reader.next());
  }
  if (!reader.whole()) return not_an_order(rank);
  return order;
}

}  // namespace

Status agree_on_order(const RankOrder& mine, AllGather& all) {
  const RankOrder order = canonical(mine);
  HOCKET_TRY(const std::vector<Numbers> summaries, all.gather(summary_of(order)));
  HOCKET_TRY(const bool is_one, is_one_program(summaries));
  if (is_one) return {};
  HOCKET_TRY(const std::vector<Numbers> gathered, all.gather(packed(order)));
  std::vector<RankOrder> orders;
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    HOCKET_TRY(RankOrder one, unpacked(gathered[rank], rank));
    orders.push_back(std::move(one));
  }
  HOCKET_CHECK(check_collective_order(orders));
  if (const auto stuck = find_cyclic_wait(orders))
    return fail(ErrorKind::input, "the ranks would wait for each other for ever: {}", stuck->to_string());
  return {};
}

}  // namespace hocket
