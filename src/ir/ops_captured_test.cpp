// The operator table against PyTorch: what it derives for each call must be what the capture says.
// tests/data/op_facts.json.gz has single calls of nearly all operators on awkward layouts, made by tests/data/op_facts.py;
// captured training steps are beside it, and more of them where shared/graphs stands beside the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "hocket/ir/file.h"
#include "hocket/ir/graph.h"
#include "ir/ops.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

const fs::path data_folder = HOCKET_TEST_DATA;
constexpr std::string_view facts_name = "op_facts.json.gz";
const fs::path captures_folder = data_folder / "../../../shared/graphs";

std::string to_string(const SymbolTable& symbols, Dtype dtype, Dims shape, Dims strides, Dim offset) {
  const auto list = [&](Dims dims) {
    std::string text;
    for (const Dim dim : dims) text += (text.empty() ? "" : ",") + symbols.to_string(dim);
    return text;
  };
  return fmt::format("{}[{}]({})+{}", short_name(dtype), list(shape), list(strides), symbols.to_string(offset));
}

std::string to_string(const SymbolTable& symbols, const TypeView& type) {
  return to_string(symbols, type.dtype, type.shape, type.strides, type.offset);
}

struct Check {
  std::size_t nodes = 0;
  std::size_t with_row = 0;
  std::size_t with_shape = 0;
  std::size_t inferred = 0;
  std::size_t with_flops = 0;
  std::map<std::string, std::size_t> not_inferred;  // by operator
  std::set<std::string> inferred_ops;
  std::vector<std::string> differences;
};

class GraphCheck {
 public:
  GraphCheck(const Graph& graph, Check& check)
      : graph_(graph), check_(check), values_(graph), symbols_(graph.symbols()) {}

  void check_types() {
    for_each_call([&](NodeId id, const OpSpec* spec, const Call& call) {
      ++check_.nodes;
      if (spec == nullptr) return;
      ++check_.with_row;
      if (spec->shape == nullptr) return;
      ++check_.with_shape;
      const auto inferred = spec->shape(call);
      if (!inferred && is_cannot_infer(inferred.error())) {
        ++check_.not_inferred[spec->name];
        return;
      }
      ++check_.inferred;
      check_.inferred_ops.insert(spec->name);
      const std::string expected = described(id);
      std::string found = inferred ? "" : inferred.error().to_string();
      if (inferred) {
        for (const InferredType& type : *inferred) {
          found += to_string(symbols_, type.dtype, type.shape.dims, type.strides.dims, type.offset) + " ";
        }
      }
      if (found != expected) differs(id, "has type", expected, found + "\n    from " + described_arguments(id));
    });
  }

  void check_effects(const std::set<std::string, std::less<>>& hidden = {}) {
    for_each_call([&](NodeId id, const OpSpec* spec, const Call& call) {
      if (spec == nullptr || graph_.outputs(id).empty() || hidden.contains(spec->name)) return;
      const bool several = graph_.outputs(id).size() > 1 || spec->list_result;
      if (several != graph_.node(id).multi) {
        differs(id, "is a list", std::to_string(!several), std::to_string(several));
      }
      const Effects& effects = spec->effects;
      const NodeId captured = graph_.node(id).view_of;
      std::vector<NodeId> allowed;
      if (effects.alias == Alias::first || effects.alias == Alias::either) {
        if (effects.alias_arg < call.size())
          graph_.pool().for_each_value(call.args()[effects.alias_arg], [&](Arg a) { allowed.push_back(a.as_node()); });
      } else if (effects.alias == Alias::out && call.keyword("out") != nullptr) {
        graph_.pool().for_each_value(*call.keyword("out"), [&](Arg a) { allowed.push_back(a.as_node()); });
      }
      if (effects.alias == Alias::fresh || (effects.alias == Alias::either && is_copied(*spec, call)))
        allowed = {NodeId::none()};
      if (std::find(allowed.begin(), allowed.end(), captured) == allowed.end()) {
        differs(id, "is a view", std::to_string(captured.valid()), std::to_string(effects.alias != Alias::fresh));
      }
      const bool writes = effects.mutates != 0 || effects.mutates_out;
      if (writes == graph_.mutates(id).empty())
        differs(id, "writes an argument", std::to_string(!writes), std::to_string(writes));
      if (effects.comm.has_value() != (graph_.collective(id) != nullptr)) differs(id, "communicates", "", "");
      else if (effects.comm && effects.comm->kind != graph_.collective(id)->kind)
        differs(id, "communicates", "", std::string(name_of(effects.comm->kind)));
      if (effects.waits != (graph_.op_name(id) == "_c10d_functional.wait_tensor.default")) differs(id, "waits", "", "");
    });
  }

