// Runs graphs and programs of one rank over terms instead of numbers: every operator is a function that nothing is known about, so
// a result tells which operators made it of what, in which order, to the byte. Two runs that end in the same terms compute
// the same, whatever the operators do. Copies and waits are the identity; all forms of an all-reduce are one function.
//
//   EXPECT_EQ(run_terms(graph).results, run_terms(lowered.program).results);
//
// Programs run in the memory that they were planned into: a buffer that is reused too early shows. Communication reads its inputs
// when it starts and gives its results at its wait; what changes in between is a problem.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

using Term = std::uint64_t;
using Terms = std::vector<Term>;  // one for each byte

struct TermsRun {
  std::vector<Terms> results;
  std::map<std::string, Terms> inputs;  // what the inputs hold at the end, by buffer
  std::vector<std::string> problems;
};

namespace terms {

inline Term mix(Term a, Term b) {
  Term mixed = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9;
  return mixed ^ mixed >> 31;
}
inline Term of_text(std::string_view text) {
  Term term = text.size();
  for (const char c : text) term = mix(term, static_cast<unsigned char>(c));
  return term;
}
inline Term of_terms(const Terms& bytes) {
  Term term = bytes.size();
  for (const Term byte : bytes) term = mix(term, byte);
  return term;
}
inline Terms made_of(Term seed, std::size_t bytes) {
  Terms made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = mix(seed, i);
  return made;
}

// Calls visit(byte offset) for every byte of a tensor, in the order of its elements. Sizes are static.
template <class Visit>
void for_each_byte(const TypeView& type, Visit&& visit) {
  std::vector<std::int64_t> at(type.shape.size(), 0);
  const std::int64_t size = size_of(type.dtype);
  for (const Dim dim : type.shape) {
    if (dim.value() == 0) return;
  }
  for (;;) {
    std::int64_t element = type.offset.value();
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * type.strides[d].value();
    for (std::int64_t byte = 0; byte < size; ++byte) visit(static_cast<std::size_t>(element * size + byte));
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == type.shape[d - 1].value()) at[--d] = 0;
    if (d == 0) return;
  }
}

inline Terms load(const Term* memory, const TypeView& type) {
  Terms bytes;
  for_each_byte(type, [&](std::size_t at) { bytes.push_back(memory[at]); });
  return bytes;
}
inline void store(Term* memory, const TypeView& type, const Terms& bytes) {
  std::size_t next = 0;
  for_each_byte(type, [&](std::size_t at) { memory[at] = bytes[next++]; });
}
inline std::size_t count(const TypeView& type) {
  std::size_t bytes = 0;
  for_each_byte(type, [&](std::size_t) { ++bytes; });
  return bytes;
}

// What an operator is, apart from where it puts its results.
inline std::string function_of(std::string_view op) {
  std::string name(op);
  if (name.find("all_reduce") != std::string::npos && name.find("coalesced") == std::string::npos) return "all_reduce";
  if (name.starts_with("_c10d_functional.") && name.ends_with("_.default")) name.erase(name.size() - 9, 1);
  return name;
}
inline bool is_identity(std::string_view op) { return op == "aten.clone.default"; }

// A call as a term: the function, its literals, and what `value` says of the tensors and numbers among its arguments.
template <class Value>
Term of_arg(const ArgPool& pool, const Arg& arg, Value& value) {
  Term term = static_cast<Term>(arg.kind());
  switch (arg.kind()) {
    case ArgKind::value: return value(arg);
    case ArgKind::list:
    case ArgKind::dict:
      for (const Arg& element : pool.elements(arg)) term = mix(term, of_arg(pool, element, value));
      return term;
    case ArgKind::string:
    case ArgKind::device:
    case ArgKind::layout:
    case ArgKind::memory_format:
    case ArgKind::json: return mix(term, of_text(pool.text(arg)));
    case ArgKind::real: return mix(term, std::bit_cast<Term>(arg.as_real()));
    case ArgKind::none: return term;
    case ArgKind::group: return mix(term, arg.as_group().value);
    case ArgKind::dtype: return mix(term, static_cast<Term>(arg.as_dtype()));
    default: return mix(term, static_cast<Term>(arg.as_integer()));
  }
}
template <class Value>
Term of_call(const ArgPool& pool, std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords,
             Value value) {
  Term term = of_text(function_of(op));
  for (const Arg& arg : args) term = mix(term, of_arg(pool, arg, value));
  for (const Keyword& keyword : keywords) {
    const std::string_view key = pool.strings[keyword.key];
    if (key == "out") continue;  // only written
    term = mix(mix(term, of_text(key)), of_arg(pool, keyword.value, value));
  }
  return term;
}

}  // namespace terms

