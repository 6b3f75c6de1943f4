// Says what hocket decides about a graph and what bits its sums have, as a few lines that must be the same in every process.
//
//   decide_program GRAPH…
//
// On stderr it says where its stack is, so that a test can tell that addresses really differ.
#include <fmt/format.h>

#include <barrier>
#include <clocale>
#include <locale>
#include <thread>

#include "hocket/comm/world.h"
#include "hocket/compile/compile.h"
#include "hocket/ir/file.h"
#include "hocket/ir/text.h"

namespace hocket {
namespace {

// Numbers as they are written in other countries, for all streams that are made from now on.
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void use_locale_of_environment() {
  std::setlocale(LC_ALL, "");
  std::locale::global(std::locale(std::locale::classic(), new Commas));
}

std::string digest_of(const Subject& subject) {
  return std::visit([](const auto& form) { return form.digest().to_string(); }, subject);
}

std::string text_of(const Subject& subject) {
  return std::visit([](const auto& form) { return print(form); }, subject);
}

Status decide(const std::string& path) {
  for (const char* const passes :
       {"remove_dead_getitems,overlap", "bucket_all_gather,bucket_reduce_scatter,raise_comms,sink_waits",
        "reorder_communication_preserving_peak_memory,sink_waits_iterative,lower,plan"}) {
    HOCKET_TRY(Graph graph, read_graph(path));
    CompileOptions options;
    HOCKET_TRY(options.passes, parse_passes(passes));
    HOCKET_TRY(const Compiled compiled, compile(std::move(graph), options));
    std::string reports;
    for (const PassRun& run : compiled.runs) reports += run.report;
    fmt::print("{} {}: {}, text {}, reports {}, {} ps, {} bytes\n", path.substr(path.rfind('/') + 1), passes,
               digest_of(compiled.subject), Digester().add(text_of(compiled.subject)).finish().to_string(),
               Digester().add(reports).finish().to_string(), compiled.after.step_time.picoseconds,
               compiled.after.peak.count);
  }
  return {};
}

// Numbers whose sum depends on the order in which they are added.
float number_of(std::int32_t rank, std::int64_t index) {
  const auto mixed = static_cast<std::uint32_t>(rank * 7919 + index * 104'729) * 2'654'435'761U;
  return static_cast<float>(mixed % 1'000'003U) * (mixed % 3 == 0 ? 1e-7F : 1e3F);
}

Status add_up(std::int32_t ranks, std::int64_t count) {
  HOCKET_TRY(const std::vector<World> worlds, World::threads(ranks));
  std::vector<std::string> said(worlds.size());
  std::vector<std::thread> threads;
  std::barrier all_done(ranks);
  for (std::size_t rank = 0; rank < worlds.size(); ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<float> data(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        data[static_cast<std::size_t>(i)] = number_of(static_cast<std::int32_t>(rank), i);
      const Status status =
          worlds[rank].communicator()->all_reduce(data.data(), data.data(), count, Dtype::f32, ReduceOp::sum).wait();
      const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
      said[rank] = status ? Digester().add(bytes).finish().to_string() : status.error().message;
      all_done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : said) fmt::print("sum of {} over {} ranks: {}\n", count, ranks, one);
  return {};
}

Status run(int argc, char** argv) {
  use_locale_of_environment();
  fmt::print(stderr, "{}\n", static_cast<const void*>(&argc));
  for (int i = 1; i < argc; ++i) HOCKET_CHECK(decide(argv[i]));
  for (const std::int64_t count : {5, 3'000, 120'000}) HOCKET_CHECK(add_up(3, count));
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  const hocket::Status status = hocket::run(argc, argv);
  if (!status) fmt::print("{}\n", status.error().to_string());
  return status ? 0 : 1;
}
