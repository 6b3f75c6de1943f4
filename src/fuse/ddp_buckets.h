#pragma once

#include <string>
#include <vector>

#include "fuse/ddp_filter.h"
#include "hocket/fuse/ddp.h"
#include "hocket/ir/order_constraints.h"

namespace hocket::fuse {

struct GradientBucket {
  std::vector<std::size_t> members;  // of `averages`
  Bytes bytes;
  NodeId last_input;  // the last of their anchors
};

struct GradientPlan {
  std::vector<GradientAverage> averages;  // in program order
  std::vector<GradientBucket> buckets;    // in the order in which they begin; each average is in one or left alone
  std::vector<std::string> notes;
};

GradientPlan plan_gradients(const Graph& graph, const OrderConstraints& constraints, const FuseDdpOptions& options);

}  // namespace hocket::fuse
