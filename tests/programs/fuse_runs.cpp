// The passes of room fuse for tests in program text: `--- run NAME OPTION=VALUE …`. What a pass says stands behind the program.
// Options: size=MIB, first=MIB, form=concat|coalesced, limit=BYTES, machine=NAME.
#include <map>
#include <sstream>

#include "hocket/fuse/bucket.h"
#include "hocket/fuse/ddp.h"
#include "hocket/fuse/schedule_comm_wait.h"
#include "support/program_test.h"

namespace hocket {
namespace {

using Options = std::map<std::string, std::string>;

Options options_of(std::string_view arguments) {
  Options options;
  std::istringstream words{std::string(arguments)};
  for (std::string word; words >> word;) options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return options;
}

std::optional<CostModel> cost_of(const Options& options) {
  const auto machine = options.find("machine");
  if (machine == options.end()) return std::nullopt;
  return CostModel(CostOptions{.machine = find_machine(machine->second).value()});
}

template <class Pass>
void register_pass(const std::string& name, Pass pass) {
  register_run(name, [pass](const GraphOrProgram& input, std::string_view arguments) {
    const Options options = options_of(arguments);
    const std::optional<CostModel> cost = cost_of(options);
    const Graph& graph = std::get<Graph>(input);
    return outcome_of(graph, pass(graph, options, cost ? &*cost : nullptr));
  });
}

FuseDdpOptions ddp_options(const Options& options, const CostModel* cost) {
  FuseDdpOptions result;
  if (options.contains("size")) result.bucket_size_mb = std::stod(options.at("size"));
  if (options.contains("first")) result.first_bucket_mb = std::stod(options.at("first"));
  result.cost = cost;
  return result;
}

BucketOptions bucket_options(const Options& options, const CostModel* cost) {
  BucketOptions result;
  if (options.contains("size")) result.bucket_size_mb = std::stod(options.at("size"));
  if (options.contains("limit")) result.memory_limit = Bytes(std::stoll(options.at("limit")));
  if (options.contains("form") && options.at("form") == "concat") result.form = FusedForm::concat;
  result.cost = cost;
  return result;
}

const bool registered = [] {
  const auto add = []<class Pass, class Read>(const char* name, Pass pass, Read read) {
    register_pass(name, [pass, read](const Graph& graph, const Options& options, const CostModel* cost) {
      return pass(graph, read(options, cost));
    });
  };
  add("fuse_ddp_with_concat", fuse_ddp_with_concat, ddp_options);
  add("fuse_ddp_with_coalesced", fuse_ddp_with_coalesced, ddp_options);
  add("bucket_all_gather", bucket_all_gather, bucket_options);
  add("bucket_reduce_scatter", bucket_reduce_scatter, bucket_options);
  add("schedule_comm_wait", schedule_comm_wait,
      [](const Options&, const CostModel*) { return ScheduleCommWaitOptions{}; });
  return true;
}();

}  // namespace
}  // namespace hocket
