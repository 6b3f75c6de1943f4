// Collectives on the machine: who reads what, and when the results arrive.
#include <fmt/format.h>

#include <algorithm>

#include "support/interpreter_machine.h"

namespace hocket::interpreter {

namespace {

const CommSpec& comm_of(const Invocation& call) { return *call.spec->effects.comm; }

// The form that copies its input into a symmetric buffer first: (buffer, input, …).
bool copies_to_buffer(std::string_view base) {
  return base == "one_shot_all_reduce_copy" || base == "one_shot_all_reduce_copy_out";
}

const Item& data_item(const Invocation& call) {
  const std::size_t position = copies_to_buffer(base_name(call.op)) ? 1 : 0;
  if (position >= call.args.size()) throw Halt("has nothing to communicate");
  return call.args[position];
}

// The tensors of an item, by number.
void append_tensors(const Item& item, std::vector<std::size_t>& tensors) {
  if (item.is(Item::Kind::tensor)) tensors.push_back(item.tensor);
  for (const Item& element : item.elements) append_tensors(element, tensors);
}

std::vector<std::size_t> tensors_of(const Item& item) {
  std::vector<std::size_t> tensors;
  append_tensors(item, tensors);
  return tensors;
}

bool only_moves(const CommSpec& comm) {
  return comm.kind == CollectiveKind::all_gather || comm.kind == CollectiveKind::all_to_all ||
         comm.kind == CollectiveKind::broadcast;
}

Reduce reduce_of(const Invocation& call) {
  const int position = comm_of(call).reduce_arg;
  const Item* name = position >= 0 && static_cast<std::size_t>(position) < call.args.size()
                         ? &call.args[static_cast<std::size_t>(position)]
                         : nullptr;
  const auto reduce = name == nullptr ? std::optional(Reduce::sum) : reduce_from_name(name->text);
  if (!reduce) throw Halt(fmt::format("unknown reduce operation '{}'", name->text));
  return *reduce;
}

std::int64_t integer_arg(const Invocation& call, std::size_t position) {
  if (position >= call.args.size() || !call.args[position].is(Item::Kind::integer))
    throw Halt(fmt::format("argument {} is no integer", position));
  return call.args[position].integer;
}

Sizes splits(const Invocation& call, std::size_t position, std::int64_t rows, std::size_t members) {
  Sizes sizes;
  if (position < call.args.size()) {
    for (const Item& element : call.args[position].elements) sizes.push_back(element.integer);
  }
  if (sizes.empty()) sizes.assign(members, rows / static_cast<std::int64_t>(members));
  if (sizes.size() != members) throw Halt(fmt::format("has {} split sizes in a group of {}", sizes.size(), members));
  return sizes;
}

}  // namespace

const Members& Machine::members(const Invocation& call, std::size_t rank) const {
  const auto position = static_cast<std::size_t>(comm_of(call).group_arg);
  if (comm_of(call).group_arg < 0 || position >= call.args.size() || !call.args[position].is(Item::Kind::ignored) ||
      call.args[position].integer >= static_cast<std::int64_t>(groups_.size()))
    throw Halt("names no group");
  if (groups_[static_cast<std::size_t>(call.args[position].integer)][rank].empty())
    throw Halt("communicates in a group without ranks");
  return groups_[static_cast<std::size_t>(call.args[position].integer)][rank];
}

std::vector<Place> Machine::targets_of_collective(const Invocation& call) const {
  if (!call.results.empty()) return call.results;
  const Effects& effects = call.spec->effects;
  std::vector<Place> places;
  if (effects.alias == Alias::out) {
    for (const auto& [key, item] : call.keywords) {
      if (key == "out") append_places(call, item, places);
    }
  } else if (effects.alias_arg < call.args.size()) {
    append_places(call, call.args[effects.alias_arg], places);
  }
  return places;
}

std::vector<Word> Machine::exchanged(const Invocation& call, std::span<const Tensor> given, std::size_t rank) const {
  const Exchange exchange{given, members(call, rank), static_cast<int>(rank)};
  const std::size_t size = exchange.members.size();
  switch (comm_of(call).kind) {
    case CollectiveKind::all_reduce: return interpreter::all_reduce(exchange, reduce_of(call));
    case CollectiveKind::all_gather:
      return base_name(call.op) == "all_gather_along"
                 ? all_gather_along(exchange, wrapped_dim(integer_arg(call, 1), given[rank].shape.size()))
                 : interpreter::all_gather(exchange);
    case CollectiveKind::reduce_scatter:
      return base_name(call.op) == "reduce_scatter_along"
                 ? reduce_scatter_along(exchange, reduce_of(call),
                                        wrapped_dim(integer_arg(call, 2), given[rank].shape.size()))
                 : interpreter::reduce_scatter(exchange, reduce_of(call));
    case CollectiveKind::broadcast: return interpreter::broadcast(exchange, integer_arg(call, 1));
    case CollectiveKind::all_to_all: {
      const Sizes& shape = given[rank].shape;
      if (base_name(call.op) == "shard_dim_alltoall" || base_name(call.op) == "all_to_all_along")
        return shard_dim_all_to_all(exchange, wrapped_dim(integer_arg(call, 1), shape.size()),
                                    wrapped_dim(integer_arg(call, 2), shape.size()));
      const std::int64_t rows = shape.empty() ? 0 : shape[0];
      const std::vector<Sizes> sent(ranks_.size(), splits(call, 2, rows, size));
      return interpreter::all_to_all(exchange, sent, splits(call, 1, rows, size));
    }
    case CollectiveKind::p2p: break;
  }
  throw Halt(fmt::format("{} is no collective", call.op), ErrorKind::internal);
}

// What an all-to-all of hocket's own puts behind what comes: (…, …, …, group, tail).
void Machine::append_tail(const Invocation& call, std::size_t rank, std::vector<Word>& words) {
  constexpr std::size_t position = 4;
  if (comm_of(call).kind != CollectiveKind::all_to_all || call.args.size() <= position) return;
  for (const std::size_t tensor : tensors_of(call.args[position])) {
    const Tensor tail = Reader(*this, rank, call).read(tensor, true);
    words.insert(words.end(), tail.words.begin(), tail.words.end());
  }
}

Machine::Delivery Machine::exchange(const Invocation& call) {
  Delivery delivery{targets_of_collective(call), {}};
  delivery.words.resize(ranks_.size());
  const std::vector<std::size_t> tensors = tensors_of(data_item(call));
  if (tensors.size() != delivery.places.size())
    throw Halt(fmt::format("communicates {} tensors, but has {} results", tensors.size(), delivery.places.size()));
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    std::vector<Tensor> given;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      given.push_back(Reader(*this, rank, call).read(tensors[k], only_moves(comm_of(call))));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      delivery.words[rank].push_back(exchanged(call, given, rank));
      append_tail(call, rank, delivery.words[rank].back());
      if (static_cast<std::int64_t>(delivery.words[rank].back().size()) != delivery.places[k].layout.count())
        throw Halt(fmt::format("gives {} elements, but the program says {}", delivery.words[rank].back().size(),
                               delivery.places[k].layout.count()));
    }
  }
  return delivery;
}

