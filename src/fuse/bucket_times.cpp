#include "fuse/bucket_times.h"

#include <algorithm>

namespace hocket::fuse {

namespace {

// How many collectives of a lane a scheduler is thought to start before the first of them is waited for: memory ends it.
constexpr std::size_t prefetched = 64;

std::vector<Nanoseconds> on_compute_lane(const Graph& graph, std::vector<Nanoseconds> times) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.collective(NodeId(i)) != nullptr) times[i] = {};
  }
  return times;
}

// The first wait of each collective; the output where there is none.
std::vector<std::uint32_t> first_waits(const Graph& graph) {
  std::vector<std::uint32_t> wait(graph.size(), static_cast<std::uint32_t>(graph.size() - 1));
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId collective = graph.node(NodeId(i)).wait_of;
    if (collective.valid()) wait[collective.index()] = static_cast<std::uint32_t>(i);
  }
  return wait;
}

// Groups of the same ranks share a lane.
std::vector<std::size_t> lanes_of(const Graph& graph) {
  std::map<std::vector<Rank>, std::size_t> numbers;
  std::vector<std::size_t> lanes;
  for (const Group& group : graph.groups())
    lanes.push_back(numbers.try_emplace(group.ranks, numbers.size()).first->second);
  return lanes;
}

}  // namespace

BucketTimes::BucketTimes(const Graph& graph, const Windows& windows, const CostModel& cost, FusedForm form)
    : graph_(graph),
      windows_(windows),
      cost_(cost),
      form_(form),
      times_(cost.times(graph)),
      as_is_(on_compute_lane(graph, times_)),
      overlapped_(on_compute_lane(graph, times_)) {
  add_collectives();
}

Nanoseconds BucketTimes::light_time(NodeId collective, std::uint32_t position) const {
  Nanoseconds sum;
  for (const NodeId light : windows_.light_before(collective, position)) sum += times_[light.index()];
  return sum;
}

void BucketTimes::add_collectives() {
  const std::vector<std::size_t> lanes = lanes_of(graph_);
  const std::vector<std::uint32_t> waits = first_waits(graph_);
  const Users users(graph_);
  std::vector<Slot> last_raised(graph_.groups().size(), 0);           // by lane
  std::vector<std::vector<Slot>> sunk_waits(graph_.groups().size());  // by lane, in program order
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    const NodeId id(i);
    const Collective* collective = graph_.collective(id);
    if (collective == nullptr) continue;
    const std::size_t lane = lanes[collective->group.index()];
    const Slot own = ahead_of(id.value);
    const Slot own_wait = ahead_of(waits[i]);
    Timed timed{0, own, own_wait, {}};
    if (const Result<CommBlock> block = find_block(graph_, users, id)) {
      if (windows_.ready(id) < id.value) timed.raised = behind(windows_.ready(id));
      timed.sunk = std::max(own_wait, ahead_of(windows_.needed(*block)));
    }
    auto& sunk = sunk_waits[lane];
    if (sunk.size() >= prefetched) timed.raised = std::max(timed.raised, sunk[sunk.size() - prefetched]);
    timed.raised = std::min(own, std::max(timed.raised, last_raised[lane]));
    timed.light = light_time(id, timed.raised / 2);
    last_raised[lane] = timed.raised;
    sunk.push_back(timed.sunk);
    timed.number = as_is_.add({lane, times_[i], own, own_wait, own});
    overlapped_.add({lane, times_[i], timed.raised, timed.sunk, own, timed.light});
    timed_.emplace(id, timed);
  }
}

BucketTimes::Open BucketTimes::open(const Candidate& first, const Open* before) {
  Open bucket;
  bucket.members = {&first};
  bucket.position = first.position();
  bucket.as_is = before != nullptr ? before->as_is : as_is_.initial();
  bucket.overlapped = before != nullptr ? before->overlapped : overlapped_.initial();
  bucket.in = first.bytes_in;
  bucket.out = first.bytes_out;
  bucket.light = timed(first).light;
  bucket.start = timed(first).raised;
  as_is_.advance(bucket.as_is, ahead_of(first.position()));
  overlapped_.advance(bucket.overlapped, bucket.start);
  return bucket;
}

