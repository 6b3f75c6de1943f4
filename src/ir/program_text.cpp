#include <simdjson.h>

#include <unordered_map>

#include "hocket/ir/json.h"
#include "hocket/ir/text.h"
#include "ir/text_args.h"

namespace hocket {

namespace {

class ProgramPrinter final : public TextPrinter {
 public:
  ProgramPrinter(const Program& program, const PrintOptions& options)
      : TextPrinter(program, options.facts), program_(program) {}

  std::string print() {
    text_ += "program ";
    append_name(text_, '@', program_.name());
    text_ += " {\n";
    groups();
    for (std::size_t i = 0; i < program_.buffers().size(); ++i) buffer(BufferId(i));
    for (std::size_t i = 0; i < program_.size(); ++i) step(StepId(i));
    text_ += "  return ";
    operands(program_.results());
    text_ += "\n}\n";
    return std::move(text_);
  }

 private:
  void buffer(BufferId id) {
    const Buffer& buffer = program_.buffer(id);
    text_ += "  buffer ";
    append_name(text_, '%', program_.name(id));
    put(" = {}", name_of(buffer.home));
    if (buffer.home == Home::symmetric && buffer.group.valid()) {
      text_ += ' ';
      append_name(text_, '@', program_.group(buffer.group).name);
    }
    text_ += " bytes ";
    dim(buffer.bytes);
    if (buffer.placed_at >= 0) put(" at {}", buffer.placed_at);
    if (program_.device(buffer.device) != "cpu") {
      text_ += " on ";
      append_json_string(text_, program_.device(buffer.device));
    }
    text_ += '\n';
  }

  void value(const Arg& arg) override { operand(arg.as_operand()); }
  void operand(OperandId id) {
    append_name(text_, '%', program_.name(program_.operand(id).buffer));
    text_ += ' ';
    type(program_.type(id));
  }
  void operands(std::span<const OperandId> list) {
    text_ += '(';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text_ += ", ";
      operand(list[i]);
    }
    text_ += ')';
  }

  void step(StepId id) {
    const Step& step = program_.step(id);
    text_ += "  step ";
    append_json_string(text_, program_.name(id));
    text_ += " = ";
    call(program_.op_name(id), program_.args(id), program_.keywords(id));
    text_ += " reads ";
    operands(program_.reads(id));
    text_ += " writes ";
    operands(program_.writes(id));
    if (step.waits_for.valid()) {
      std::string text = "waits_for=";
      append_json_string(text, program_.name(step.waits_for));
      fact(text);
    }
    if (const Collective* c = program_.collective(id)) {
      std::string text = fmt::format("coll={}(", name_of(c->kind));
      append_name(text, '@', program_.group(c->group).name);
      fact(text + fmt::format(", {}, {})", c->bytes_in.count, c->bytes_out.count));
    }
    if (step.has_integer) fact(fmt::format("int={}", step.integer));
    measured(step.measured, step.gemm);
    end_facts();
    text_ += '\n';
  }

  const Program& program_;
};

class ProgramParser final : public TextParser {
 public:
  ProgramParser(std::string_view text, const std::string& file, const OpTable& table)
      : TextParser(text, file), table_(table) {}

  Result<Program> parse() {
    HOCKET_CHECK(expect("program", "at the beginning"));
    HOCKET_TRY(std::string own_name, name(TokenKind::global, "the program's name such as @step"));
    builder_ = std::make_unique<ProgramBuilder>(std::move(own_name), table_);
    HOCKET_CHECK(find_steps());
    HOCKET_CHECK(expect("{", "after the program's name"));
    bool returned = false;
    while (!accept("}")) {
      if (accept("group")) HOCKET_CHECK(group());
      else if (accept("buffer")) HOCKET_CHECK(buffer());
      else if (accept("step")) HOCKET_CHECK(step());
      else if (!returned && accept("return")) {
        returned = true;
        HOCKET_TRY(const std::vector<OperandId> results, operands());
        builder_->results(results);
      } else {
        return wrong(fmt::format("expected group, buffer, step, one return or '}}', {}", found()));
      }
    }
    if (!at(TokenKind::end)) return wrong(fmt::format("expected the end after '}}', {}", found()));
    auto program = builder_->finish();
    if (!program) return fail(hocket::at(std::move(program).error(), file_));
    return program;
  }

 private:
  using TextParser::at;
  TablesBuilder& tables() override { return builder_->tables(); }

  // A wait may name a step that stands behind it (verify() judges that), so names are looked for first.
  Status find_steps() {
    const Token start = peek();
    std::size_t depth = 0;
    bool after_step = false;
    std::size_t count = 0;
    for (; !at(TokenKind::end); take()) {
      if (after_step && at(TokenKind::string)) {
        auto text = unescape(word());
        if (!text) return wrong(text.error().message);
        if (!steps_.try_emplace(*text, StepId(count)).second)
          return wrong(fmt::format("two steps are called \"{}\"", *text));
        ++count;
      }
      after_step = depth == 1 && at("step");
      if (at("(") || at("[") || at("{")) ++depth;
      if ((at(")") || at("]") || at("}")) && depth > 0) --depth;
    }
    lexer_.rewind(start.begin);
    take();
    return {};
  }

