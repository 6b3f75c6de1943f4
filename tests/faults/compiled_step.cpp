#include "compiled_step.h"

#include <fmt/format.h>

#include <stdexcept>

#include "hocket/compile/compile.h"
#include "hocket/ir/text.h"

namespace hocket {

namespace {

// Sums make numbers larger; with so many at most they stay whole numbers that a float can hold.
constexpr int most_sums = 3;

}  // namespace

CompiledStep::CompiledStep(std::uint64_t seed, std::int32_t ranks) : ranks_(ranks) {
  Random random(seed);
  elements_ = random.pick<std::int64_t>({4, 64, 2'000, 60'000});
  int sums = 0;
  for (std::int64_t i = random.between(3, 8); i > 0; --i) {
    Layer layer;
    layer.adds = random.chance(30);
    layer.broadcasts = random.chance(20);
    layer.reduce = sums < most_sums && random.chance(50) ? "sum" : random.pick({"max", "min"});
    if (!layer.broadcasts && layer.reduce == "sum") ++sums;
    layer.extent = random.pick({Extent::world, Extent::row, Extent::column});
    if (layers_.empty()) layer.extent = Extent::world;  // or some ranks would never hear of others
    layers_.push_back(layer);
  }
  passes_ = random.pick({"lower,plan", "lower(algorithm=pipelined),plan", "lower(symmetric=off),plan",
                         "lower(algorithm=two_shot),plan", "raise_comms,sink_waits,lower(algorithm=pipelined),plan",
                         "lower(algorithm=pipelined),reorder_compute_for_overlap,plan"});
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    auto graph = parse_graph(text(rank), "compiled step");
    if (!graph) throw std::logic_error(graph.error().to_string() + "\n" + text(rank));
    CompileOptions options;
    options.passes = *parse_passes(passes_);
    auto compiled = compile(std::move(*graph), options);
    if (!compiled) throw std::logic_error(compiled.error().to_string());
    programs_.push_back(*compiled->program());
  }
}

float CompiledStep::input(std::int32_t rank, int run, std::int64_t element) const {
  return static_cast<float>(rank * 3 + run % 5 + static_cast<int>(element % 7));
}

// Ranks stand in rows of two.
std::vector<std::int32_t> CompiledStep::members(Extent extent, std::int32_t rank) const {
  std::vector<std::int32_t> all;
  for (std::int32_t other = 0; other < ranks_; ++other) {
    const bool inside = extent == Extent::world || (extent == Extent::row && other / 2 == rank / 2) ||
                        (extent == Extent::column && other % 2 == rank % 2);
    if (inside) all.push_back(other);
  }
  return all;
}

// Every layer's communication is waited for after the next layer's computation, which takes the value from before it.
std::string CompiledStep::text(std::int32_t rank) const {
  std::string text = fmt::format("graph @step(%x: f32[{}]) {{\n", elements_);
  for (const auto& [name, extent] :
       {std::pair("world", Extent::world), std::pair("row", Extent::row), std::pair("column", Extent::column)})
    text += fmt::format("  group @{} = ranks[{}]\n", name, fmt::join(members(extent, rank), ","));
  std::string value = "x";
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const char* const group = layer.extent == Extent::world ? "world" : layer.extent == Extent::row ? "row" : "column";
    const std::string compute =
        layer.adds ? fmt::format("aten.add.Tensor(%{0}, %{0})", value) : fmt::format("aten.neg(%{})", value);
    const std::string communicate = layer.broadcasts
                                        ? fmt::format("broadcast(%c{}, 0, @{})", i, group)
                                        : fmt::format("all_reduce(%c{}, \"{}\", @{})", i, layer.reduce, group);
    text += fmt::format(
        "  %c{0} = {1}\n  %s{0} = _c10d_functional.{2}\n  %b{0} = aten.neg(%{3})\n"
        "  %w{0} = _c10d_functional.wait_tensor(%s{0})\n  %v{0} = aten.add.Tensor(%w{0}, %b{0})\n",
        i, compute, communicate, value);
    value = fmt::format("v{}", i);
  }
  return text + fmt::format("  return %{}\n}}\n", value);
}

std::vector<float> CompiledStep::results(int run, std::int64_t element) const {
  std::vector<float> values;
  for (std::int32_t rank = 0; rank < ranks_; ++rank) values.push_back(input(rank, run, element));
  for (const Layer& layer : layers_) {
    std::vector<float> computed;
    for (const float value : values) computed.push_back(layer.adds ? value + value : -value);
    std::vector<float> next;
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      const auto group = members(layer.extent, rank);
      float result = computed[static_cast<std::size_t>(group[0])];
      for (std::size_t i = 1; i < group.size() && !layer.broadcasts; ++i) {
        const float other = computed[static_cast<std::size_t>(group[i])];
        if (layer.reduce == "sum") result += other;
        else result = layer.reduce == "max" ? std::max(result, other) : std::min(result, other);
      }
      next.push_back(result - values[static_cast<std::size_t>(rank)]);
    }
    values = std::move(next);
  }
  return values;
}

StepRunner::StepRunner(const CompiledStep& step, const World& world, const ExecutorOptions& options)
    : step_(step),
      rank_(world.rank()),
      input_(static_cast<std::size_t>(step.elements())),
      executor_(Executor::create(step.program(rank_), kernels_, world, options)) {}

Status StepRunner::run(int number) {
  if (!executor_) return fail(executor_.error());
  for (std::int64_t i = 0; i < step_.elements(); ++i)
    input_[static_cast<std::size_t>(i)] = step_.input(rank_, number, i);
  const Program& program = (*executor_)->program();
  for (std::size_t i = 0; i < program.buffers().size(); ++i) {
    if (program.buffer(BufferId(i)).home != Home::input) continue;
    return (*executor_)->run(std::vector<InputMemory>{{BufferId(i), reinterpret_cast<std::byte*>(input_.data())}});
  }
  return fail(ErrorKind::internal, "the program has no input");
}

bool StepRunner::is_right(int number) const {
  const Program& program = (*executor_)->program();
  const OperandId operand = program.results()[0];
  const auto* const data = reinterpret_cast<const float*>((*executor_)->memory(program.operand(operand).buffer)) +
                           program.type(operand).offset.value();
  const std::int64_t apart =
      std::max<std::int64_t>(step_.elements() / 64, 1);  // not all: it would take longer than the step
  for (std::int64_t i = 0; i < step_.elements(); i += apart) {
    if (data[i] != step_.results(number, i)[static_cast<std::size_t>(rank_)]) return false;
  }
  return true;
}

}  // namespace hocket
