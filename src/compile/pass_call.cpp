// The written form of a pipeline: a,b(key=value),c.
#include <fmt/format.h>

#include "hocket/compile/pass.h"

namespace hocket {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
bool is_value(char c) { return c > ' ' && c != ',' && c != '(' && c != ')' && c != '='; }

class CallReader {
 public:
  explicit CallReader(std::string_view text) : text_(text) {}

  Result<std::vector<PassCall>> read() {
    std::vector<PassCall> calls;
    do {
      HOCKET_TRY(PassCall call, read_call());
      calls.push_back(std::move(call));
    } while (take(','));
    if (at_ < text_.size()) return wrong("a comma between two passes");
    return calls;
  }

 private:
  Result<PassCall> read_call() {
    PassCall call;
    call.name = word(is_word);
    if (call.name.empty()) return wrong("the name of a pass");
    if (!take('(')) return call;
    if (take(')')) return call;
    do {
      std::string key = word(is_word);
      if (key.empty()) return wrong("the name of an option");
      if (!take('=')) return wrong("= after " + key);
      std::string value = word(is_value);
      if (value.empty()) return wrong("a value for " + key);
      call.arguments.emplace_back(std::move(key), std::move(value));
    } while (take(','));
    if (!take(')')) return wrong("a closing bracket");
    return call;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string word(bool (*belongs)(char)) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  tl::unexpected<Error> wrong(const std::string& expected) const {
    const std::string got = at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : std::string("the end");
    return fail(ErrorKind::usage, "in the list of passes, at character {}: expected {}, got {}", at_ + 1, expected,
                got);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<PassCall>> parse_passes(std::string_view text) { return CallReader(text).read(); }

std::string PassCall::to_string() const {
  if (arguments.empty()) return name;
  std::string text = name + "(";
  for (const auto& [key, value] : arguments) text += fmt::format("{}{}={}", text.back() == '(' ? "" : ",", key, value);
  return text + ")";
}

std::string to_string(std::span<const PassCall> passes) {
  std::string text;
  for (const PassCall& call : passes) text += (text.empty() ? "" : ",") + call.to_string();
  return text;
}

}  // namespace hocket