class GraphTerms {
 public:
  explicit GraphTerms(const Graph& graph) : graph_(graph), numbers_(graph.size()), cells_(graph.size()) {
    for (const Storage& storage : graph.storages()) {
      const Term seed = terms::of_text(graph.name(storage.allocated_by));
      memory_.push_back(terms::made_of(seed, static_cast<std::size_t>(storage.bytes.value())));
    }
  }

  TermsRun run() {
    TermsRun run;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      if (graph_.node(id).kind == NodeKind::op) execute(id);
      if (graph_.node(id).kind != NodeKind::output) continue;
      for (const Arg& arg : graph_.args(id)) {
        graph_.pool().for_each_value(arg, [&](const Arg& value) {
          for (const Output& output : graph_.outputs(value.as_node())) run.results.push_back(load(output));
          if (graph_.outputs(value.as_node()).empty()) run.results.push_back(cells_[value.as_node().index()]);
        });
      }
    }
    for (const Storage& storage : graph_.storages()) {
      if (graph_.node(storage.allocated_by).kind != NodeKind::op)
        run.inputs[std::string(graph_.name(storage.allocated_by))] =
            memory_[static_cast<std::size_t>(&storage - graph_.storages().data())];
    }
    return run;
  }

 private:
  Terms load(const Output& output) const {
    return terms::load(memory_[output.storage.index()].data(), graph_.type(output));
  }
  void store(const Output& output, const Terms& bytes) {
    terms::store(memory_[output.storage.index()].data(), graph_.type(output), bytes);
  }
  bool is_new(NodeId id, const Output& output) const { return graph_.storage(output.storage).allocated_by == id; }

  void execute(NodeId id) {
    const OpSpec* spec = graph_.op_spec(id);
    if (spec != nullptr && spec->effects.waits) return;
    std::vector<Output> writes;
    for (const Output& output : graph_.outputs(id)) {
      const bool looks = graph_.mutates(id).empty() && !is_new(id, output);
      if (!looks) writes.push_back(output);
    }
    for (const NodeId mutated : graph_.mutates(id)) {
      for (const Output& output : graph_.outputs(mutated)) {
        if (std::none_of(writes.begin(), writes.end(), [&](const Output& w) {
              return w.storage == output.storage && w.type == output.type && w.offset == output.offset;
            }))
          writes.push_back(output);
      }
    }
    if (terms::is_identity(graph_.op_name(id))) return store(writes[0], load(graph_.outputs(graph_.inputs(id)[0])[0]));
    const Term call =
        terms::of_call(graph_.pool(), graph_.op_name(id), graph_.args(id), graph_.keywords(id), [&](const Arg& arg) {
          const NodeId node = arg.as_node();
          Term term = numbers_[node.index()];
          for (const Output& output : graph_.outputs(node)) term = terms::mix(term, terms::of_terms(load(output)));
          return term;
        });
    for (std::size_t k = 0; k < writes.size(); ++k)
      store(writes[k], terms::made_of(terms::mix(call, k), terms::count(graph_.type(writes[k]))));
    if (!graph_.outputs(id).empty()) return;
    cells_[id.index()] = terms::made_of(terms::mix(call, writes.size()), 8);
    // a number that follows from sizes is the number itself
    const auto known = spec != nullptr && follows_from_sizes(id) ? graph_.integer(id) : std::nullopt;
    numbers_[id.index()] =
        known ? terms::mix(static_cast<Term>(ArgKind::integer), static_cast<Term>(*known)) : cells_[id.index()][0];
  }

  bool follows_from_sizes(NodeId id) const {
    if (graph_.op_spec(id)->metadata_only) return true;
    const auto inputs = graph_.inputs(id);
    return std::all_of(inputs.begin(), inputs.end(), [&](NodeId input) {
      return graph_.outputs(input).empty() && graph_.op_spec(input) != nullptr && follows_from_sizes(input);
    });
  }

  const Graph& graph_;
  std::vector<Terms> memory_;
  std::vector<Term> numbers_;  // by node, as an argument; 0 for tensors
  std::vector<Terms> cells_;   // by node, as a result
};

class ProgramTerms {
 public:
  explicit ProgramTerms(const Program& program) : program_(program), flights_(program.size()) {
    for (std::size_t i = 0; i < program.buffers().size(); ++i) {
      const Buffer& buffer = program.buffer(BufferId(i));
      const auto bytes = static_cast<std::size_t>(buffer.bytes.value());
      const bool planned = buffer.placed_at >= 0;
      auto& arena = planned ? arenas_[{buffer.home, buffer.group.value, buffer.device.value}]
                            : own_[static_cast<std::uint32_t>(i)];
      const std::size_t begin = planned ? static_cast<std::size_t>(buffer.placed_at) : 0;
      arena.resize(std::max(arena.size(), begin + bytes));
      if (!planned) arena = terms::made_of(terms::of_text(program.name(BufferId(i))), bytes);
    }
  }