  // %name = home [@group] bytes N [at N] [on "device"]
  Status buffer() {
    const std::size_t place = peek().begin;
    HOCKET_TRY(const std::string own_name, name(TokenKind::value, "a buffer such as %x"));
    HOCKET_CHECK(expect("=", "after a buffer's name"));
    const auto home = at(TokenKind::word) ? home_from_name(word()) : std::nullopt;
    if (!home) return wrong(fmt::format("expected a home (input, constant, arena, symmetric), {}", found()));
    take();
    GroupId its_group;
    if (*home == Home::symmetric) {
      HOCKET_TRY(its_group, known_group());
    }
    HOCKET_CHECK(expect("bytes", "after a buffer's home"));
    HOCKET_TRY(const Dim bytes, dim());
    std::int64_t placed_at = -1;
    if (accept("at")) {
      const std::size_t where = peek().begin;
      HOCKET_TRY(placed_at, integer("an offset"));
      if (placed_at < 0) return wrong_at(where, "an offset below zero");
    }
    std::string device = "cpu";
    if (accept("on")) {
      HOCKET_TRY(device, string("a device"));
    }
    const BufferId id = builder_->buffer(own_name, *home, bytes, its_group, device, placed_at);
    if (!buffers_.try_emplace(own_name, id).second)
      return wrong_at(place, fmt::format("buffer %{} is declared twice", own_name));
    return {};
  }

  Result<OperandId> operand() {
    const std::size_t place = peek().begin;
    HOCKET_TRY(const std::string text, name(TokenKind::value, "a buffer such as %x"));
    const auto found = buffers_.find(text);
    if (found == buffers_.end()) return wrong_at(place, fmt::format("buffer %{} is not declared above", text));
    HOCKET_TRY(const ParsedType parsed, type());
    std::optional<Dims> strides;
    if (parsed.strides) strides = *parsed.strides;
    auto result = builder_->operand(found->second, parsed.dtype, parsed.shape, strides, parsed.offset);
    if (!result) return wrong_at(place, result.error().message);
    return *result;
  }

  Result<Arg> value() override {
    HOCKET_TRY(const OperandId id, operand());
    return Arg::value(id);
  }

  Result<std::vector<OperandId>> operands() {
    HOCKET_CHECK(expect("(", "before a list of operands"));
    std::vector<OperandId> list;
    if (accept(")")) return list;
    do {
      HOCKET_TRY(const OperandId id, operand());
      list.push_back(id);
    } while (accept(","));
    HOCKET_CHECK(expect(")", "or ',' after an operand"));
    return list;
  }

  // "name" = op(arguments) [reads (operands)] writes (operands) [{facts}]
  Status step() {
    StepSpec spec;
    HOCKET_TRY(const std::string own_name, string("a step's name"));
    HOCKET_CHECK(expect("=", "after a step's name"));
    HOCKET_TRY(const std::string op, op_name());
    HOCKET_CHECK(expect("(", "after an operator"));
    std::vector<Arg> args;
    std::vector<Keyword> keywords;
    HOCKET_CHECK(call_arguments(args, keywords, ")"));
    std::vector<OperandId> reads;
    const bool reads_said = accept("reads");
    if (reads_said) {
      HOCKET_TRY(reads, operands());
    }
    HOCKET_CHECK(expect("writes", "after the arguments"));
    HOCKET_TRY(const std::vector<OperandId> writes, operands());
    if (accept("{") && !accept("}")) {
      do {
        HOCKET_TRY(const bool known, measured_fact(spec.measured, spec.gemm));
        if (!known) HOCKET_CHECK(other_fact(spec));
      } while (accept(","));
      HOCKET_CHECK(expect("}", "or ',' after a fact"));
    }
    spec.name = own_name;
    spec.op = op;
    spec.args = args;
    spec.keywords = keywords;
    spec.writes = writes;
    if (reads_said) spec.reads = std::span<const OperandId>(reads);
    builder_->step(spec);
    return {};
  }

  Status other_fact(StepSpec& spec) {
    const std::size_t place = peek().begin;
    const std::string key(word());
    take();
    HOCKET_CHECK(expect("=", "after the name of a fact"));
    if (key == "waits_for") {
      const std::size_t where = peek().begin;
      HOCKET_TRY(const std::string text, string("a step's name"));
      const auto found = steps_.find(text);
      if (found == steps_.end()) return wrong_at(where, fmt::format("there is no step \"{}\"", text));
      spec.waits_for = found->second;
    } else if (key == "coll") {
      if (accept("none")) {
        spec.collective = std::optional<Collective>();
      } else {
        HOCKET_TRY(const Collective parsed, collective());
        spec.collective = parsed;
      }
    } else if (key == "int") {
      HOCKET_TRY(spec.integer, integer("an integer"));
    } else {
      return wrong_at(
          place, fmt::format("unknown fact '{}'; known: est, flops, read, written, gemm, waits_for, coll, int", key));
    }
    return {};
  }

  const OpTable& table_;
  std::unique_ptr<ProgramBuilder> builder_;
  std::unordered_map<std::string, StepId> steps_;
  std::unordered_map<std::string, BufferId> buffers_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  return ProgramPrinter(program, options).print();
}

Result<Program> parse_program(std::string_view text, const std::string& file, const OpTable& table) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return fail(Error{ErrorKind::input, "not UTF-8; program text is UTF-8", file});
  return ProgramParser(text, file, table).parse();
}

bool looks_like_program(std::string_view text) {
  Lexer lexer(text);
  return lexer.text(lexer.next()) == "program";
}

}  // namespace hocket