// Kernels that compute and communicate at once: a hash of all that the members gave.
Machine::Delivery Machine::hashed_exchange(const Invocation& invocation) {
  Delivery delivery{targets_of_collective(invocation), {}};
  std::vector<Word> given;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    Reader reader(*this, rank, invocation);
    Call call;
    call.op = base_name(invocation.op);
    call.args = invocation.args;
    call.keywords = invocation.keywords;
    call.reader = &reader;
    given.push_back(hash_of(call));
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Members& group = members(invocation, rank);
    Word hash = static_cast<Word>(std::find(group.begin(), group.end(), static_cast<int>(rank)) - group.begin());
    for (const int member : group) hash = mixed(hash, given[static_cast<std::size_t>(member)]);
    delivery.words.emplace_back();
    for (std::size_t k = 0; k < delivery.places.size(); ++k) {
      delivery.words[rank].emplace_back();
      for (std::int64_t i = 0; i < delivery.places[k].layout.count(); ++i)
        delivery.words[rank][k].push_back(as_element(mixed(mixed(hash, k), static_cast<Word>(i))));
    }
  }
  return delivery;
}

// A captured rank's sends and receives pair up with those of peers that run something else. What is sent is an effect; what is
// received depends on the peer, the tag, and how many messages came before.
Machine::Delivery Machine::send_and_receive(const Invocation& call) {
  Delivery delivery{targets_of_collective(call), {}};
  const bool batch = base_name(call.op) == "batch_p2p_ops";
  const auto element = [&](std::size_t position, std::size_t k) -> const Item& {
    const Item& item = call.args.at(position);
    return batch ? item.elements.at(k) : item;
  };
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    delivery.words.emplace_back();
    const std::vector<std::size_t> tensors = tensors_of(call.args.at(batch ? 3 : 0));
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const std::int64_t peer = element(1, k).integer;
      const std::int64_t tag = element(2, k).integer;
      const bool sends = batch ? element(0, k).text == "isend" : base_name(call.op) == "isend";
      Word hash = mixed(mixed(sends ? 1 : 2, static_cast<Word>(peer)), static_cast<Word>(tag));
      if (sends) {
        for (const Word word : Reader(*this, rank, call).read(tensors[k], false).words) hash = mixed(hash, word);
        ranks_[rank].effects.push_back(as_element(hash));
      } else {
        hash = mixed(mixed(mixed(hash, options_.seed), rank), ++ranks_[rank].received[{peer, tag}]);
      }
      if (k >= delivery.places.size()) continue;
      const Place& place = delivery.places[k];
      const bool kept = sends && batch && place == call.tensors[tensors[k]];  // a send changes nothing
      delivery.words[rank].emplace_back(kept ? peek(rank, place) : std::vector<Word>());
      for (std::int64_t i = 0; i < place.layout.count() && !kept; ++i)
        delivery.words[rank].back().push_back(as_element(mixed(hash, static_cast<Word>(i))));
    }
  }
  return delivery;
}

