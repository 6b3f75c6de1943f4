#include "support/interpreter_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hocket::interpreter {

namespace {

// Sizes so large that nothing after this could be computed.
void refuse_overflow(const Layout& layout) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t count = 1;
  std::int64_t reach = layout.offset;
  bool fits = reach < most;
  for (std::size_t i = 0; i < layout.shape.size() && fits; ++i) {
    std::int64_t steps = 0;
    fits = !__builtin_mul_overflow(count, std::max<std::int64_t>(layout.shape[i], 1), &count) && count < most &&
           !__builtin_mul_overflow(layout.shape[i], layout.strides[i], &steps) &&
           !__builtin_add_overflow(reach, steps, &reach) && reach < most;
  }
  if (!fits) throw Halt("a tensor is too large to interpret", ErrorKind::usage);
}

}  // namespace

Layout layout_of(const TypeView& type, std::int64_t base) {
  if (!all_static(type.shape) || !all_static(type.strides) || !type.offset.is_static())
    throw Halt("a symbolic size: the interpreter needs numbers", ErrorKind::usage);
  Layout layout{size_of(type.dtype), base, type.offset.value(), {}, {}};
  for (const Dim size : type.shape) layout.shape.push_back(size.value());
  for (const Dim stride : type.strides) layout.strides.push_back(stride.value());
  require(layout.shape.size() == layout.strides.size(), "a tensor with another number of strides than sizes");
  refuse_overflow(layout);
  return layout;
}

Layout whole_layout(std::int64_t bytes, std::int64_t element_bytes) {
  return {element_bytes, 0, 0, {bytes / element_bytes}, {1}};
}

bool meet(const Place& a, const Place& b) {
  if (a.memory != b.memory) return false;
  const auto begin = [](const Place& place) {
    return place.layout.base + place.layout.offset * place.layout.element_bytes;
  };
  return begin(a) < b.layout.end_bytes() && begin(b) < a.layout.end_bytes();
}

void append_places(const Invocation& call, const Item& item, std::vector<Place>& places) {
  if (item.is(Item::Kind::tensor)) places.push_back(call.tensors[item.tensor]);
  for (const Item& element : item.elements) append_places(call, element, places);
}

std::vector<Place> mutated_places(const Invocation& call) {
  if (call.spec == nullptr || call.spec->effects.opaque) return call.mutated;
  std::vector<Place> places;
  for (std::size_t i = 0; i < call.args.size() && i < 32; ++i) {
    if ((call.spec->effects.mutates >> i & 1U) != 0) append_places(call, call.args[i], places);
  }
  for (const auto& [key, item] : call.keywords) {
    if (call.spec->effects.mutates_out && key == "out") append_places(call, item, places);
  }
  return places;
}

// ---- ranks and memories

Machine::Machine(const RunOptions& options, std::span<const Group> groups, std::int64_t world,
                 std::int64_t captured_rank)
    : options_(options), reinterpretations_(std::make_unique<Reinterpretations>()) {
  for (const Group& group : groups) {
    for (const Rank rank : group.ranks) world = std::max<std::int64_t>(world, rank.value + 1);
  }
  world = std::max<std::int64_t>(world, 1);
  if (world > most_ranks)
    throw Halt(fmt::format("a world of {} ranks is too large to interpret, the limit is {}", world, most_ranks),
               ErrorKind::usage);
  for (const Group& group : groups) {
    Members captured;
    for (const Rank rank : group.ranks) captured.push_back(rank.value);
    groups_.push_back(groups_of_ranks(captured, static_cast<int>(captured_rank), static_cast<int>(world)));
  }
  ranks_.resize(static_cast<std::size_t>(world));
  result_.ranks.resize(ranks_.size());
}

std::uint32_t Machine::new_origin(std::string name) {
  origins_.push_back(std::move(name));
  return static_cast<std::uint32_t>(origins_.size() - 1);
}

std::size_t Machine::add_memory(std::string name, std::int64_t bytes, std::int64_t granule) {
  const std::size_t id = memory_names_.size();
  for (RankState& rank : ranks_) rank.memories.emplace_back(bytes, granule, *reinterpretations_);
  const std::int64_t rounded = (bytes + granule - 1) / granule * granule;
  poison_memory({id, whole_layout(rounded, granule)}, PoisonKind::unwritten, new_origin(name));
  memory_names_.push_back(std::move(name));
  return id;
}

