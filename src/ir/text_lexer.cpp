#include "ir/text_lexer.h"

#include <algorithm>

#include "hocket/ir/json.h"

namespace hocket {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c) || c == '.'; }

}  // namespace

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

// One past the closing quote of the string that opens at `at`; npos if it never closes on its line.
std::size_t Lexer::quoted_end(std::size_t at) const {
  for (std::size_t i = at + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == '\\') ++i;
    else if (text_[i] == '"') return i + 1;
  }
  return std::string_view::npos;
}

Token Lexer::next() {
  skip_blanks();
  Token token{TokenKind::end, at_, at_};
  if (at_ >= text_.size()) return token;
  const char c = text_[at_];
  const auto finish = [&](TokenKind kind, std::size_t end) {
    token.kind = kind;
    token.end = at_ = end;
    return token;
  };
  const auto scan = [&](std::size_t from, auto accept) {
    while (from < text_.size() && accept(text_[from])) ++from;
    return from;
  };
  if (c == '"') {
    const std::size_t end = quoted_end(at_);
    return end == std::string_view::npos ? finish(TokenKind::bad, at_ + 1) : finish(TokenKind::string, end);
  }
  if (c == '%' || c == '@') {
    const TokenKind kind = c == '%' ? TokenKind::value : TokenKind::global;
    if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      const std::size_t end = quoted_end(at_ + 1);
      return end == std::string_view::npos ? finish(TokenKind::bad, at_ + 1) : finish(kind, end);
    }
    const std::size_t end = scan(at_ + 1, is_word);
    return end == at_ + 1 ? finish(TokenKind::bad, end) : finish(kind, end);
  }
  if (is_word_start(c)) return finish(TokenKind::word, scan(at_, is_word));
  const bool negative_number = c == '-' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(c) || negative_number) {
    std::size_t end = scan(at_ + 1, is_digit);
    TokenKind kind = TokenKind::integer;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      kind = TokenKind::real;
      end = scan(end + 1, is_digit);
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        kind = TokenKind::real;
        end = scan(exponent, is_digit);
      }
    }
    return finish(kind, end);
  }
  if (text_.substr(at_, 2) == "->") return finish(TokenKind::symbol, at_ + 2);
  if (std::string_view("()[]{},:=#*+-").find(c) != std::string_view::npos) return finish(TokenKind::symbol, at_ + 1);
  return finish(TokenKind::bad, at_ + 1);
}

namespace {

void append_utf8(std::string& to, std::uint32_t code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | code >> 6);
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | code >> 12);
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xf0 | code >> 18);
    to += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t code = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    if (is_digit(c)) code = code * 16 + static_cast<std::uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f') code = code * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F') code = code * 16 + static_cast<std::uint32_t>(c - 'A' + 10);
    else return std::nullopt;
  }
  return code;
}

bool is_high_surrogate(std::uint32_t code) { return code >= 0xd800 && code < 0xdc00; }
bool is_low_surrogate(std::uint32_t code) { return code >= 0xdc00 && code < 0xe000; }

}  // namespace

Result<std::string> unescape(std::string_view quoted) {
  std::string result;
  const std::string_view body = quoted.substr(1, quoted.size() - 2);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      result += body[i];
      continue;
    }
    ++i;  // the lexer never ends a string on a lone backslash
    constexpr std::string_view names = "\"\\/nrtbf";
    constexpr std::string_view meant = "\"\\/\n\r\t\b\f";
    if (const std::size_t which = names.find(body[i]); which != std::string_view::npos) {
      result += meant[which];
      continue;
    }
    auto code = body[i] == 'u' ? hex4(body, i + 1) : std::nullopt;
    if (!code)
      return fail(ErrorKind::input, "unknown escape \\{} in a string; known: \\\" \\\\ \\/ \\n \\r \\t \\b \\f \\uXXXX",
                  body[i]);
    i += 4;
    if (is_high_surrogate(*code) && body.substr(i + 1, 2) == "\\u") {
      if (const auto low = hex4(body, i + 3); low && is_low_surrogate(*low)) {
        code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
        i += 6;
      }
    }
    if (is_high_surrogate(*code) || is_low_surrogate(*code))
      return fail(ErrorKind::input, "half of a surrogate pair in a string");
    append_utf8(result, *code);
  }
  return result;
}

Result<std::string> bare_name(std::string_view token) {
  const std::string_view rest = token.substr(1);
  if (!rest.empty() && rest[0] == '"') return unescape(rest);
  return std::string(rest);
}

void append_name(std::string& to, char sign, std::string_view name) {
  to += sign;
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_word)) to += name;
  else append_json_string(to, name);
}

Error error_at(std::string_view text, std::size_t offset, const std::string& file, std::string message) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t line_end = std::min(text.find('\n', offset), text.size());
  // Of a long line only the surroundings are shown, cut between characters.
  constexpr std::size_t context = 60;
  const auto is_inside_character = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t begin = std::max(line_begin, offset > context ? offset - context : 0);
  while (begin < offset && is_inside_character(begin)) ++begin;
  std::size_t end = std::min(line_end, offset + context);
  while (end > offset && is_inside_character(end)) --end;
  std::string caret;
  for (std::size_t i = begin; i < offset; ++i) {
    if (!is_inside_character(i)) caret += text[i] == '\t' ? '\t' : ' ';
  }
  message += fmt::format("\n  {}\n  {}^", text.substr(begin, end - begin), caret);
  return {ErrorKind::input, std::move(message), fmt::format("{}:{}:{}", file, line, offset - line_begin + 1)};
}

}  // namespace hocket
