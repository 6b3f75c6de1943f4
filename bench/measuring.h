// What the benchmarks share: graphs of any size, CPU time, figures.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

// An FSDP-shaped graph of about so many nodes, one layer after the other.
Result<Graph> make_graph(std::size_t nodes);

// Captured graphs in a folder, sorted by name; empty where it is absent.
std::vector<std::string> captures_in(const std::string& folder);

// Time of this thread on a core: the work is on one thread and in memory, so that what else runs on the machine does not count.
double elapsed_ms(const std::function<void()>& work);

double lowest(const std::vector<double>& times);

// The options that every benchmark has.
struct BenchFlags {
  bool quick = false;
  bool check = false;
  std::string json;
  std::string captures;

  void add_to(CLI::App& app);
};

// Says what is wrong on stderr; the exit code of a benchmark that could not run.
int complain(std::string_view bench, const Error& error);
// Writes the figures where asked for; with --check prints the points that were missed. The exit code.
int finish(std::string_view bench, const BenchFlags& flags, const std::string& figures,
           const std::vector<std::string>& missed);

}  // namespace hocket