  TermsRun run() {
    for (std::size_t i = 0; i < program_.size(); ++i) execute(StepId(i));
    for (const OperandId result : program_.results()) run_.results.push_back(load(result));
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) {
      const Home home = program_.buffer(BufferId(i)).home;
      if (home == Home::input || home == Home::constant)
        run_.inputs[std::string(program_.name(BufferId(i)))] = own_[static_cast<std::uint32_t>(i)];
    }
    return std::move(run_);
  }

 private:
  struct Flight {
    std::vector<std::pair<OperandId, Terms>> reads;    // what must not change before the wait
    std::vector<std::pair<OperandId, Terms>> results;  // what is there after it
    std::vector<Terms> poison;                         // what is there until then
  };

  Term* address(OperandId operand) {
    const BufferId id = program_.operand(operand).buffer;
    const Buffer& buffer = program_.buffer(id);
    if (buffer.placed_at < 0) return own_[id.value].data();
    return arenas_[{buffer.home, buffer.group.value, buffer.device.value}].data() + buffer.placed_at;
  }
  Terms load(OperandId operand) { return terms::load(address(operand), program_.type(operand)); }
  void store(OperandId operand, const Terms& bytes) { terms::store(address(operand), program_.type(operand), bytes); }

  void execute(StepId id) {
    const OpSpec* spec = program_.op_spec(id);
    if (program_.step(id).waits_for.valid()) return land(id);
    if (spec != nullptr && spec->effects.waits) return;
    const auto writes = program_.writes(id);
    if (terms::is_identity(program_.op_name(id))) return store(writes[0], load(program_.reads(id)[0]));
    const Term call = terms::of_call(
        program_.pool(), program_.op_name(id), program_.args(id), program_.keywords(id), [&](const Arg& arg) {
          const Terms bytes = load(arg.as_operand());
          return program_.is_number(arg.as_operand()) ? bytes[0] : terms::mix(0, terms::of_terms(bytes));
        });
    Flight flight;
    for (std::size_t k = 0; k < writes.size(); ++k) {
      Terms made = terms::made_of(terms::mix(call, k), terms::count(program_.type(writes[k])));
      flight.results.emplace_back(writes[k], std::move(made));
    }
    const bool flies =
        program_.collective(id) != nullptr && !(spec != nullptr && spec->effects.comm && spec->effects.comm->blocking);
    if (flies) return take_off(id, std::move(flight));
    for (const auto& [operand, bytes] : flight.results) store(operand, bytes);
  }

  void take_off(StepId id, Flight flight) {
    for (const OperandId operand : program_.reads(id)) {
      const auto writes = program_.writes(id);
      const bool also_written = std::any_of(writes.begin(), writes.end(), [&](OperandId written) {
        return program_.operand(written).buffer == program_.operand(operand).buffer;
      });
      if (!also_written) flight.reads.emplace_back(operand, load(operand));
    }
    for (const auto& [operand, bytes] : flight.results) {
      flight.poison.push_back(terms::made_of(terms::mix(id.value, 0xdead), bytes.size()));
      store(operand, flight.poison.back());
    }
    flights_[id.index()] = std::move(flight);
  }

  void land(StepId wait) {
    Flight flight = std::exchange(flights_[program_.step(wait).waits_for.index()], {});
    const std::string name(program_.name(program_.step(wait).waits_for));
    for (const auto& [operand, bytes] : flight.reads) {
      if (load(operand) != bytes) run_.problems.push_back("what " + name + " reads changed before its wait");
    }
    for (std::size_t k = 0; k < flight.results.size(); ++k) {
      if (load(flight.results[k].first) != flight.poison[k])
        run_.problems.push_back("what " + name + " writes changed before its wait");
    }
    for (const auto& [operand, bytes] : flight.results) store(operand, bytes);
  }

  const Program& program_;
  std::map<std::tuple<Home, std::uint32_t, std::uint32_t>, Terms> arenas_;  // home, group, device
  std::map<std::uint32_t, Terms> own_;                                      // by buffer
  std::vector<Flight> flights_;                                             // by step
  TermsRun run_;
};

inline TermsRun run_terms(const Graph& graph) { return GraphTerms(graph).run(); }
inline TermsRun run_terms(const Program& program) { return ProgramTerms(program).run(); }

// Only sizes that are numbers can be run.
inline bool has_static_sizes(const Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const Output& output : graph.outputs(NodeId(i))) {
      const TypeView type = graph.type(output);
      if (!all_static(type.shape) || !all_static(type.strides) || !type.offset.is_static()) return false;
    }
  }
  return true;
}

}  // namespace hocket
