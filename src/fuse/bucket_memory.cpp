#include "fuse/bucket_memory.h"

#include <algorithm>

namespace hocket::fuse {

BucketMemory::Open BucketMemory::open(const Candidate& first) {
  return {first.bytes_in, first.bytes_out, first.position(), first.wait_position(), false};
}

// What is there from the fused collective on instead of from the candidate's place: its result, and what leads to its input.
Bytes BucketMemory::raised(const Candidate& candidate, std::uint32_t position) const {
  Bytes bytes = candidate.bytes_out;
  for (const NodeId light : windows_.light_before(candidate.block.collective, position)) {
    if (!windows_.is_view(light)) bytes += candidate.larger_side();
  }
  return bytes;
}

std::vector<BucketMemory::Extra> BucketMemory::extras_of(const Open& bucket, const Candidate& candidate,
                                                         std::uint32_t position) const {
  std::vector<Extra> extras;
  const std::uint32_t last_wait = std::max(bucket.last_wait, candidate.wait_position());
  if (position < candidate.position()) extras.push_back({position, candidate.position(), raised(candidate, position)});
  // What the fused collective reads lives until the last wait for it; so far that was bucket.last_wait.
  extras.push_back({bucket.last_wait + 1, last_wait + 1, bucket.in});
  extras.push_back({candidate.wait_position(), last_wait + 1, candidate.bytes_in});
  if (form_ == FusedForm::concat) {  // the copies in and out
    const std::uint32_t counted = bucket.merged ? bucket.last_wait + 1 : bucket.position;
    extras.push_back({counted, last_wait + 1, bucket.in + bucket.out});
    extras.push_back({std::min(position, bucket.position), last_wait + 1, candidate.bytes_in + candidate.bytes_out});
  }
  return extras;
}

bool BucketMemory::add(Open& bucket, const Candidate& candidate, std::uint32_t position) {
  last_ = extras_of(bucket, candidate, position);
  for (const Extra& extra : last_) curve_.add(extra.begin, extra.end, extra.bytes);
  const bool fits = std::all_of(last_.begin(), last_.end(), [&](const Extra& extra) {
    return extra.begin >= extra.end || curve_.highest(extra.begin, extra.end) <= limit_;
  });
  if (!fits) {
    take_back();
    return false;
  }
  bucket.in += candidate.bytes_in;
  bucket.out += candidate.bytes_out;
  bucket.position = position;
  bucket.last_wait = std::max(bucket.last_wait, candidate.wait_position());
  bucket.merged = true;
  return true;
}

void BucketMemory::take_back() {
  for (const Extra& extra : last_) curve_.add(extra.begin, extra.end, Bytes() - extra.bytes);
  last_.clear();
}

}  // namespace hocket::fuse