std::vector<Word> Machine::given_words(std::size_t rank, std::string_view name, const Place& place) const {
  const Word own = mixed(mixed(options_.seed, rank), name);
  std::vector<Word> words;
  for (std::int64_t i = 0; i < place.layout.count(); ++i)
    words.push_back(options_.given ? options_.given(name, rank, i)
                                   : as_element(mixed(own, static_cast<Word>(i * place.layout.element_bytes))));
  return words;
}

void Machine::fill(std::string_view name, const Place& place) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    memory(rank, place).write(place.layout, given_words(rank, name, place));
}

void Machine::poison_memory(const Place& place, PoisonKind kind, std::uint32_t origin) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Word salt = mixed(options_.seed, rank);
    std::vector<Word> words;
    for (std::int64_t i = 0; i < place.layout.count(); ++i)
      words.push_back(poison(kind, origin, mixed(salt, static_cast<Word>(i))));
    memory(rank, place).write(place.layout, words);
  }
}

void Machine::object_to_write(std::size_t rank, const Place& place) const {
  const Word old = options_.strict ? memory(rank, place).in_flight(place.layout) : 0;
  if (old != 0)
    throw Halt(fmt::format("writes {}, which {} is still writing: wait for that first", memory_names_[place.memory],
                           origins_[poison_origin(old)]));
}

void Machine::trace(std::size_t rank, std::string_view writer, std::span<const Word> words) {
  if (!options_.trace) return;
  Word& hash = result_.ranks[rank].trace[std::string(writer)];
  for (const Word word : words) hash = mixed(hash, is_poison(word) ? unwritten : word);
}

void Machine::write(std::size_t rank, std::string_view writer, const Place& place, std::span<const Word> words) {
  object_to_write(rank, place);
  trace(rank, writer, words);
  memory(rank, place).write(place.layout, words);
}

// ---- reading

Tensor Machine::Reader::read(std::size_t tensor, bool moves_only) {
  const Place& place = call_.tensors[tensor];
  Tensor result{place.layout.shape, machine_.peek(rank_, place)};
  for (Word& word : result.words) {
    if (!is_poison(word)) continue;
    if (machine_.options_.strict) object(word, place, moves_only);
    if (!moves_only) word = without_poison(word);
  }
  return result;
}

void Machine::Reader::object(Word word, const Place& place, bool moves_only) const {
  const std::string& memory = machine_.memory_names_[place.memory];
  if (poison_kind(word) == PoisonKind::in_flight)
    throw Halt(fmt::format("reads {} before {} is waited for", memory, machine_.origins_[poison_origin(word)]));
  if (!moves_only) throw Halt(fmt::format("reads {}, where nothing has been written", memory));
}

// ---- local operators

namespace {

// They change what a tensor is, and nothing that it holds.
bool changes_metadata_only(std::string_view op) {
  static const std::set<std::string_view> names = {
      "aten.squeeze_.default",   "aten.squeeze_.dim", "aten.squeeze_.dims",       "aten.unsqueeze_.default",
      "aten.transpose_.default", "aten.t_.default",   "aten.as_strided_.default", "aten.detach_.default"};
  return names.contains(op);
}

bool changes_storage(std::string_view base) { return base == "set" || base == "resize" || base == "resize_as"; }

bool has_computed_number(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const Item& item) { return item.is(Item::Kind::word) || has_computed_number(item.elements); });
}

}  // namespace

std::vector<Item> Machine::with_numbers(std::size_t rank, const std::vector<Item>& items) const {
  std::vector<Item> filled = items;
  for (Item& item : filled) {
    if (item.is(Item::Kind::word)) {
      const auto known = ranks_[rank].numbers.find(item.tensor);
      item.word = known == ranks_[rank].numbers.end() ? 0 : known->second;
    }
    item.elements = with_numbers(rank, item.elements);
  }
  return filled;
}

void Machine::execute(const Invocation& call) {
  for (const auto* list : {&call.tensors, &call.results}) {
    for (const Place& place : *list) {
      const std::int64_t bytes = ranks_[0].memories[place.memory].bytes();
      if (place.layout.end_bytes() > bytes)
        throw Halt(fmt::format("reaches {} bytes into {}, which has {}", place.layout.end_bytes(),
                               memory_names_[place.memory], bytes));
    }
  }
  // A kernel may write any part of its results before it reads: an argument that lies there is lost.
  for (const Place& result : call.results) {
    const bool shared = std::any_of(call.tensors.begin(), call.tensors.end(),
                                    [&](const Place& tensor) { return meet(tensor, result); });
    if (!shared) continue;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) object_to_write(rank, result);
    poison_memory(result, PoisonKind::unwritten, new_origin(std::string(call.name)));
  }
  if (call.spec != nullptr && call.spec->effects.comm) return communicate(call);
  compute(call);
}

