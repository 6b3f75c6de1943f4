#include "hocket/plan/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "hocket/plan/lifetimes.h"
#include "plan/packing.h"

namespace hocket {

namespace {

// Sums of sizes below this can't overflow anywhere; no machine has a thousandth of it.
constexpr std::int64_t most_bytes = std::int64_t{1} << 61;
constexpr std::int64_t number_alignment = 8;

struct Arena {
  PlannedArena report;
  std::int64_t alignment = 1;
  std::int64_t total = 0;  // of all sizes, rounded up
  std::vector<BufferId> buffers;
  std::vector<Block> blocks;
};

class Planner {
 public:
  Planner(const Program& program, const PlanOptions& options)
      : program_(program), options_(options), places_(program.buffers().size(), -1) {}

  Result<Planned> run() {
    if (options_.alignment <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(options_.alignment)))
      return fail(ErrorKind::usage, "the alignment is {}, expected a power of two such as 64", options_.alignment);
    HOCKET_CHECK(fill_arenas());
    for (Arena& arena : arenas_) place(arena);
    HOCKET_TRY(Program placed, with_places(program_, places_));
    return Planned{std::move(placed), std::move(report_)};
  }

 private:
  Status fill_arenas() {
    const std::vector<Lifetime> lifetimes =
        options_.carry ? lifetimes_of(program_, tail_of(program_)) : lifetimes_of(program_);
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      const Buffer& buffer = program_.buffer(BufferId(i));
      if (buffer.home != Home::arena && buffer.home != Home::symmetric) continue;
      if (!lifetimes[i].is_used()) {
        ++report_.unused;
        continue;
      }
      if (!buffer.bytes.is_static()) {
        ++report_.symbolic;
        continue;
      }
      HOCKET_CHECK(add(BufferId(i), lifetimes[i]));
    }
    return {};
  }

  Status add(BufferId id, const Lifetime& lifetime) {
    const Buffer& buffer = program_.buffer(id);
    Arena& arena = arena_of(buffer);
    const std::int64_t size = units::add(buffer.bytes.value(), arena.alignment - 1) / arena.alignment * arena.alignment;
    arena.total = units::add(arena.total, size);
    if (arena.total > most_bytes) {
      return fail(ErrorKind::input, "the buffers of {}{} have more than 2^61 bytes together; %{} alone has {}",
                  arena.report.group.empty() ? "device " : "group @",
                  arena.report.group.empty() ? arena.report.device : arena.report.group, program_.name(id),
                  buffer.bytes.value());
    }
    ++arena.report.buffers;
    if (size == 0) {
      places_[id.index()] = 0;  // no byte of it is ever touched
      return {};
    }
    arena.buffers.push_back(id);
    arena.blocks.push_back({size, lifetime.first, lifetime.last});
    return {};
  }

  Arena& arena_of(const Buffer& buffer) {
    const auto key = std::tuple(buffer.home, buffer.group.value, buffer.device.value);
    const auto [found, is_new] = by_key_.try_emplace(key, arenas_.size());
    if (is_new) {
      Arena& arena = arenas_.emplace_back();
      arena.report.home = buffer.home;
      arena.report.device = program_.device(buffer.device);
      if (buffer.home == Home::symmetric && buffer.group.index() < program_.groups().size())
        arena.report.group = program_.group(buffer.group).name;
      arena.alignment =
          arena.report.device == host_device ? std::min(number_alignment, options_.alignment) : options_.alignment;
    }
    return arenas_[found->second];
  }

  void place(Arena& arena) {
    const Packing packing = pack(arena.blocks, options_.effort);
    for (std::size_t i = 0; i < arena.buffers.size(); ++i) places_[arena.buffers[i].index()] = packing.offsets[i];
    // The bound counts the bytes themselves, so that what alignment costs shows in the ratio.
    for (std::size_t i = 0; i < arena.buffers.size(); ++i)
      arena.blocks[i].size = program_.buffer(arena.buffers[i]).bytes.value();
    arena.report.size = Bytes(packing.size);
    arena.report.bound = Bytes(packing_bound(arena.blocks));
    report_.arenas.push_back(arena.report);
  }

  const Program& program_;
  const PlanOptions& options_;
  std::vector<std::int64_t> places_;  // by buffer
  std::vector<Arena> arenas_;
  std::map<std::tuple<Home, std::uint32_t, std::uint32_t>, std::size_t> by_key_;  // home, group, device
  PlanReport report_;
};

double ratio_of(Bytes size, Bytes bound) {
  return bound.count == 0 ? 1.0 : static_cast<double>(size.count) / static_cast<double>(bound.count);
}

}  // namespace

Bytes PlanReport::size() const {
  Bytes sum;
  for (const PlannedArena& arena : arenas) sum += arena.size;
  return sum;
}

Bytes PlanReport::bound() const {
  Bytes sum;
  for (const PlannedArena& arena : arenas) sum += arena.bound;
  return sum;
}

double PlanReport::ratio() const { return ratio_of(size(), bound()); }

Result<Planned> plan(const Program& program, const PlanOptions& options) { return Planner(program, options).run(); }

std::string describe(const PlanReport& report) {
  std::string text;
  const auto figures = [](Bytes size, Bytes bound) {
    return fmt::format("{}, lower bound {} (ratio {:.4f})", to_string(size), to_string(bound), ratio_of(size, bound));
  };
  for (const PlannedArena& arena : report.arenas) {
    text += fmt::format("{} on {}: {} buffers in {}\n",
                        arena.group.empty() ? "arena" : fmt::format("symmetric memory of @{}", arena.group),
                        arena.device, arena.buffers, figures(arena.size, arena.bound));
  }
  text += fmt::format("all: {}\n", figures(report.size(), report.bound()));
  if (report.unused > 0) text += fmt::format("{} buffers are never used and have no place\n", report.unused);
  if (report.symbolic > 0)
    text += fmt::format("{} buffers have a size that is known at run time only and have no place\n", report.symbolic);
  return text;
}

}  // namespace hocket
