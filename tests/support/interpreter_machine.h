// The ranks and their memories, and what a call does to them. The graph and program parts of the interpreter feed it calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/ir/op_table.h"
#include "hocket/ir/tables.h"
#include "support/interpreter.h"
#include "support/interpreter_collectives.h"
#include "support/interpreter_memory.h"

namespace hocket::interpreter {

// A tensor in a memory. Every rank has the same memories.
struct Place {
  std::size_t memory = 0;
  Layout layout;
  friend bool operator==(const Place&, const Place&) = default;
};

// Do the bytes from the first to the last of each have some in common?
bool meet(const Place& a, const Place& b);

// A node or step with all that it refers to.
struct Invocation {
  std::size_t id = 0;
  std::string_view name;
  std::string_view op;           // the full name
  const OpSpec* spec = nullptr;  // nullptr: an operator without a row
  std::vector<Item> args;
  std::vector<std::pair<std::string_view, Item>> keywords;
  std::vector<Place> tensors;  // items name them by number
  std::vector<Place> results;  // new ones: no argument is written through them
  std::vector<Place> mutated;  // of an operator without a row, or an opaque one: what it says it writes
  bool makes_number = false;   // results in a number that is not known before the run
};

// All elements of one size that a memory or a buffer of so many bytes has room for.
Layout whole_layout(std::int64_t bytes, std::int64_t element_bytes);

class Machine {
 public:
  Machine(const RunOptions& options, std::span<const Group> groups, std::int64_t world, std::int64_t captured_rank);

  std::size_t world() const { return ranks_.size(); }
  std::size_t add_memory(std::string name, std::int64_t bytes, std::int64_t granule);
  // Gives a memory each rank's own values, the same for the same name, place and seed.
  void fill(std::string_view name, const Place& place);
  // The memory of an input is in flight until something waits for `id`.
  void start_input(std::string_view name, std::size_t id, const Place& place);

  void execute(const Invocation& call);
  // Completes a collective: `id` is its node or step, `awaited` the tensor that the wait names.
  void wait(std::size_t id, const Place& awaited);

  // What is left at the end.
  void return_tensor(const Place& place);
  void return_input(std::string_view name, const Place& place);
  RunResult finish();

 private:
  static constexpr std::int64_t most_ranks = 1024;

  struct RankState {
    std::vector<Memory> memories;
    std::vector<Word> effects;
    std::map<std::size_t, Word> numbers;                             // by node
    std::map<std::pair<std::int64_t, std::int64_t>, Word> received;  // messages so far, by peer and tag
    Word draws = 0;
  };
  struct Flight {
    std::string name;
    std::vector<Place> places;                          // of its results
    std::vector<std::vector<std::vector<Word>>> words;  // by rank and result: what arrives
    std::vector<Place> watched;                         // its inputs and results
    std::vector<std::vector<std::vector<Word>>> seen;   // by rank and watched place: as it was at the start
    bool landed = false;
  };
  // Reads the tensors of a call on one rank.
  class Reader final : public TensorReader {
   public:
    Reader(const Machine& machine, std::size_t rank, const Invocation& call)
        : machine_(machine), rank_(rank), call_(call) {}
    const Sizes& shape(std::size_t tensor) override { return call_.tensors[tensor].layout.shape; }
    Tensor read(std::size_t tensor, bool moves_only) override;

   private:
    void object(Word word, const Place& place, bool moves_only) const;

    const Machine& machine_;
    std::size_t rank_;
    const Invocation& call_;
  };

  std::vector<Word> given_words(std::size_t rank, std::string_view name, const Place& place) const;

  // -- local operators
  void compute(const Invocation& call);
  void compute_on(std::size_t rank, const Invocation& call, const std::vector<Place>& targets);
  void free_storage(const Invocation& call);
  std::vector<Item> with_numbers(std::size_t rank, const std::vector<Item>& items) const;

