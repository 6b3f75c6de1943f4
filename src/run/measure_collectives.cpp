#include "hocket/run/measure_collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "hocket/run/all_ranks.h"
#include "run/program_groups.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t element = 4;
const std::vector<std::int64_t> all_sizes = {8 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20};

using Row = std::pair<CollectiveKind, std::int64_t>;  // and the number of ranks

// Elements of one call that moves so many bytes, as the communicator counts.
std::int64_t count_of(CollectiveKind kind, std::int64_t ranks, std::int64_t moved) {
  const bool in_parts = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
  const std::int64_t tensors = in_parts ? ranks + 1 : kind == CollectiveKind::all_to_all ? 2 * ranks : 2;
  return std::max<std::int64_t>(1, moved / (element * tensors));
}

class Measuring {
 public:
  Measuring(Communicator group, const MeasureCollectivesOptions& options, SymmetricBuffer input, SymmetricBuffer output)
      : group_(std::move(group)), options_(options), input_(std::move(input)), output_(std::move(output)) {}

  static Result<Measuring> of(const Communicator& group, const MeasureCollectivesOptions& options) {
    HOCKET_TRY(SymmetricBuffer input, group.allocate(options.largest));
    HOCKET_TRY(SymmetricBuffer output, group.allocate(options.largest));
    std::fill_n(input.data(), options.largest.count, std::byte{});
    std::fill_n(output.data(), options.largest.count, std::byte{});
    return Measuring(group, options, std::move(input), std::move(output));
  }

  // The lower quartile: what else a machine does makes calls slower, nothing makes them faster. How often is decided by the first
  // call of the first rank, so that all ranks call as often.
  Result<double> nanoseconds(CollectiveKind kind, std::int64_t moved) {
    const std::int64_t count = count_of(kind, group_.group().size(), moved);
    HOCKET_CHECK(once(kind, count));
    HOCKET_TRY(const double first, once(kind, count));
    auto times = static_cast<std::int64_t>(std::chrono::duration<double, std::nano>(options_.each).count() / first);
    times = std::clamp<std::int64_t>(times, 1, 200);
    HOCKET_CHECK(group_.broadcast(&times, &times, 1, Dtype::i64, 0, call()).wait());
    std::vector<double> all = {first};
    for (std::int64_t i = 1; i < times; ++i) {
      HOCKET_TRY(const double one, once(kind, count));
      all.push_back(one);
    }
    std::ranges::sort(all);
    return all[all.size() / 4];
  }

 private:
  CallOptions call() const {
    CallOptions options;
    options.timeout = options_.timeout;
    return options;
  }

  Result<double> once(CollectiveKind kind, std::int64_t count) {
    HOCKET_CHECK(group_.barrier(call()).wait());
    const auto start = Clock::now();
    HOCKET_CHECK(begin(kind, count).wait());
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

  Work begin(CollectiveKind kind, std::int64_t count) {
    constexpr Dtype dtype = Dtype::f32;
    std::byte* const input = input_.data();
    std::byte* const output = output_.data();
    switch (kind) {
      case CollectiveKind::all_reduce: return group_.all_reduce(input, input, count, dtype, ReduceOp::avg, call());
      case CollectiveKind::all_gather: return group_.all_gather(input, output, count, dtype, call());
      case CollectiveKind::reduce_scatter:
        return group_.reduce_scatter(input, output, count, dtype, ReduceOp::avg, call());
      case CollectiveKind::all_to_all: return group_.all_to_all(input, output, count, dtype, call());
      case CollectiveKind::broadcast: return group_.broadcast(input, input, count, dtype, 0, call());
      case CollectiveKind::p2p: break;
    }
    return group_.barrier(call());
  }

  Communicator group_;
  const MeasureCollectivesOptions& options_;
  SymmetricBuffer input_, output_;
};

// In the order of the program, which is the same on all ranks.
std::vector<std::pair<GroupId, CollectiveKind>> collectives_of(const Program& program) {
  std::set<std::pair<GroupId, CollectiveKind>> all;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Collective* const collective = program.collective(StepId(i));
    if (collective == nullptr || collective->kind == CollectiveKind::p2p) continue;
    if (program.group(collective->group).ranks.size() > 1) all.emplace(collective->group, collective->kind);
  }
  return {all.begin(), all.end()};
}

// The slowest rank's times, so that all ranks have the same.
Status agree(std::map<Row, std::vector<double>>& rows, const World& world) {
  HOCKET_TRY(const Communicator everybody, world.communicator());
  std::vector<std::int64_t> mine;
  for (const auto& [row, times] : rows) mine.insert(mine.end(), times.begin(), times.end());
  HOCKET_TRY(const auto all, AllRanks(everybody).gather(mine));
  for (const auto& theirs : all) {
    if (theirs.size() == mine.size()) continue;
    return fail(ErrorKind::peer, "one rank measured {} collectives and this one {}: do all run the same program?",
                theirs.size(), mine.size());
  }
  std::size_t at = 0;
  for (auto& [row, times] : rows) {
    for (double& time : times) {
      for (const auto& theirs : all) time = std::max(time, static_cast<double>(theirs[at]));
      ++at;
    }
  }
  return {};
}

}  // namespace

Result<std::optional<CollectiveTable>> measure_collectives(const Program& program, const World& world,
                                                           const MeasureCollectivesOptions& options) {
  std::vector<std::int64_t> sizes = all_sizes;
  std::erase_if(sizes, [&](std::int64_t size) { return size > options.largest.count; });
  HOCKET_TRY(const ProgramGroups groups, ProgramGroups::create(program, world));
  std::map<Row, std::vector<double>> rows;
  std::map<GroupId, Measuring> measuring;  // with the buffers of its group
  for (const auto& [group, kind] : collectives_of(program)) {
    auto found = measuring.find(group);
    if (found == measuring.end()) {
      HOCKET_TRY(Measuring made, Measuring::of(groups.of(group), options));
      found = measuring.emplace(group, std::move(made)).first;
    }
    std::vector<double>& times = rows[{kind, std::ssize(program.group(group).ranks)}];
    times.resize(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      HOCKET_TRY(const double time, found->second.nanoseconds(kind, sizes[i]));
      times[i] = std::max(times[i], time);
    }
  }
  if (rows.empty()) return std::nullopt;
  HOCKET_CHECK(agree(rows, world));
  HOCKET_TRY(CollectiveTable table, CollectiveTable::make(sizes));
  for (auto& [row, times] : rows) HOCKET_CHECK(table.add(row.first, row.second, std::move(times)));
  return table;
}

}  // namespace hocket