// Arguments that a kernel writes beside its result: the symmetric copy of its input, or scratch space.
void Machine::write_scratch(const Invocation& call) {
  const std::vector<Place> targets = targets_of_collective(call);
  for (const Place& place : mutated_places(call)) {
    if (std::find(targets.begin(), targets.end(), place) != targets.end()) continue;
    if (!copies_to_buffer(base_name(call.op))) {
      poison_memory(place, PoisonKind::unwritten, new_origin(std::string(call.name)));
      continue;
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Tensor input = Reader(*this, rank, call).read(tensors_of(data_item(call)).at(0), true);
      std::vector<Word> words = peek(rank, place);
      if (words.size() < input.words.size()) throw Halt("its buffer is too small");
      std::copy(input.words.begin(), input.words.end(), words.begin());
      write(rank, call.name, place, words);
    }
  }
}

void Machine::communicate(const Invocation& call) {
  const CommSpec& comm = comm_of(call);
  const bool fused = call.spec->effects.gemm;
  Delivery delivery = comm.kind == CollectiveKind::p2p ? send_and_receive(call)
                      : fused                          ? hashed_exchange(call)
                                                       : exchange(call);
  if (comm.blocking) write_scratch(call);
  if (!comm.blocking) return take_off(call, std::move(delivery));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (std::size_t k = 0; k < delivery.places.size(); ++k)
      write(rank, call.name, delivery.places[k], delivery.words[rank][k]);
  }
}

// From the start to the wait: the results are poison, and everything that the collective reads or writes is watched.
void Machine::take_off(const Invocation& call, Delivery delivery) {
  Flight flight;
  flight.name = call.name;
  flight.places = delivery.places;
  flight.words = std::move(delivery.words);
  const std::uint32_t origin = new_origin(flight.name);
  for (const Place& place : flight.places) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) object_to_write(rank, place);
  }
  for (const Place& place : flight.places) poison_memory(place, PoisonKind::in_flight, origin);
  flight.watched = flight.places;
  for (const std::size_t tensor : tensors_of(
           call.args.at(comm_of(call).kind == CollectiveKind::p2p && base_name(call.op) == "batch_p2p_ops" ? 3 : 0)))
    flight.watched.push_back(call.tensors[tensor]);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    flight.seen.emplace_back();
    for (const Place& place : flight.watched) flight.seen[rank].push_back(peek(rank, place));
  }
  flights_[call.id] = std::move(flight);
}

void Machine::start_input(std::string_view name, std::size_t id, const Place& place) {
  Flight flight;
  flight.name = fmt::format("the communication that input {} comes from", name);
  flight.places = flight.watched = {place};
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) flight.words.push_back({peek(rank, place)});
  poison_memory(place, PoisonKind::in_flight, new_origin(flight.name));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) flight.seen.push_back({peek(rank, place)});
  flights_[id] = std::move(flight);
}

void Machine::wait(std::size_t id, const Place& awaited) {
  const auto found = flights_.find(id);
  if (found == flights_.end()) {
    if (options_.strict) throw Halt("waits for a collective that has not started");
    return;
  }
  Flight& flight = found->second;
  const bool is_result =
      awaited.layout.count() == 0 ||
      std::any_of(flight.places.begin(), flight.places.end(), [&](const Place& place) { return meet(place, awaited); });
  if (options_.strict && !is_result)
    throw Halt(fmt::format("waits for {}, but its argument is no result of that", flight.name));
  if (flight.landed) return;  // a wait for another of its results came before
  flight.landed = true;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    bool disturbed = false;
    for (std::size_t k = 0; k < flight.watched.size(); ++k)
      disturbed = disturbed || peek(rank, flight.watched[k]) != flight.seen[rank][k];
    if (disturbed && options_.strict)
      throw Halt(
          fmt::format("waits for {}, but what that reads or writes was written while it was in flight", flight.name));
    for (std::size_t k = 0; k < flight.places.size(); ++k) {
      if (disturbed) {
        for (Word& word : flight.words[rank][k]) word = as_element(mixed(word, options_.seed));
      }
      trace(rank, flight.name, flight.words[rank][k]);
      memory(rank, flight.places[k]).write(flight.places[k].layout, flight.words[rank][k]);
    }
  }
}

}  // namespace hocket::interpreter
