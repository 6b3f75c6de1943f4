#include "compile/graph_passes.h"

#include "hocket/fsdp/enforce_fsdp_order.h"
#include "hocket/fsdp/reinplace_all_gather.h"
#include "hocket/fsdp/remove_dead_getitems.h"
#include "hocket/fsdp/remove_unsharded_param_inputs.h"
#include "hocket/fuse/bucket.h"
#include "hocket/fuse/copies_to_views.h"
#include "hocket/fuse/ddp.h"
#include "hocket/fuse/exchange_rows.h"
#include "hocket/fuse/fold_averages.h"
#include "hocket/fuse/forward_copies.h"
#include "hocket/fuse/gather_again.h"
#include "hocket/fuse/late_divisions.h"
#include "hocket/fuse/lean_casts.h"
#include "hocket/fuse/move_rows.h"
#include "hocket/fuse/scatter_rows.h"
#include "hocket/fuse/schedule_comm_wait.h"
#include "hocket/schedule/timeline.h"

namespace hocket {

namespace {

Result<PassResult> to_result(Result<RewriteResult> rewritten) {
  if (!rewritten) return fail(std::move(rewritten).error());
  PassResult result;
  if (rewritten->graph) result.subject = std::move(*rewritten->graph);
  result.report = std::move(rewritten->report);
  result.notes = std::move(rewritten->notes);
  return result;
}

// A pass without options.
template <class Options>
Pass plain(std::string name, std::string summary, Result<RewriteResult> (*run)(const Graph&, const Options&)) {
  return {std::move(name), std::move(summary), Form::graph, "",
          [run](const Subject& subject, const PassContext&, PassArguments& arguments) -> Result<PassResult> {
            HOCKET_CHECK(arguments.finish());
            return to_result(run(std::get<Graph>(subject), Options{}));
          }};
}

// The same, of one that gives its new nodes their times.
template <class Options>
Pass with_cost(std::string name, std::string summary, Result<RewriteResult> (*run)(const Graph&, const Options&)) {
  return {std::move(name), std::move(summary), Form::graph, "",
          [run](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
            HOCKET_CHECK(arguments.finish());
            Options options;
            options.cost = context.cost;
            return to_result(run(std::get<Graph>(subject), options));
          }};
}

Pass ddp_pass(std::string name, std::string summary,
              Result<RewriteResult> (*run)(const Graph&, const FuseDdpOptions&)) {
  return {std::move(name), std::move(summary), Form::graph, "bucket_size_mb=25, first_bucket_mb=1",
          [run](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
            FuseDdpOptions options;
            options.bucket_size_mb = arguments.real("bucket_size_mb", options.bucket_size_mb);
            options.first_bucket_mb = arguments.real("first_bucket_mb", options.first_bucket_mb);
            options.cost = context.cost;
            HOCKET_CHECK(arguments.finish());
            return to_result(run(std::get<Graph>(subject), options));
          }};
}

Pass bucket_pass(std::string name, std::string summary,
                 Result<RewriteResult> (*run)(const Graph&, const BucketOptions&)) {
  return {std::move(name), std::move(summary), Form::graph,
          "form=coalesced|concat, bucket_size_mb=MIB (without: the cost model decides)",
          [run](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
            BucketOptions options;
            options.form = arguments.choice("form", "coalesced", {"coalesced", "concat"}) == "concat"
                               ? FusedForm::concat
                               : FusedForm::coalesced;
            const double size = arguments.real("bucket_size_mb", -1);
            if (size >= 0) options.bucket_size_mb = size;
            options.cost = context.cost;
            options.memory_limit = context.memory_limit.of(context.original_peak);
            HOCKET_CHECK(arguments.finish());
            return to_result(run(std::get<Graph>(subject), options));
          }};
}

Pass gather_again_pass() {
  return {"gather_again", "gather again behind the peak of memory what is used on both sides of it", Form::graph, "",
          [](const Subject& subject, const PassContext& context, PassArguments& arguments) -> Result<PassResult> {
            HOCKET_CHECK(arguments.finish());
            const Graph& graph = std::get<Graph>(subject);
            HOCKET_TRY(const StepGraph steps, StepGraph::of(graph, context.cost->times(graph)));
            const auto order = steps.original_order();
            if (order.empty()) return PassResult{};
            GatherAgainOptions options;
            options.peak = NodeId(order[memory_curve(steps, order).peak_at]);
            options.cost = context.cost;
            HOCKET_TRY(GatherAgainResult again, gather_again(graph, options));
            return to_result(std::move(again.rewrite));
          }};
}

}  // namespace

std::vector<Pass> fsdp_passes() {
  return {
      plain("remove_dead_getitems", "drop getitems that nobody uses", remove_dead_getitems),
      plain("remove_unsharded_param_inputs", "use gathered parameters directly, without the resized input",
            remove_unsharded_param_inputs),
      plain("reinplace_all_gather", "gather into the buffer that holds this rank's slice already",
            reinplace_all_gather),
      plain("enforce_fsdp_order", "keep copy-in with its gather and copy-out with its wait, layer by layer",
            enforce_fsdp_order),
  };
}

std::vector<Pass> fuse_passes() {
  return {
      plain("fold_averages", "let an all_reduce average, instead of dividing before it", fold_averages),
      with_cost("late_divisions", "divide what a reduce_scatter gives, not what it takes", late_divisions),
      plain("forward_copies", "use a result instead of the tensor that it is copied over", forward_copies),
      ddp_pass("fuse_ddp_with_concat", "one all_reduce for each bucket of gradients, on one concatenated tensor",
               fuse_ddp_with_concat),
      ddp_pass("fuse_ddp_with_coalesced", "one coalesced all_reduce for each bucket of gradients",
               fuse_ddp_with_coalesced),
      plain("schedule_comm_wait", "each wait right before its first real user", schedule_comm_wait),
      plain("copies_to_views", "next to communication, parts that are put together as they lie become a view",
            copies_to_views),
      with_cost("scatter_rows", "a reduce_scatter of a small batch takes its rows as they lie", scatter_rows),
      with_cost("move_rows", "gathers and scatters along another dimension than the first move rows as they lie",
                move_rows),
      with_cost("exchange_rows", "all-to-alls take rows from where they lie and put them where they belong",
                exchange_rows),
      with_cost("lean_casts", "casts next to communication move no more memory than they have to", lean_casts),
      gather_again_pass(),
      bucket_pass("bucket_all_gather", "merge all_gathers where that pays", bucket_all_gather),
      bucket_pass("bucket_reduce_scatter", "merge reduce_scatters where that pays", bucket_reduce_scatter),
  };
}

}  // namespace hocket