  // -- collectives
  struct Delivery {
    std::vector<Place> places;                          // where results go
    std::vector<std::vector<std::vector<Word>>> words;  // by rank and place
  };
  void communicate(const Invocation& call);
  Delivery exchange(const Invocation& call);
  Delivery send_and_receive(const Invocation& call);
  Delivery hashed_exchange(const Invocation& call);
  std::vector<Word> exchanged(const Invocation& call, std::span<const Tensor> given, std::size_t rank) const;
  void append_tail(const Invocation& call, std::size_t rank, std::vector<Word>& words);
  std::vector<Place> targets_of_collective(const Invocation& call) const;
  void write_scratch(const Invocation& call);
  void take_off(const Invocation& call, Delivery delivery);
  const Members& members(const Invocation& call, std::size_t rank) const;

  // -- memory
  std::vector<Word> peek(std::size_t rank, const Place& place) const { return memory(rank, place).read(place.layout); }
  void write(std::size_t rank, std::string_view writer, const Place& place, std::span<const Word> words);
  void trace(std::size_t rank, std::string_view writer, std::span<const Word> words);
  void object_to_write(std::size_t rank, const Place& place) const;
  void poison_memory(const Place& place, PoisonKind kind, std::uint32_t origin);
  std::vector<Word> final_words(std::size_t rank, const Place& place, std::string_view what) const;
  Memory& memory(std::size_t rank, const Place& place) { return ranks_[rank].memories[place.memory]; }
  const Memory& memory(std::size_t rank, const Place& place) const { return ranks_[rank].memories[place.memory]; }
  std::uint32_t new_origin(std::string name);

  RunOptions options_;
  std::vector<std::vector<Members>> groups_;  // by group and rank
  std::vector<RankState> ranks_;
  std::vector<std::string> memory_names_;
  std::vector<std::string> origins_;  // of poison
  std::map<std::size_t, Flight> flights_;
  std::unique_ptr<Reinterpretations> reinterpretations_;
  RunResult result_;
};

// The tensors of an item, those of a list in its order.
void append_places(const Invocation& call, const Item& item, std::vector<Place>& places);
// What the operator's row says that the call writes: arguments, and `out`.
std::vector<Place> mutated_places(const Invocation& call);

// An argument as an item. `value_item` answers for values: a tensor, a list or a number.
template <class ValueItem>
Item item_of(const ArgPool& pool, const Arg& arg, ValueItem&& value_item) {
  Item item;
  switch (arg.kind()) {
    case ArgKind::none: return item;
    case ArgKind::boolean:
      item.kind = Item::Kind::boolean;
      item.integer = arg.as_bool() ? 1 : 0;
      return item;
    case ArgKind::integer:
      item.kind = Item::Kind::integer;
      item.integer = arg.as_integer();
      return item;
    case ArgKind::real:
      item.kind = Item::Kind::real;
      item.real = arg.as_real();
      return item;
    case ArgKind::dtype:
      item.kind = Item::Kind::dtype;
      item.integer = static_cast<std::int64_t>(arg.as_dtype());
      return item;
    case ArgKind::string:
    case ArgKind::json:
      item.kind = Item::Kind::text;
      item.text = pool.text(arg);
      return item;
    case ArgKind::value: return value_item(arg);
    case ArgKind::list:
    case ArgKind::dict:
      item.kind = Item::Kind::list;
      for (const Arg& element : pool.elements(arg)) item.elements.push_back(item_of(pool, element, value_item));
      return item;
    case ArgKind::symbolic: throw Halt("a symbolic size: the interpreter needs numbers", ErrorKind::usage);
    case ArgKind::group:
      item.kind = Item::Kind::ignored;
      item.integer = static_cast<std::int64_t>(arg.as_group().value);
      return item;
    default: break;  // where and how a tensor lies is not what it holds
  }
  item.kind = Item::Kind::ignored;
  return item;
}

// A type as a layout, with all sizes known.
Layout layout_of(const TypeView& type, std::int64_t base = 0);

}  // namespace hocket::interpreter
