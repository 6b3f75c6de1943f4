// Nodes of a Graph and steps of a Program as reports show them.
#pragma once

#include <string>

#include "cost/calls.h"
#include "hocket/compile/pass.h"

namespace hocket {

inline GraphCalls calls_of(const Graph& graph) { return GraphCalls(graph); }
inline ProgramCalls calls_of(const Program& program) { return ProgramCalls(program); }

// "f32[64,1024], f32[1024,8] -> f32[64,8]".
std::string shapes_of(GraphCalls& calls, std::size_t step);
std::string shapes_of(ProgramCalls& calls, std::size_t step);
// What it reads and writes; of communication: what goes in and comes out.
Bytes bytes_of(GraphCalls& calls, std::size_t step);
Bytes bytes_of(ProgramCalls& calls, std::size_t step);

}  // namespace hocket
