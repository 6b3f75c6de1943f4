#include "fuse/fusion.h"

#include <algorithm>
#include <tuple>

namespace hocket::fuse {

namespace {

// One thing to write: an old node, or a part of a bucket.
struct Entry {
  enum Kind : std::uint8_t { start, wait, result, node };  // in this order where they have one place
  Place place;
  Kind kind = node;
  std::uint32_t bucket = 0;
  std::uint32_t index = 0;  // of the old node, or of the member

  friend bool operator<(const Entry& a, const Entry& b) {
    return std::tie(a.place, a.bucket, a.kind, a.index) < std::tie(b.place, b.bucket, b.kind, b.index);
  }
};

std::vector<bool> nodes_that_go(const Graph& graph, const std::vector<Bucket>& buckets) {
  std::vector<bool> goes(graph.size(), false);
  for (const Bucket& bucket : buckets) {
    for (const NodeId id : bucket.gone) goes[id.index()] = true;
    for (const CommBlock* member : bucket.members) {
      goes[member->collective.index()] = true;
      goes[member->wait().index()] = true;
    }
  }
  return goes;
}

std::vector<Entry> sorted_entries(const Graph& graph, const std::vector<Bucket>& buckets,
                                  const std::vector<Place>& places) {
  const std::vector<bool> goes = nodes_that_go(graph, buckets);
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (!goes[i]) entries.push_back({places[i], Entry::node, 0, i});
  }
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    const Bucket& bucket = buckets[b];
    entries.push_back({bucket.start, Entry::start, b, 0});
    entries.push_back({*std::min_element(bucket.results.begin(), bucket.results.end()), Entry::wait, b, 0});
    for (std::uint32_t m = 0; m < bucket.members.size(); ++m) {
      entries.push_back({bucket.results[m], Entry::result, b, m});
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

Result<Graph> fuse_buckets(const Graph& graph, const std::vector<Bucket>& buckets, const std::vector<Place>& places,
                           const FusionOptions& options) {
  GraphRewriter rewriter(graph);
  std::vector<std::unique_ptr<CollectiveForm>> forms;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    NodeWriter writer(rewriter, options.cost, fmt::format("{}_{}", options.prefix, b));
    forms.push_back(options.make(options.form, std::move(writer), buckets[b].members));
  }
  for (const Entry& entry : sorted_entries(graph, buckets, places)) {
    switch (entry.kind) {
      case Entry::node: rewriter.copy(NodeId(entry.index)); break;
      case Entry::start: forms[entry.bucket]->start(); break;
      case Entry::wait: forms[entry.bucket]->wait(); break;
      case Entry::result:
        rewriter.replace(buckets[entry.bucket].members[entry.index]->wait(), forms[entry.bucket]->result(entry.index));
        break;
    }
  }
  return rewriter.finish();
}

}  // namespace hocket::fuse
