// The pipelines that the random tests run, and what they run them on.
#pragma once

#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "hocket/compile/compile.h"
#include "support/random.h"

namespace hocket {

// One list for each pass, with the options that change what it does, and lists as users would put them together.
const std::vector<std::string>& graph_pipelines();
const std::vector<std::string>& program_pipelines();

// Some passes over graphs, `lower`, some over programs, `plan` among them: what moves after it makes it void, so it comes last again.
std::vector<PassCall> random_pipeline(const PassRegistry& registry, Random& random);

// How many programs a test takes. Thread sanitizer is twenty times as slow, and passes over one program are one thread: what it can find,
// few of them show.
constexpr std::uint64_t programs(std::uint64_t usual) { return under_thread_sanitizer ? usual / 10 : usual; }

// All shapes of graphs in turn, so that each pass finds what it is for.
Graph small_graph(std::uint64_t seed);

}  // namespace hocket