// What is the same in both orders: the time of the fused collective, and of the copies around it.
TwoLanes::Merge BucketTimes::merge_of(const Open& bucket, const Candidate& candidate) const {
  TwoLanes::Merge merge;
  merge.first = timed(*bucket.members.front()).number;
  merge.other = timed(candidate).number;
  const Bytes in = bucket.in + candidate.bytes_in;
  const Bytes out = bucket.out + candidate.bytes_out;
  const Collective& collective = *graph_.collective(candidate.block.collective);
  merge.time = cost_.collective(collective.kind, graph_.group(collective.group).ranks, in + out);
  if (form_ == FusedForm::coalesced) return merge;
  merge.before_start = cost_.copy(in + in);
  if (collective.kind != CollectiveKind::all_gather) return merge;  // the others' results are views of the fused one
  const auto copied = [&](const Candidate& member) {
    merge.copies_out.emplace_back(timed(member).number, cost_.copy(member.bytes_out + member.bytes_out));
  };
  if (bucket.members.size() == 1) copied(*bucket.members.front());
  copied(candidate);
  return merge;
}

// `light`: what the light nodes of the raised members take, all together.
TwoLanes::Merge BucketTimes::merge_as_is(const Open& bucket, const Candidate& candidate, std::uint32_t position,
                                         Nanoseconds& light) const {
  TwoLanes::Merge merge = merge_of(bucket, candidate);
  merge.start = position == bucket.members.front()->position() ? ahead_of(position) : behind(position);
  const auto raise = [&](const Candidate& member) {
    const Nanoseconds raised =
        member.position() > position ? light_time(member.block.collective, position) : Nanoseconds();
    light += raised;
    merge.light.emplace_back(timed(member).number, raised);
  };
  light = {};
  if (position == bucket.position) light = bucket.light_as_is;  // the members keep theirs
  std::vector<const Candidate*> members = bucket.members;
  members.push_back(&candidate);
  const std::vector<std::uint32_t> waits = wait_positions(members, windows_, position);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Candidate& member = *members[i];
    const bool is_new = i + 1 == members.size();
    if (is_new || (position != bucket.position && member.position() > bucket.position)) raise(member);
    if (waits[i] != member.wait_position()) merge.waits.emplace_back(timed(member).number, ahead_of(waits[i]));
  }
  merge.before_start += light;
  return merge;
}

TwoLanes::Merge BucketTimes::merge_overlapped(const Open& bucket, const Candidate& candidate) const {
  TwoLanes::Merge merge = merge_of(bucket, candidate);
  const std::uint32_t ready = windows_.ready(candidate.block.collective);
  merge.start = std::max(bucket.start, ready < candidate.position() ? behind(ready) : ahead_of(ready));
  merge.before_start += bucket.light + timed(candidate).light;
  return merge;
}

bool BucketTimes::add(Open& bucket, const Candidate& candidate, std::uint32_t position) {
  Nanoseconds light;
  const TwoLanes::Merge as_is = merge_as_is(bucket, candidate, position, light);
  if (!as_is_.is_no_later(bucket.as_is, as_is)) return false;
  const TwoLanes::Merge overlapped = merge_overlapped(bucket, candidate);
  if (!overlapped_.is_no_later(bucket.overlapped, overlapped)) return false;
  as_is_.apply(as_is);
  overlapped_.apply(overlapped);
  bucket.members.push_back(&candidate);
  bucket.position = position;
  bucket.in += candidate.bytes_in;
  bucket.out += candidate.bytes_out;
  bucket.light += timed(candidate).light;
  bucket.light_as_is = light;
  bucket.start = overlapped.start;
  return true;
}

}  // namespace hocket::fuse
