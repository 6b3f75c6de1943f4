// The parts of program text that graphs and programs of steps share: arguments, types, groups, facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/ir/tables.h"
#include "ir/text_lexer.h"

namespace hocket {

class TextPrinter {
 public:
  TextPrinter(const Tables& tables, bool facts) : tables_(tables), facts_(facts) {}
  virtual ~TextPrinter() = default;

 protected:
  virtual void value(const Arg& arg) = 0;

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void arg(const Arg& arg);
  void call(std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords);
  void arguments(std::span<const Arg> args, std::span<const Keyword> keywords);
  void groups();
  void dim(Dim dim) {
    if (dim.is_static()) put("{}", dim.value());
    else text_ += tables_.symbols().to_string(dim);
  }
  void dims(Dims list);
  // "f32[2,3] strides[1,2] offset 4": strides and offset where they are not the usual ones
  void type(const TypeView& type);
  // Opens the braces at the first fact, closes them at the end.
  void fact(std::string_view text);
  void measured(const Measured& measured, bool gemm);
  void end_facts();

  const Tables& tables_;
  bool facts_;
  std::string text_;

 private:
  void real(double value);
  void labelled(std::string_view label, std::string_view text);
  std::string name_text(char sign, std::string_view name);
  bool in_facts_ = false;
  SymbolTable scratch_;
  bool scratch_ready_ = false;
};

struct ParsedType {
  Dtype dtype = Dtype::f32;
  std::vector<Dim> shape;
  std::optional<std::vector<Dim>> strides;
  Dim offset = 0;
};

class TextParser {
 public:
  TextParser(std::string_view text, const std::string& file) : lexer_(text), file_(file) { take(); }
  virtual ~TextParser() = default;

 protected:
  virtual Result<Arg> value() = 0;  // at a value token
  virtual TablesBuilder& tables() = 0;

  // The token that comes next, and taking it.
  const Token& peek() const { return token_; }
  std::string_view word() const { return lexer_.text(token_); }
  bool at(std::string_view symbol_or_word) const {
    return (token_.kind == TokenKind::symbol || token_.kind == TokenKind::word) && word() == symbol_or_word;
  }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  void take() {
    last_end_ = token_.end;
    token_ = lexer_.next();
  }
  bool accept(std::string_view symbol_or_word) {
    if (!at(symbol_or_word)) return false;
    take();
    return true;
  }
  Status expect(std::string_view symbol_or_word, std::string_view where);
  tl::unexpected<Error> wrong(std::string message) const { return wrong_at(token_.begin, std::move(message)); }
  tl::unexpected<Error> wrong_at(std::size_t offset, std::string message) const {
    return fail(error_at(lexer_.text(), offset, file_, std::move(message)));
  }
  std::string found() const;  // "found '…'" for messages

  Result<std::string> name(TokenKind kind, std::string_view what);
  Result<std::string> string(std::string_view what);
  Result<std::int64_t> integer(std::string_view what);
  Result<Dim> dim();
  Result<std::vector<Dim>> dims();
  Result<ParsedType> type();
  Result<Arg> arg(int depth);
  Status call_arguments(std::vector<Arg>& args, std::vector<Keyword>& keywords, std::string_view close);
  Result<std::string> op_name();
  Result<std::string> json();
  Status group();
  Result<GroupId> known_group();
  Result<Nanoseconds> milliseconds();
  // One of est, flops, read, written, gemm; false if the word is none of them.
  Result<bool> measured_fact(Measured& measured, bool& gemm);
  Result<Collective> collective();

  Lexer lexer_;
  std::string file_;
  Token token_;
  std::size_t last_end_ = 0;

 private:
  Result<Arg> word_arg(int depth);
  Result<Arg> number_arg();
  Result<Arg> elements(std::string_view close, bool is_dict, int depth);
};

}  // namespace hocket
