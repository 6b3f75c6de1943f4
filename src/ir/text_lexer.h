// Tokens of program text, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hocket/base/error.h"

namespace hocket {

enum class TokenKind : std::uint8_t {
  end,
  word,     // aten.mm, f32, true
  integer,  // -12
  real,     // 1.5e-3, inf is a word
  string,   // "text", still with its quotes and escapes
  value,    // %name or %"any name"
  global,   // @name or @"any name"
  symbol,   // one of ( ) [ ] { } , : = # * + and ->
  bad,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  void rewind(std::size_t offset) { at_ = offset; }
  std::string_view text() const { return text_; }
  std::string_view text(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }

 private:
  void skip_blanks();
  std::size_t quoted_end(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

// The characters that a string token stands for; an error for an unknown escape.
Result<std::string> unescape(std::string_view quoted);
// "%x", "@dp", "%\"odd name\"" without sign and quotes.
Result<std::string> bare_name(std::string_view token);
// Appends a name with its sign, quoted where it has to be.
void append_name(std::string& to, char sign, std::string_view name);

// An error at a place in the text: file:line:column, with the line and a caret under the place.
Error error_at(std::string_view text, std::size_t offset, const std::string& file, std::string message);

}  // namespace hocket
