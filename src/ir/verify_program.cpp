#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "hocket/ir/verify.h"
#include "ir/verify_groups.h"

namespace hocket {

namespace {

// Bytes of a buffer that an operand reaches.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool meets(const Span& other) const { return begin < other.end && other.begin < end; }
};

class ProgramVerifier {
 public:
  explicit ProgramVerifier(const Program& program) : program_(program), values_(program), symbols_(program.symbols()) {}

  std::vector<Problem> run() {
    verify_groups(program_.groups(), -1, problems_);
    check_names();
    check_buffers();
    const std::size_t buffers = program_.buffers().size();
    written_.assign(buffers, false);
    flights_.resize(buffers);
    first_touch_.assign(buffers, untouched);
    last_touch_.assign(buffers, 0);
    waited_.assign(program_.size(), false);
    for (std::size_t i = 0; i < buffers; ++i) {
      const Home home = program_.buffer(BufferId(i)).home;
      written_[i] = home == Home::input || home == Home::constant;
    }
    for (std::size_t i = 0; i < program_.size(); ++i) {
      id_ = StepId(i);
      check_operands();
      check_types();
      check_collective();
      check_accesses();
    }
    check_results();
    for (std::size_t i = 0; i < program_.size(); ++i) {
      id_ = StepId(i);
      if (flies(id_) && !waited_[i]) report(ProblemKind::wait, "its communication is never waited for");
    }
    check_placement();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void report(ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    const std::string where = id_.valid() ? std::string(program_.name(id_)) : std::string();
    problems_.push_back({kind, where, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void report_buffer(BufferId id, ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back({kind, "%" + std::string(program_.name(id)), fmt::format(format, std::forward<Args>(args)...)});
  }

  void check_names() {
    std::unordered_map<std::string_view, std::size_t> steps;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      id_ = StepId(i);
      const auto [entry, is_new] = steps.try_emplace(program_.name(id_), i);
      if (!is_new) report(ProblemKind::name, "steps {} and {} have this name", entry->second, i);
      if (program_.name(id_).empty()) report(ProblemKind::name, "step {} has no name", i);
    }
    id_ = StepId::none();
    std::unordered_map<std::string_view, std::size_t> buffers;
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) {
      if (!buffers.try_emplace(program_.name(BufferId(i)), i).second)
        report_buffer(BufferId(i), ProblemKind::name, "two buffers have this name");
    }
  }

  void check_buffers() {
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      if (buffer.home == Home::symmetric && buffer.group.index() >= program_.groups().size()) {
        report_buffer(BufferId(i), ProblemKind::group, "is symmetric, but of no group");
      }
      if (buffer.placed_at >= 0 && (buffer.home == Home::input || buffer.home == Home::constant)) {
        report_buffer(BufferId(i), ProblemKind::memory, "has a place in an arena, but its home is {}",
                      name_of(buffer.home));
      }
    }
  }

  // --- one step

  Span span_of(OperandId id) {
    const TypeView type = program_.type(id);
    const auto extent = extent_bytes(type, symbols_);
    if (!extent || !extent->is_static() || !type.offset.is_static())
      return {0, std::numeric_limits<std::int64_t>::max()};
    if (extent->value() == 0) return {};
    return {type.offset.value() * size_of(type.dtype), extent->value()};
  }
  std::string_view buffer_name(OperandId id) const { return program_.name(program_.operand(id).buffer); }

  void check_operands() {
    for (const auto list : {program_.reads(id_), program_.writes(id_)}) {
      for (const OperandId operand : list) {
        const Dim bytes = program_.buffer(program_.operand(operand).buffer).bytes;
        const auto extent = extent_bytes(program_.type(operand), symbols_);
        if (!extent) report(ProblemKind::storage, "an operand in %{} is larger than 2^60 bytes", buffer_name(operand));
        else if (extent->is_static() && bytes.is_static() && extent->value() > bytes.value()) {
          report(ProblemKind::storage, "reaches {} bytes into %{}, which has {}", extent->value(), buffer_name(operand),
                 bytes.value());
        }
      }
    }
    for (const OperandId operand : program_.writes(id_)) {
      if (program_.buffer(program_.operand(operand).buffer).home == Home::constant) {
        report(ProblemKind::mutation, "writes %{}, which is constant", buffer_name(operand));
      }
    }
    check_declared_operands();
  }

  bool same_place(OperandId a, OperandId b) const {
    return program_.operand(a).buffer == program_.operand(b).buffer &&
           program_.operand(a).type == program_.operand(b).type &&
           program_.operand(a).offset == program_.operand(b).offset;
  }

  // What the arguments name must be declared as read, and what the operator's row writes as written.
  void check_declared_operands() {
    const OpSpec* spec = program_.op_spec(id_);
    const auto among = [&](std::span<const OperandId> list, OperandId wanted) {
      return std::any_of(list.begin(), list.end(), [&](OperandId one) { return same_place(one, wanted); });
    };
    const auto args = program_.args(id_);
    for (std::size_t i = 0; i < args.size(); ++i) {
      program_.pool().for_each_value(args[i], [&](const Arg& value) {
        const OperandId operand = value.as_operand();
        if (!among(program_.reads(id_), operand))
          report(ProblemKind::structure, "takes %{}, but does not declare to read it", buffer_name(operand));
        const bool written = spec != nullptr && i < 32 && (spec->effects.mutates >> i & 1U) != 0;
        if (written && !among(program_.writes(id_), operand))
          report(ProblemKind::mutation, "{} writes %{}, but that is not declared", spec->name, buffer_name(operand));
      });
    }
    for (const Keyword& keyword : program_.keywords(id_)) {
      const bool is_out = spec != nullptr && spec->effects.mutates_out && program_.pool().strings[keyword.key] == "out";
      program_.pool().for_each_value(keyword.value, [&](const Arg& value) {
        const OperandId operand = value.as_operand();
        if (is_out && !among(program_.writes(id_), operand))
          report(ProblemKind::mutation, "{} writes %{}, but that is not declared", spec->name, buffer_name(operand));
        if (!is_out && !among(program_.reads(id_), operand))
          report(ProblemKind::structure, "takes %{}, but does not declare to read it", buffer_name(operand));
      });
    }
  }

  void check_types() {
    const OpSpec* spec = program_.op_spec(id_);
    if (spec == nullptr || spec->shape == nullptr) return;
    const Call call(program_.pool(), program_.args(id_), program_.keywords(id_), values_, symbols_);
    const auto inferred = spec->shape(call);
    if (!inferred) {
      if (!is_cannot_infer(inferred.error())) report(ProblemKind::type, "{}", inferred.error().message);
      return;
    }
    if (spec->effects.waits && program_.writes(id_).empty()) return;  // a wait gives nothing new
    const auto writes = program_.writes(id_);
    if (writes.size() < inferred->size()) {
      report(ProblemKind::type, "writes {} tensors, but {} gives {}", writes.size(), spec->name, inferred->size());
      return;
    }
    for (std::size_t k = 0; k < inferred->size(); ++k) {
      const TypeView have = program_.type(writes[k]);
      const InferredType& want = (*inferred)[k];
      if (have.dtype != want.dtype || !std::ranges::equal(have.shape, want.shape.dims)) {
        report(ProblemKind::type, "writes {}, but {} gives {}", describe(have, symbols_, false), spec->name,
               describe({want.dtype, want.shape.dims, want.strides.dims, want.offset}, symbols_, false));
      }
    }
  }

  void check_collective() {
    const OpSpec* spec = program_.op_spec(id_);
    const Collective* have = program_.collective(id_);
    if (spec == nullptr) return;
    const auto& comm = spec->effects.comm;
    if (!comm || comm->group_arg < 0) {
      if (have != nullptr && !comm)
        report(ProblemKind::collective, "is said to communicate, but {} does not", spec->name);
      return;
    }
    const auto args = program_.args(id_);
    const auto position = static_cast<std::size_t>(comm->group_arg);
    if (position >= args.size() || !args[position].is(ArgKind::group)) {
      report(ProblemKind::collective, "argument {} of {} is no group", position, spec->name);
    } else if (have == nullptr) {
      report(ProblemKind::collective, "{} communicates, but nothing is said about it", spec->name);
    } else if (have->kind != comm->kind || have->group != args[position].as_group()) {
      report(ProblemKind::collective, "is said to be {} on @{}, but is {} on @{}", name_of(have->kind),
             program_.group(have->group).name, name_of(comm->kind), program_.group(args[position].as_group()).name);
    }
    for (const auto list : {program_.reads(id_), program_.writes(id_)}) {
      for (const OperandId operand : list) {
        const Buffer& buffer = program_.buffer(program_.operand(operand).buffer);
        if (have != nullptr && buffer.home == Home::symmetric && buffer.group.valid() && buffer.group != have->group) {
          report(ProblemKind::group, "communicates on @{}, but %{} is symmetric in @{}",
                 program_.group(have->group).name, buffer_name(operand), program_.group(buffer.group).name);
        }
      }
    }
  }

  // --- data in flight

  bool flies(StepId id) const { return program_.collective(id) != nullptr && !is_blocking(program_.op_spec(id)); }

  struct Flight {
    StepId step;
    Span span;
    bool writes = false;
  };

  void touch(BufferId buffer, std::size_t when) {
    std::size_t& first = first_touch_[buffer.index()];
    if (first == untouched) first = when;
    last_touch_[buffer.index()] = std::max(last_touch_[buffer.index()], when);
  }

  void check_accesses() {
    const std::size_t when = id_.index();
    const OpSpec* spec = program_.op_spec(id_);
    const bool is_wait = spec != nullptr && spec->effects.waits;
    const StepId awaited = program_.step(id_).waits_for;
    if (awaited.valid()) land(awaited);
    else if (is_wait && !touches_only_inputs()) report(ProblemKind::wait, "is a wait, but does not say for which step");
    if (awaited.valid() && is_wait) {
      // a wait names the result that it completes; it reads nothing else
      for (const auto list : {program_.reads(id_), program_.writes(id_)}) {
        for (const OperandId operand : list) {
          if (!writes_to(awaited, operand))
            report(ProblemKind::wait, "waits for {}, which does not write %{}", program_.name(awaited),
                   buffer_name(operand));
          touch(program_.operand(operand).buffer, when);
        }
      }
      return;
    }
    for (const OperandId operand : program_.reads(id_)) {
      const BufferId buffer = program_.operand(operand).buffer;
      if (!written_[buffer.index()])
        report(ProblemKind::order, "reads %{}, which nothing has written yet", buffer_name(operand));
      for (const Flight& flight : flights_[buffer.index()]) {
        const bool reads_data = spec == nullptr || !spec->metadata_only;
        if (reads_data && flight.writes && flight.span.meets(span_of(operand))) {
          report(ProblemKind::wait, "reads %{} before {} is waited for", buffer_name(operand),
                 program_.name(flight.step));
        }
      }
      touch(buffer, when);
    }
    for (const OperandId operand : program_.writes(id_)) {
      const BufferId buffer = program_.operand(operand).buffer;
      for (const Flight& flight : flights_[buffer.index()]) {
        if (flight.span.meets(span_of(operand))) {
          report(flight.writes ? ProblemKind::wait : ProblemKind::mutation, "writes %{} while {} is in flight",
                 buffer_name(operand), program_.name(flight.step));
        }
      }
      written_[buffer.index()] = true;
      touch(buffer, when);
    }
    if (!flies(id_)) return;
    for (const OperandId operand : program_.reads(id_))
      flights_[program_.operand(operand).buffer.index()].push_back({id_, span_of(operand), false});
    for (const OperandId operand : program_.writes(id_))
      flights_[program_.operand(operand).buffer.index()].push_back({id_, span_of(operand), true});
  }

  // A wait for a communication that was started outside, on a tensor that came in flight.
  bool touches_only_inputs() const {
    const auto reads = program_.reads(id_);
    return !reads.empty() && std::all_of(reads.begin(), reads.end(), [&](OperandId operand) {
      return program_.buffer(program_.operand(operand).buffer).home == Home::input;
    });
  }

  bool writes_to(StepId step, OperandId operand) {
    const auto written = program_.writes(step);
    return std::any_of(written.begin(), written.end(), [&](OperandId one) {
      // a tensor without elements meets none, but may be named
      return same_place(one, operand) ||
             (program_.operand(one).buffer == program_.operand(operand).buffer && span_of(one).meets(span_of(operand)));
    });
  }

  void land(StepId awaited) {
    if (awaited.index() >= id_.index()) {
      report(ProblemKind::order, "waits for {}, which does not stand before it", program_.name(awaited));
      return;
    }
    if (!flies(awaited)) {
      report(ProblemKind::wait, "waits for {}, which leaves nothing in flight", program_.name(awaited));
      return;
    }
    waited_[awaited.index()] = true;
    for (const auto list : {program_.reads(awaited), program_.writes(awaited)}) {
      for (const OperandId operand : list) {
        const BufferId buffer = program_.operand(operand).buffer;
        std::erase_if(flights_[buffer.index()], [&](const Flight& flight) { return flight.step == awaited; });
        touch(buffer, id_.index());
      }
    }
  }

  void check_results() {
    id_ = StepId::none();
    for (const OperandId operand : program_.results()) {
      const BufferId buffer = program_.operand(operand).buffer;
      const Dim bytes = program_.buffer(buffer).bytes;
      const auto extent = extent_bytes(program_.type(operand), symbols_);
      if (!extent || (extent->is_static() && bytes.is_static() && extent->value() > bytes.value())) {
        report(ProblemKind::storage, "returns {} bytes of %{}, which has {}",
               extent ? symbols_.to_string(*extent) : "too many", buffer_name(operand), symbols_.to_string(bytes));
      }
      if (!written_[buffer.index()])
        report(ProblemKind::order, "returns %{}, which nothing has written", buffer_name(operand));
      for (const Flight& flight : flights_[buffer.index()]) {
        if (flight.writes)
          report(ProblemKind::wait, "returns %{}, the result of {}, which is not waited for", buffer_name(operand),
                 program_.name(flight.step));
      }
      touch(buffer, program_.size());
    }
  }

  // --- placed buffers: those of one arena that live at the same time have their own bytes

  void check_placement() {
    using Arena = std::tuple<Home, std::uint32_t, std::uint32_t>;  // home, group, device
    struct Event {
      std::size_t when;
      bool opens;
      BufferId buffer;
    };
    std::map<Arena, std::vector<Event>> arenas;
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      const bool planned = buffer.placed_at >= 0 && (buffer.home == Home::arena || buffer.home == Home::symmetric);
      if (!planned || first_touch_[i] == untouched || !buffer.bytes.is_static() || buffer.bytes.value() == 0) continue;
      auto& events = arenas[{buffer.home, buffer.group.value, buffer.device.value}];
      events.push_back({first_touch_[i], true, BufferId(i)});
      events.push_back({last_touch_[i] + 1, false, BufferId(i)});
    }
    for (auto& [arena, events] : arenas) {
      std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return std::tuple(a.when, a.opens) < std::tuple(b.when, b.opens);
      });
      std::map<std::int64_t, BufferId> live;  // by begin; disjoint unless a problem was reported
      for (const Event& event : events) {
        const Buffer& buffer = program_.buffer(event.buffer);
        if (!event.opens) {
          if (const auto found = live.find(buffer.placed_at); found != live.end() && found->second == event.buffer)
            live.erase(found);
          continue;
        }
        const auto end_of = [&](BufferId id) {
          return units::add(program_.buffer(id).placed_at, program_.buffer(id).bytes.value());
        };
        auto next = live.lower_bound(buffer.placed_at);
        if (next != live.end() && next->first < end_of(event.buffer)) overlap(event.buffer, next->second);
        else if (next != live.begin() && end_of(std::prev(next)->second) > buffer.placed_at)
          overlap(event.buffer, std::prev(next)->second);
        live.insert_or_assign(buffer.placed_at, event.buffer);
      }
    }
  }

  void overlap(BufferId a, BufferId b) {
    const auto range = [&](BufferId id) {
      const Buffer& buffer = program_.buffer(id);
      return fmt::format("bytes {} to {}", buffer.placed_at, units::add(buffer.placed_at, buffer.bytes.value()));
    };
    report_buffer(a, ProblemKind::memory, "{} overlap %{} ({}) while both are live", range(a), program_.name(b),
                  range(b));
  }

  static constexpr std::size_t untouched = static_cast<std::size_t>(-1);

  const Program& program_;
  const ProgramValues values_;
  SymbolTable symbols_;
  std::vector<Problem> problems_;
  StepId id_;
  std::vector<bool> written_;                 // by buffer
  std::vector<std::vector<Flight>> flights_;  // by buffer
  std::vector<std::size_t> first_touch_;      // by buffer, in steps
  std::vector<std::size_t> last_touch_;
  std::vector<bool> waited_;  // by step
};

}  // namespace

std::vector<Problem> verify(const Program& program) { return ProgramVerifier(program).run(); }

}  // namespace hocket
