#include "pipelines.h"

#include "support/random_graph.h"

namespace hocket {

const std::vector<std::string>& graph_pipelines() {
  static const std::vector<std::string> pipelines = {
      "remove_dead_getitems",
      "remove_unsharded_param_inputs",
      "reinplace_all_gather",
      "enforce_fsdp_order",
      "forward_copies",
      "fuse_ddp_with_concat",
      "fuse_ddp_with_concat(first_bucket_mb=0.0003,bucket_size_mb=0.0006)",
      "fuse_ddp_with_coalesced",
      "fuse_ddp_with_coalesced(first_bucket_mb=0.0003,bucket_size_mb=0.0006)",
      "schedule_comm_wait",
      "bucket_all_gather",
      "bucket_all_gather(form=concat)",
      "bucket_all_gather(bucket_size_mb=25)",
      "bucket_all_gather(form=concat,bucket_size_mb=25)",
      "bucket_all_gather(form=concat,bucket_size_mb=0.001)",
      "bucket_reduce_scatter",
      "bucket_reduce_scatter(form=concat)",
      "bucket_reduce_scatter(bucket_size_mb=25)",
      "bucket_reduce_scatter(form=concat,bucket_size_mb=25)",
      "bucket_reduce_scatter(form=concat,bucket_size_mb=0.001)",
      "sink_waits",
      "raise_comms",
      "reorder_compute_for_overlap",
      "reorder_communication_preserving_peak_memory",
      "reorder_communication_preserving_peak_memory(budget=1,estimates=off)",
      "reorder_communication_preserving_peak_memory(budget=1,reorder_collectives=on)",
      "sink_waits_iterative",
      "sink_waits_iterative(budget=1,estimates=off)",
      "lower",
      "lower(algorithm=one_shot)",
      "lower(algorithm=two_shot)",
      "lower(algorithm=pipelined)",
      "lower(symmetric=off)",
      "lower(copy_in=0)",
      "lower,plan",
      "lower(algorithm=pipelined),plan",
      "lower(algorithm=pipelined),sink_waits,plan",
      "lower(algorithm=pipelined),raise_comms,plan",
      "lower(algorithm=pipelined),reorder_compute_for_overlap,plan(alignment=1)",
      "lower(algorithm=pipelined),reorder_communication_preserving_peak_memory(budget=1),sink_waits_iterative(budget=1)"
      ","
      "plan",
      "remove_dead_getitems,remove_unsharded_param_inputs,reinplace_all_gather,enforce_fsdp_order,fuse_ddp_with_concat,"
      "bucket_all_gather(form=concat,bucket_size_mb=25),bucket_reduce_scatter(form=concat,bucket_size_mb=25),"
      "reorder_communication_preserving_peak_memory(budget=1),sink_waits_iterative(budget=1),lower,plan",
      "fuse_ddp_with_coalesced,bucket_all_gather(bucket_size_mb=25),bucket_reduce_scatter(bucket_size_mb=25),raise_"
      "comms,"
      "sink_waits,"
      "lower(algorithm=pipelined),reorder_compute_for_overlap,plan",
  };
  return pipelines;
}

const std::vector<std::string>& program_pipelines() {
  static const std::vector<std::string> pipelines = {
      "sink_waits",
      "raise_comms",
      "reorder_compute_for_overlap",
      "reorder_communication_preserving_peak_memory(budget=1)",
      "sink_waits_iterative(budget=1)",
      "reorder_communication_preserving_peak_memory(budget=1,estimates=off),sink_waits_iterative(budget=1,estimates="
      "off),"
      "plan",
  };
  return pipelines;
}

std::vector<PassCall> random_pipeline(const PassRegistry& registry, Random& random) {
  std::vector<PassCall> pipeline;
  const auto append = [&](Form form) {
    std::vector<std::string> fitting;
    for (const Pass& pass : registry.passes()) {
      const bool fits = pass.form == form || pass.form == Form::either;
      if (fits && pass.name != "lower") fitting.push_back(pass.name);
    }
    for (std::int64_t i = random.between(1, 5); i > 0; --i) pipeline.push_back({random.pick(fitting), {}});
  };
  append(Form::graph);
  pipeline.push_back({"lower", {}});
  append(Form::program);
  pipeline.push_back({"plan", {}});
  return pipeline;
}

Graph small_graph(std::uint64_t seed) {
  RandomGraphOptions options = random_graph_options(seed);
  options.shape = static_cast<GraphShape>(seed % 5);
  options.layers = 2 + static_cast<int>(seed % 4);
  options.coalesced = seed % 4 == 0;  // what is bundled already leaves nothing to fuse
  options.symbolic = false;
  options.world = 2 << seed % 3;
  options.width = options.world;
  return random_graph(seed, options);
}

}  // namespace hocket