  void check_flops() {
    for_each_call([&](NodeId id, const OpSpec* spec, const Call& call) {
      const std::int64_t measured = graph_.node(id).measured.flops;
      if (spec == nullptr || measured < 0) return;
      ++check_.with_flops;
      std::vector<TypeView> outputs;
      for (const Output& output : graph_.outputs(id)) outputs.push_back(graph_.type(output));
      const auto work = work_of(*spec, call, outputs);
      const std::string found = work ? fmt::format("{:.0f}", work->flops) : work.error().to_string();
      if (found != std::to_string(measured)) differs(id, "takes FLOPs", std::to_string(measured), found);
    });
  }

  void check_work() {
    for_each_call([&](NodeId id, const OpSpec* spec, const Call& call) {
      const Measured& measured = graph_.node(id).measured;
      if (spec == nullptr || measured.read < 0 || counts_otherwise(id, *spec)) return;
      std::vector<TypeView> outputs;
      for (const Output& output : graph_.outputs(id)) outputs.push_back(graph_.type(output));
      const auto work = work_of(*spec, call, outputs);
      const std::string expected =
          fmt::format("{} flop, {} B read, {} B written", measured.flops, measured.read, measured.written);
      const std::string found =
          work ? fmt::format("{:.0f} flop, {} B read, {} B written", work->flops, work->read.count, work->written.count)
               : work.error().to_string();
      if (found != expected) differs(id, "costs", expected, found);
      if (graph_.node(id).gemm != spec->effects.gemm) {
        differs(id, "is matmul-like", std::to_string(graph_.node(id).gemm), std::to_string(spec->effects.gemm));
      }
    });
  }

 private:
  template <class Visit>
  void for_each_call(Visit&& visit) {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const NodeId id(i);
      if (graph_.node(id).kind != NodeKind::op) continue;
      visit(id, graph_.op_spec(id), Call(graph_.pool(), graph_.args(id), graph_.keywords(id), values_, symbols_));
    }
  }

  // Where the captures count something else than happens.
  bool counts_otherwise(NodeId id, const OpSpec& spec) const {
    static const std::set<std::string, std::less<>> operators = {
        "aten._grouped_mm.default",  // no FLOPs, not matmul-like
        "aten.copy_.default",        // nothing, as for all that returns its argument
        "aten.index_put_.default",   // nothing
        "aten.sym_size.int",         // the whole tensor, to learn its size
        "aten.empty.memory_format",  // the whole tensor, though nothing is written yet
    };
    const bool view_of_first_node = graph_.node(id).view_of == NodeId(0);  // counted like a copy
    return operators.contains(spec.name) || (spec.name == "aten.view.default" && view_of_first_node);
  }

  static bool is_copied(const OpSpec& spec, const Call& call) {
    const auto inferred = spec.shape == nullptr ? Result<Outputs>(Outputs{}) : spec.shape(call);
    return inferred && !inferred->empty() && inferred->front().copied;
  }

  std::string described(NodeId id) const {
    std::string text;
    for (const Output& output : graph_.outputs(id)) text += to_string(symbols_, graph_.type(output)) + " ";
    return text;
  }

  std::string described_arguments(NodeId id) const {
    std::string text;
    for (const NodeId input : graph_.inputs(id)) text += described(input) + "; ";
    return text;
  }

  void differs(NodeId id, std::string_view what, const std::string& expected, const std::string& found) {
    check_.differences.push_back(fmt::format("{}: {} {} {}\n    PyTorch: {}\n    hocket:  {}", graph_.name(),
                                             graph_.name(id), graph_.op_name(id), what, expected, found));
  }

  const Graph& graph_;
  Check& check_;
  GraphValues values_;
  SymbolTable symbols_;
};

void expect_no_differences(const Check& check) {
  constexpr std::size_t shown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, check.differences.size()); ++i) text += check.differences[i] + "\n";
  EXPECT_TRUE(check.differences.empty()) << check.differences.size() << " differences, the first:\n" << text;
}

// Those that come with the repository, and the rest where it is there.
std::vector<fs::path> captures() {
  std::map<std::string, fs::path> by_name;
  for (const fs::path& folder : {data_folder, captures_folder}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json.gz") && name != facts_name) by_name.emplace(name, entry.path());
    }
  }
  std::vector<fs::path> paths;
  for (const auto& [name, path] : by_name) paths.push_back(path);
  return paths;
}

