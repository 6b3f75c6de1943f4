// Program text: readable, diffable, complete. parse(print(p)) == p. docs/program-text.md describes it.
//
//   graph @step(%x: f32[64,1024], %w: f32[1024,1024]) {
//     %h = aten.mm(%x, %w) : f32[64,1024]
//     return %h
//   }
#pragma once

#include <string>
#include <string_view>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

struct PrintOptions {
  bool facts = true;  // what a capture measured ({est=…, flops=…}); without it the text is for people only
};

std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print(const Program& program, const PrintOptions& options = {});

// Errors stand at file:line:column and show the line with a caret. Uses may come before definitions: verify() judges that.
Result<Graph> parse_graph(std::string_view text, const std::string& file, const OpTable& table = OpTable::builtin());
Result<Program> parse_program(std::string_view text, const std::string& file,
                              const OpTable& table = OpTable::builtin());

// Does a text begin like a program (of steps) rather than like a graph?
bool looks_like_program(std::string_view text);

}  // namespace hocket
