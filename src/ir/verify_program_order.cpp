// Does another order of a program's steps compute the same? Every byte of every buffer must see the same writes in the same order, and
// between them the same reads. A collective reads and writes from its start to its wait.
#include <algorithm>
#include <limits>

#include "hocket/ir/verify.h"

namespace hocket {

namespace {

class ProgramOrderVerifier {
 public:
  ProgramOrderVerifier(const Program& program, std::span<const StepId> order, const OrderOptions& options)
      : program_(program), order_(order), options_(options), symbols_(program.symbols()) {}

  std::vector<Problem> run() {
    if (!is_permutation()) return std::move(problems_);
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const StepId awaited = program_.step(StepId(i)).waits_for;
      if (awaited.valid() && position_[awaited.index()] >= position_[i])
        report(StepId(i), ProblemKind::order, "waits before {} starts", program_.name(awaited));
    }
    check_buffers();
    check_sequences();
    return std::move(problems_);
  }

 private:
  // One step's hold of a range of a buffer. It lasts from `first` to `last`: two steps for a collective and its wait.
  struct Access {
    std::int64_t begin, end;
    StepId first, last;
    bool writes;
  };

  template <class... Args>
  void report(StepId id, ProblemKind kind, fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back({kind, std::string(program_.name(id)), fmt::format(format, std::forward<Args>(args)...)});
  }

  bool is_permutation() {
    position_.assign(program_.size(), absent);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      if (order_[p].index() >= program_.size()) {
        problems_.push_back(
            {ProblemKind::order, "",
             fmt::format("position {} names step {}, but there are {}", p, order_[p].value, program_.size())});
      } else if (position_[order_[p].index()] != absent) {
        report(order_[p], ProblemKind::order, "stands at positions {} and {}", position_[order_[p].index()], p);
      } else {
        position_[order_[p].index()] = p;
      }
    }
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (position_[i] == absent) report(StepId(i), ProblemKind::order, "is missing from the order");
    }
    return problems_.empty();
  }

  void check_buffers() {
    std::vector<StepId> wait_of(program_.size());  // the last one
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const StepId awaited = program_.step(StepId(i)).waits_for;
      if (awaited.valid()) wait_of[awaited.index()] = StepId(i);
    }
    std::vector<std::vector<Access>> accesses(program_.buffers().size());
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const StepId id(i);
      const StepId last = wait_of[i].valid() ? wait_of[i] : id;
      const auto add = [&](OperandId operand_id, bool writes) {
        const Operand& operand = program_.operand(operand_id);
        const auto [begin, end] = range_of(operand);
        if (begin < end) accesses[operand.buffer.index()].push_back({begin, end, id, last, writes});
      };
      for (const OperandId operand : program_.reads(id)) add(operand, false);
      for (const OperandId operand : program_.writes(id)) add(operand, true);
    }
    for (std::size_t b = 0; b < accesses.size(); ++b) check_accesses(BufferId(b), accesses[b]);
  }

  std::pair<std::int64_t, std::int64_t> range_of(const Operand& operand) {
    TypeView type = program_.type(operand.type);
    type.offset = operand.offset;
    const auto end = extent_bytes(type, symbols_);
    if (!end || !end->is_static() || !operand.offset.is_static()) return {0, std::numeric_limits<std::int64_t>::max()};
    return {operand.offset.value() * size_of(type.dtype), end->value()};
  }

  // Cuts the buffer where ranges begin and end, and looks at each piece by itself.
  void check_accesses(BufferId buffer, const std::vector<Access>& accesses) {
    if (std::none_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.writes; })) return;
    std::vector<std::int64_t> cuts;
    for (const Access& access : accesses) cuts.insert(cuts.end(), {access.begin, access.end});
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<std::vector<const Access*>> pieces(cuts.size());
    for (const Access& access : accesses) {
      auto piece = std::lower_bound(cuts.begin(), cuts.end(), access.begin) - cuts.begin();
      for (; cuts[static_cast<std::size_t>(piece)] < access.end; ++piece)
        pieces[static_cast<std::size_t>(piece)].push_back(&access);
    }
    for (const auto& piece : pieces) {
      if (!check_piece(buffer, piece)) return;  // one problem for each buffer says enough
    }
  }

  // Accesses in their old order: each must end before the next that conflicts with it begins, in the new order too.
  bool check_piece(BufferId buffer, const std::vector<const Access*>& piece) {
    const Access* writer = nullptr;
    const Access* latest = nullptr;  // of those since the last write, the one that ends last in the new order
    const auto follows = [&](const Access* later, const Access* earlier) {
      if (earlier == nullptr || earlier->first == later->first || later->first == earlier->last) return true;
      if (position_[later->first.index()] > position_[earlier->last.index()]) return true;
      // The wait itself may take the operand of its collective as an argument.
      if (program_.step(later->first).waits_for == earlier->first &&
          position_[later->first.index()] > position_[earlier->first.index()])
        return true;
      // In the old order they overlapped in time too: nothing that this order adds.
      if (later->first.index() < earlier->last.index()) return true;
      report(later->first, ProblemKind::order, "and {} changed places, and one of them writes %{}",
             program_.name(earlier->first), program_.name(buffer));
      return false;
    };
    for (const Access* access : piece) {
      if (!follows(access, writer)) return false;
      if (access->writes) {
        if (!follows(access, latest)) return false;
        writer = access;
        latest = nullptr;
      } else if (latest == nullptr || position_[access->last.index()] > position_[latest->last.index()]) {
        latest = access;
      }
    }
    return true;
  }

  // Side effects keep their order, opaque operators keep their place among all, collectives of a group keep theirs.
  void check_sequences() {
    StepId last_effect, last_barrier, highest;
    std::vector<StepId> last_of_group(program_.groups().size());
    const auto keep = [&](StepId& last, StepId id, std::string_view why) {
      if (last.valid() && position_[id.index()] < position_[last.index()])
        report(id, ProblemKind::order, "and {} changed places, and {}", program_.name(last), why);
      last = id;
    };
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const StepId id(i);
      const OpSpec* spec = program_.op_spec(id);
      if (last_barrier.valid() && position_[i] < position_[last_barrier.index()])
        report(id, ProblemKind::order, "moved before {}, whose effects are not known", program_.name(last_barrier));
      if (spec == nullptr || spec->effects.opaque) {
        if (highest.valid() && position_[highest.index()] > position_[i])
          report(highest, ProblemKind::order, "moved behind {}, whose effects are not known", program_.name(id));
        last_barrier = id;
      }
      if (!highest.valid() || position_[i] > position_[highest.index()]) highest = id;
      if (spec != nullptr && spec->effects.side_effect) keep(last_effect, id, "both have effects beyond their results");
      const Collective* collective = program_.collective(id);
      if (collective != nullptr && options_.keep_collective_order)
        keep(last_of_group[collective->group.index()], id,
             fmt::format("both communicate on @{}", program_.group(collective->group).name));
    }
  }

  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  const Program& program_;
  std::span<const StepId> order_;
  const OrderOptions options_;
  SymbolTable symbols_;
  std::vector<std::size_t> position_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> verify_order(const Program& program, std::span<const StepId> order, const OrderOptions& options) {
  return ProgramOrderVerifier(program, order, options).run();
}

}  // namespace hocket
