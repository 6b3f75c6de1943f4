// A Program is a graph after lowering: steps that read and write buffers, in the order in which they run.
// ProgramBuilder makes one; verify() says what is wrong with one; print() and parse_program() are its text form.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/base/digest.h"
#include "hocket/base/units.h"
#include "hocket/ir/tables.h"

namespace hocket {

// Where a buffer lives.
enum class Home : std::uint8_t {
  input,      // the caller's memory: a parameter, a batch
  constant,   // fixed data that belongs to the program
  arena,      // planned memory of this rank
  symmetric,  // planned memory at the same offset on every rank of its group
};

std::string_view name_of(Home home);
std::optional<Home> home_from_name(std::string_view name);

// The device of a buffer that holds a number rather than a tensor: 8 bytes that a step computes (the size of a tensor, an
// element brought to the host) and that other steps take where they want a number.
inline constexpr std::string_view host_device = "host";

struct Buffer {
  StringId name;
  Home home = Home::arena;
  GroupId group;  // only for Home::symmetric
  DeviceId device;
  Dim bytes = 0;
  std::int64_t placed_at = -1;  // offset in its arena, once planned
};

// A tensor in a buffer.
struct Operand {
  BufferId buffer;
  TypeId type;
  Dim offset = 0;  // in elements
};

struct Step {
  StringId name;
  OpId op;
  bool gemm = false;
  bool has_integer = false;  // results in an integer that other steps' arguments may name
  Range args;
  Range keywords;
  Range reads;       // operands, in the order of the arguments
  Range writes;      // operands: results first, then what it changes in place
  StepId waits_for;  // the collective that this step completes
  std::uint32_t collective = Id<Step>::none_value;
  std::int64_t integer = 0;
  Measured measured;
};

class Program : public Tables {
 public:
  std::string_view name() const { return name_; }
  std::size_t size() const { return steps_.size(); }

  const Step& step(StepId id) const { return steps_[id.index()]; }
  std::span<const Step> steps() const { return steps_; }
  std::string_view name(StepId id) const { return pool_.strings[step(id).name]; }
  std::string_view op_name(StepId id) const { return Tables::op_name(step(id).op); }
  const OpSpec* op_spec(StepId id) const { return Tables::op_spec(step(id).op); }
  using Tables::op_name;
  using Tables::op_spec;
  std::span<const Arg> args(StepId id) const { return pool_.elements(step(id).args); }
  std::span<const Keyword> keywords(StepId id) const { return pool_.keyword_args(step(id).keywords); }
  std::span<const OperandId> reads(StepId id) const { return slice(step(id).reads); }
  std::span<const OperandId> writes(StepId id) const { return slice(step(id).writes); }
  const Collective* collective(StepId id) const {
    const std::uint32_t index = step(id).collective;
    return index == Id<Step>::none_value ? nullptr : &collectives_[index];
  }
  std::optional<Nanoseconds> estimate(StepId id) const {
    const std::int64_t time = step(id).measured.picoseconds;
    return time < 0 ? std::nullopt : std::optional(Nanoseconds::from_picoseconds(time));
  }

  std::span<const Buffer> buffers() const { return buffers_; }
  const Buffer& buffer(BufferId id) const { return buffers_[id.index()]; }
  std::string_view name(BufferId id) const { return pool_.strings[buffer(id).name]; }
  const Operand& operand(OperandId id) const { return operands_[id.index()]; }
  std::size_t operand_count() const { return operands_.size(); }
  bool is_number(OperandId id) const { return device(buffer(operand(id).buffer).device) == host_device; }
  using Tables::type;
  TypeView type(OperandId id) const;
  std::span<const OperandId> results() const { return results_; }

  Digest digest() const;
  friend bool operator==(const Program& a, const Program& b);
  // The same program with its steps in another order, each once. Buffers lose their places: another order needs another plan.
  friend Result<Program> with_order(const Program& program, std::span<const StepId> order);
  // The same program with its buffers at these offsets in their arenas; -1 for one that has none.
  friend Result<Program> with_places(const Program& program, std::span<const std::int64_t> places);

 private:
  friend class ProgramBuilder;
  std::span<const OperandId> slice(Range range) const {
    return std::span(operand_lists_).subspan(range.begin, range.count);
  }

  std::string name_;
  std::vector<Buffer> buffers_;
  std::vector<Operand> operands_;
  std::vector<OperandId> operand_lists_;
  std::vector<Step> steps_;
  std::vector<Collective> collectives_;
  std::vector<OperandId> results_;
};

Result<Program> with_order(const Program& program, std::span<const StepId> order);
Result<Program> with_places(const Program& program, std::span<const std::int64_t> places);

// All that can be said of a step. Reads default to the operands in the arguments; a collective to what the operator's row says.
struct StepSpec {
  std::string_view name;
  std::string_view op;
  std::span<const Arg> args;
  std::span<const Keyword> keywords;
  std::span<const OperandId> writes;
  std::optional<std::span<const OperandId>> reads;
  std::optional<std::optional<Collective>> collective;
  StepId waits_for;  // may name a step that is added later
  bool gemm = false;
  std::optional<std::int64_t> integer;
  Measured measured;
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name, const OpTable& table = OpTable::builtin());
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  GroupId group(std::string name, std::vector<Rank> ranks) {
    return tables_.group({std::move(name), std::move(ranks)});
  }
  BufferId buffer(std::string_view name, Home home, Dim bytes, GroupId group = GroupId::none(),
                  std::string_view device = "cpu", std::int64_t placed_at = -1);
  // Absent strides: contiguous.
  Result<OperandId> operand(BufferId buffer, Dtype dtype, Dims shape, std::optional<Dims> strides = {}, Dim offset = 0);
  StepId step(const StepSpec& spec);
  void results(std::span<const OperandId> operands);

  TablesBuilder& tables() { return tables_; }
  const Program& program() const { return program_; }
  Result<Program> finish();

 private:
  Program program_;
  TablesBuilder tables_;
};

// The types of a program's operands, for shape functions.
class ProgramValues final : public Call::Values {
 public:
  explicit ProgramValues(const Program& program) : program_(program) {}
  std::size_t output_count(Arg value) const override { return program_.is_number(value.as_operand()) ? 0 : 1; }
  TypeView output(Arg value, std::size_t) const override { return program_.type(value.as_operand()); }
  std::optional<std::int64_t> integer(Arg) const override { return std::nullopt; }
  std::int64_t group_size(GroupId group) const override {
    return static_cast<std::int64_t>(program_.group(group).ranks.size());
  }
  std::size_t group_count() const override { return program_.groups().size(); }

 private:
  const Program& program_;
};

}  // namespace hocket
