// The programs of tests/programs, which are made for one pass each: what comes out of the pass computes what went in.
#include <gtest/gtest.h>

#include <map>

#include "hocket/compile/compile.h"
#include "hocket/ir/text.h"
#include "support/program_test.h"
#include "support/same_values.h"

namespace hocket {
namespace {

// The interpreter does not resize storages; a parameter that is resized to full and back to nothing is the caller's memory.
bool resizes(const std::string& text) { return text.find("resize_storage_bytes_") != std::string::npos; }

TEST(ProgramTexts, of_a_pass_compute_the_same_before_and_after) {
  const PassRegistry registry = PassRegistry::builtin();
  std::map<std::string, int> changed;
  for (const ProgramTest& test : read_program_tests(HOCKET_TEST_DATA "/../programs")) {
    // The texts for lower are about numbers and unknown operators too, which the interpreter does not model in programs;
    // passes_test.cpp lowers thousands of graphs.
    if (!registry.find(test.run) || test.run == "lower" || test.json || resizes(test.input)) continue;
    SCOPED_TRACE(test.file + ": " + test.name);
    const auto graph = parse_graph(test.input, test.file);
    if (!graph) continue;  // a program of steps, or a text that is wrong on purpose
    CompileOptions options;
    options.passes = {{test.run, {}}};
    options.cost.machine = *find_machine("h100x8");
    options.memory_limit.relative = 10;
    const auto compiled = compile(*graph, options);
    if (!compiled && compiled.error().kind == ErrorKind::input) continue;  // unsound on purpose
    ASSERT_TRUE(compiled) << compiled.error().to_string();
    if (!compiled->runs[0].changed) continue;
    ++changed[test.run];
    EXPECT_TRUE(std::visit([&](const auto& after) { return same_values(*graph, after); }, compiled->subject));
  }
  for (const char* pass :
       {"reinplace_all_gather", "enforce_fsdp_order", "remove_dead_getitems", "fuse_ddp_with_concat",
        "fuse_ddp_with_coalesced", "schedule_comm_wait", "bucket_all_gather", "bucket_reduce_scatter"})
    EXPECT_GT(changed[pass], 0) << pass;
}

}  // namespace
}  // namespace hocket