Graph graph_of(const fs::path& path) {
  auto graph = read_graph(path.string());
  EXPECT_TRUE(graph) << path << ": " << (graph ? "" : graph.error().to_string());
  return graph ? std::move(*graph) : Graph();
}

TEST(OpFacts, SingleCallsHaveTheTypesThatPyTorchGivesThem) {
  Check check;
  const Graph graph = graph_of(data_folder / facts_name);
  GraphCheck(graph, check).check_types();
  expect_no_differences(check);
  EXPECT_EQ(check.inferred, check.nodes) << "every call of this file has a type that can be derived";
}

TEST(OpFacts, SingleCallsHaveTheEffectsThatPyTorchGivesThem) {
  Check check;
  const Graph graph = graph_of(data_folder / facts_name);
  // Tracing a single wait gives a fresh tensor, and the schema of FSDP's copy hides that it writes its buffer.
  GraphCheck(graph, check).check_effects({"_c10d_functional.wait_tensor.default", "fsdp.all_gather_copy_in.default"});
  expect_no_differences(check);
}

TEST(OpFacts, SingleCallsTakeTheFlopsThatPyTorchCounts) {
  Check check;
  const Graph graph = graph_of(data_folder / facts_name);
  GraphCheck(graph, check).check_flops();
  expect_no_differences(check);
  EXPECT_GE(check.with_flops, 30U);
}

// Operators that PyTorch cannot run on fake tensors, and those that no single call can show; other tests try them.
const std::set<std::string, std::less<>> not_in_facts = {
    "getitem",
    "aten._foreach_addcmul.Tensor",
    "aten._foreach_addcdiv.Tensor",
    "aten.baddbmm.dtype",
    "aten.convolution_overrideable.default",
    "_c10d_functional.all_gather_into_tensor_out.default",
    "_c10d_functional.reduce_scatter_tensor_out.default",
    "_c10d_functional.batch_p2p_ops.default",
    "symm_mem.one_shot_all_reduce.default",
    "symm_mem.multimem_one_shot_all_reduce.default",
    "symm_mem.one_shot_all_reduce_out.default",
    "symm_mem.multimem_one_shot_all_reduce_out.default",
    "symm_mem.two_shot_all_reduce_.default",
    "symm_mem.multimem_all_reduce_.default",
    "symm_mem.one_shot_all_reduce_copy.default",
    "hocket.all_gather_along.default",  // PyTorch does not have these; ops_collectives_test.cpp does
    "hocket.reduce_scatter_along.default",
    "hocket.all_to_all_along.default",
    "hocket.all_to_all_single.default",
};

TEST(OpFacts, EveryShapeFunctionIsTried) {
  Check check;
  const Graph graph = graph_of(data_folder / facts_name);
  GraphCheck(graph, check).check_types();
  std::vector<std::string> untried;
  for (const OpSpec& row : OpTable::builtin().rows()) {
    const bool trivial = row.shape == nullptr || row.shape == ops::no_tensors || row.shape == ops::unchanged;
    if (!trivial && !check.inferred_ops.contains(row.name) && !not_in_facts.contains(row.name)) {
      untried.push_back(row.name);
    }
  }
  EXPECT_EQ(untried, std::vector<std::string>());
}

TEST(CapturedOps, TypesOfAllCallsAreThoseOfTheCaptures) {
  Check check;
  for (const fs::path& path : captures()) {
    const Graph graph = graph_of(path);
    GraphCheck(graph, check).check_types();
  }
  expect_no_differences(check);
  EXPECT_EQ(check.with_row, check.nodes) << "an operator has no row";
  constexpr double wanted = 0.95;
  EXPECT_GE(static_cast<double>(check.inferred), wanted * static_cast<double>(check.nodes));
  fmt::print("{} calls, {} with a shape function, {} derived\n", check.nodes, check.with_shape, check.inferred);
  for (const auto& [name, count] : check.not_inferred) fmt::print("  not derived: {} of {}\n", count, name);
}

TEST(CapturedOps, EffectsOfAllCallsAreThoseOfTheCaptures) {
  Check check;
  for (const fs::path& path : captures()) {
    const Graph graph = graph_of(path);
    GraphCheck(graph, check).check_effects();
  }
  expect_no_differences(check);
}

TEST(CapturedOps, WorkOfAllCallsIsThatOfTheCaptures) {
  Check check;
  for (const fs::path& path : captures()) {
    const Graph graph = graph_of(path);
    GraphCheck(graph, check).check_work();
  }
  expect_no_differences(check);
}

}  // namespace
}  // namespace hocket
