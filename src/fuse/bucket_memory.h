// What merging costs in memory: results that are there earlier, inputs that are kept longer, copies. An estimate that errs on the
// safe side: what merging frees earlier is not counted.
#pragma once

#include <vector>

#include "fuse/bucket_candidates.h"
#include "fuse/memory_curve.h"
#include "hocket/fuse/form.h"

namespace hocket::fuse {

class BucketMemory {
 public:
  BucketMemory(const Graph& graph, const Windows& windows, Bytes limit, FusedForm form)
      : windows_(windows), curve_(graph), limit_(limit), form_(form) {}

  // A bucket as far as it is counted.
  struct Open {
    Bytes in, out;  // of all members
    std::uint32_t position = 0;
    std::uint32_t last_wait = 0;
    bool merged = false;
  };
  static Open open(const Candidate& first);

  // Can the candidate join the bucket, with the fused collective behind `position`? If so, what that takes is counted from now on.
  bool add(Open& bucket, const Candidate& candidate, std::uint32_t position);
  // Takes back the last add() that succeeded; the bucket is to be as it was before.
  void take_back();

 private:
  // More bytes than before at positions begin … end-1.
  struct Extra {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    Bytes bytes;
  };
  std::vector<Extra> extras_of(const Open& bucket, const Candidate& candidate, std::uint32_t position) const;
  Bytes raised(const Candidate& candidate, std::uint32_t position) const;

  const Windows& windows_;
  PeakCurve curve_;
  Bytes limit_;
  FusedForm form_ = FusedForm::coalesced;
  std::vector<Extra> last_;  // of the last add()
};

}  // namespace hocket::fuse
