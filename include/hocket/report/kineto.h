// Traces of PyTorch's profiler (Kineto, Chrome JSON) as measured times.
//
//   HOCKET_TRY(const KinetoTrace trace, read_kineto("trace.json.gz"));       // made with record_shapes=True
//   const KinetoMatch match = profile_of(trace, graph);
//   HOCKET_CHECK(write_profile(match.profile, "profile.json"));              // for --profile
//
// Operators are told apart by their tensors' element types and sizes. On a GPU an operator takes what its kernels take; without
// kernels in the trace it takes what the host took. Times are medians over all calls.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/compile/pass.h"
#include "hocket/cost/profile.h"

namespace hocket {

struct KinetoCall {
  std::size_t count = 0;
  Nanoseconds median;
};

struct KinetoCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 0;  // of the group; 0: the trace does not say
  std::string group;       // its name in the trace; may be empty
  Bytes moved;             // what goes in and what comes out
  std::size_t count = 0;
  Nanoseconds median;
};

struct KinetoTrace {
  std::map<std::string, KinetoCall> calls;  // by operator without its overload: "aten.mm(f32[64,1024],f32[1024,8])"
  std::vector<KinetoCollective> collectives;
  bool kernels = false;     // times are those of GPU kernels
  std::size_t unknown = 0;  // calls with arguments whose types the trace does not say
};

// Plain or gzipped.
Result<KinetoTrace> read_kineto(const std::string& path);
Result<KinetoTrace> read_kineto_json(std::string_view text, const std::string& file);

struct KinetoMatch {
  Profile profile;
  std::size_t found = 0, missing = 0;                          // different calls of the program
  std::size_t collectives_found = 0, collectives_missing = 0;  // nodes or steps
  std::vector<std::string> examples;                           // of calls that are missing
};
KinetoMatch profile_of(const KinetoTrace& trace, const Subject& subject);

}  // namespace hocket
