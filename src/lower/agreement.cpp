#include "hocket/lower/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace hocket {

namespace {

// Programs in the words that all ranks share: groups and buffers are numbered as they appear. What the caller brings has its place
// among the inputs instead, or two ranks that sum two gradients in different orders would seem to do the same.
class Agreement {
 public:
  explicit Agreement(const Program& program)
      : program_(program),
        groups_(program.groups().size(), unseen),
        buffers_(program.buffers().size(), unseen),
        symbols_(program.symbols()) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Home home = program.buffer(BufferId(i)).home;
      if (home == Home::input || home == Home::constant) number(buffers_, i, next_buffer_);
    }
  }

  // What must be the same of a step, as one line.
  std::string step(StepId id) {
    const Collective* collective = program_.collective(id);
    // Parts of an all-to-all and messages between two ranks may have other sizes elsewhere.
    const bool same_sizes = collective != nullptr && collective->kind != CollectiveKind::all_to_all &&
                            collective->kind != CollectiveKind::p2p;
    std::string text(program_.op_name(id));
    if (collective != nullptr) text += fmt::format(" on {}", group(collective->group));
    if (same_sizes) {
      text += fmt::format(", {} bytes in, {} bytes out", collective->bytes_in.count, collective->bytes_out.count);
      for (const Arg& arg : program_.args(id)) literal(text, arg);
    }
    operands(text, " reads", program_.reads(id), same_sizes);
    operands(text, " writes", program_.writes(id), same_sizes);
    if (program_.step(id).waits_for.valid())
      text += fmt::format(", waits for step {}", program_.step(id).waits_for.value);
    return text;
  }

  std::string results() {
    std::string text;
    operands(text, "returns", program_.results(), false);
    return text;
  }

 private:
  static constexpr std::uint32_t unseen = 0xffffffff;

  static std::uint32_t number(std::vector<std::uint32_t>& seen, std::size_t index, std::uint32_t& next) {
    if (seen[index] == unseen) seen[index] = next++;
    return seen[index];
  }
  std::string group(GroupId id) {
    return fmt::format("group {} of {} ranks", number(groups_, id.index(), next_group_),
                       program_.group(id).ranks.size());
  }

  void literal(std::string& text, const Arg& arg) const {
    if (arg.is(ArgKind::string)) text += fmt::format(", '{}'", program_.pool().text(arg));
    if (arg.is(ArgKind::integer)) text += fmt::format(", {}", arg.as_integer());
  }

  void operands(std::string& text, std::string_view what, std::span<const OperandId> list, bool with_types) {
    if (list.empty()) return;
    text += what;
    for (const OperandId id : list) {
      const BufferId buffer_id = program_.operand(id).buffer;
      const Buffer& buffer = program_.buffer(buffer_id);
      const bool is_new = buffers_[buffer_id.index()] == unseen;
      text += fmt::format(" {} {}", name_of(buffer.home), number(buffers_, buffer_id.index(), next_buffer_));
      if (with_types) type(text, program_.type(id));
      if (is_new && buffer.home == Home::symmetric) {
        text += fmt::format(" ({} bytes in {}", symbols_.to_string(buffer.bytes), group(buffer.group));
        if (buffer.placed_at >= 0) text += fmt::format(" at {}", buffer.placed_at);
        text += ')';
      }
    }
  }

  void type(std::string& text, const TypeView& type) const {
    text += fmt::format(" {}[", short_name(type.dtype));
    for (std::size_t i = 0; i < type.shape.size(); ++i)
      text += fmt::format("{}{}", i > 0 ? "," : "", symbols_.to_string(type.shape[i]));
    text += ']';
  }

  const Program& program_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> buffers_;
  std::uint32_t next_group_ = 0;
  std::uint32_t next_buffer_ = 0;
  const SymbolTable& symbols_;
};

}  // namespace

std::vector<Digest> step_digests(const Program& program) {
  Agreement agreement(program);
  std::vector<Digest> digests;
  for (std::size_t i = 0; i < program.size(); ++i)
    digests.push_back(Digester().add(agreement.step(StepId(i))).finish());
  digests.push_back(Digester().add(agreement.results()).finish());
  return digests;
}

Digest agreement_digest(const Program& program) {
  Agreement agreement(program);
  Digester digester;
  for (std::size_t i = 0; i < program.size(); ++i) digester.add(agreement.step(StepId(i)));
  return digester.add(agreement.results()).finish();
}

std::optional<Difference> first_difference(const Program& a, const Program& b) {
  Agreement in_a(a);
  Agreement in_b(b);
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    const StepId id(i);
    const std::string one = in_a.step(id);
    const std::string other = in_b.step(id);
    if (one != other)
      return Difference{i, fmt::format("step {}: {} is {}, but {} is {}", i, a.name(id), one, b.name(id), other)};
  }
  if (a.size() != b.size()) {
    const Program& longer = a.size() > b.size() ? a : b;
    return Difference{common, fmt::format("step {}: one program ends here, the other goes on with {}, {} steps more",
                                          common, longer.name(StepId(common)), longer.size() - common)};
  }
  const std::string one = in_a.results();
  const std::string other = in_b.results();
  if (one == other) return std::nullopt;
  return Difference{common, fmt::format("the results: one {}, but the other {}", one, other)};
}

}  // namespace hocket