void Machine::compute(const Invocation& call) {
  const std::string_view base = base_name(call.op);
  if (changes_metadata_only(call.op)) return;
  if (call.op == "inductor.resize_storage_bytes_.default") return free_storage(call);
  if (call.op.starts_with("aten.") && changes_storage(base))
    throw Halt(fmt::format("{} gives a tensor other memory, which the interpreter does not model", call.op),
               ErrorKind::usage);
  std::vector<Place> targets = call.results;
  for (const Place& place : mutated_places(call)) targets.push_back(place);
  if (call.spec != nullptr && call.spec->metadata_only) {
    for (const Place& place : targets) poison_memory(place, PoisonKind::unwritten, new_origin(std::string(call.name)));
    return;
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) compute_on(rank, call, targets);
}

void Machine::compute_on(std::size_t rank, const Invocation& invocation, const std::vector<Place>& targets) {
  Reader reader(*this, rank, invocation);
  std::vector<Item> args = invocation.args;
  if (has_computed_number(args)) args = with_numbers(rank, args);
  Call call;
  call.op = base_name(invocation.op);
  call.args = args;
  call.keywords = invocation.keywords;
  call.reader = &reader;
  const bool opaque = invocation.spec == nullptr || invocation.spec->effects.opaque;
  const bool effect = opaque || invocation.spec->effects.side_effect;
  if (effect && !opaque && !targets.empty())
    call.salt = mixed(mixed(options_.seed, rank), ++ranks_[rank].draws);  // it draws random numbers
  if (invocation.makes_number) ranks_[rank].numbers[invocation.id] = as_element(hash_of(call));
  if (opaque || (effect && targets.empty())) ranks_[rank].effects.push_back(as_element(hash_of(call)));
  if (targets.empty()) return;
  for (const Place& place : targets) call.results.push_back({place.layout.shape, {}});
  evaluate(call);
  for (std::size_t k = 0; k < targets.size(); ++k) write(rank, invocation.name, targets[k], call.results[k].words);
}

// FSDP frees an unsharded parameter by resizing it to nothing. What a larger size adds is unwritten already.
void Machine::free_storage(const Invocation& call) {
  const Place& tensor = call.tensors.at(0);
  if (call.args.size() < 2 || call.args[1].integer != 0) return;
  const std::int64_t bytes = ranks_[0].memories[tensor.memory].bytes();
  const Place whole{tensor.memory, whole_layout(bytes, tensor.layout.element_bytes)};
  poison_memory(whole, PoisonKind::unwritten, new_origin(std::string(call.name)));
}

// ---- the end

std::vector<Word> Machine::final_words(std::size_t rank, const Place& place, std::string_view what) const {
  std::vector<Word> words = peek(rank, place);
  for (Word& word : words) {
    if (!is_poison(word)) continue;
    if (poison_kind(word) == PoisonKind::unwritten) word = unwritten;
    else if (options_.strict)
      throw Halt(
          fmt::format("{} holds the result of {}, which is not waited for", what, origins_[poison_origin(word)]));
    else word = without_poison(word);
  }
  return words;
}

void Machine::return_tensor(const Place& place) {
  if (place.layout.end_bytes() > ranks_[0].memories[place.memory].bytes())
    throw Halt(fmt::format("returns {} bytes of {}, which has {}", place.layout.end_bytes(),
                           memory_names_[place.memory], ranks_[0].memories[place.memory].bytes()));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    result_.ranks[rank].results.push_back({place.layout.shape, final_words(rank, place, "a result")});
}

void Machine::return_input(std::string_view name, const Place& place) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    InputResult input{std::string(name), final_words(rank, place, name), false};
    const std::vector<Word> given = given_words(rank, name, place);
    for (std::size_t i = 0; i < given.size(); ++i)
      input.changed = input.changed || (input.words[i] != unwritten && input.words[i] != given[i]);
    result_.ranks[rank].inputs.push_back(std::move(input));
  }
}

RunResult Machine::finish() {
  for (const auto& [id, flight] : flights_) {
    if (!flight.landed) result_.never_waited.push_back(flight.name);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    result_.ranks[rank].effects = std::move(ranks_[rank].effects);
  return std::move(result_);
}

}  // namespace hocket::interpreter
