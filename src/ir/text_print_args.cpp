#include <cmath>

#include "hocket/ir/builder.h"
#include "hocket/ir/json.h"
#include "ir/text_args.h"

namespace hocket {

void TextPrinter::real(double value) {
  if (std::isnan(value)) text_ += "nan";
  else if (std::isinf(value)) text_ += value > 0 ? "inf" : "-inf";
  else {
    const std::size_t begin = text_.size();
    put("{}", value);
    const std::size_t exponent = text_.find('e', begin);
    if (text_.find('.', begin) == std::string::npos && exponent == std::string::npos) text_ += ".0";
  }
}

void TextPrinter::labelled(std::string_view label, std::string_view text) {
  put("{}(", label);
  append_json_string(text_, text);
  text_ += ')';
}

void TextPrinter::arg(const Arg& arg) {
  const ArgPool& pool = tables_.pool();
  switch (arg.kind()) {
    case ArgKind::none: text_ += "none"; break;
    case ArgKind::boolean: text_ += arg.as_bool() ? "true" : "false"; break;
    case ArgKind::integer: put("{}", arg.as_integer()); break;
    case ArgKind::real: real(arg.as_real()); break;
    case ArgKind::symbolic: put("sym({})", tables_.symbols().to_string(arg.as_symbolic())); break;
    case ArgKind::string: append_json_string(text_, pool.text(arg)); break;
    case ArgKind::value: value(arg); break;
    case ArgKind::group: append_name(text_, '@', tables_.group(arg.as_group()).name); break;
    case ArgKind::dtype: text_ += short_name(arg.as_dtype()); break;
    case ArgKind::device: labelled("device", pool.text(arg)); break;
    case ArgKind::layout: labelled("layout", pool.text(arg)); break;
    case ArgKind::memory_format: labelled("memory_format", pool.text(arg)); break;
    case ArgKind::json: put("json({})", pool.text(arg)); break;
    case ArgKind::list:
      text_ += '[';
      arguments(pool.elements(arg), {});
      text_ += ']';
      break;
    case ArgKind::dict: {
      text_ += '{';
      const auto pairs = pool.elements(arg);
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        if (i > 0) text_ += ", ";
        append_json_string(text_, pool.text(pairs[i]));
        text_ += ": ";
        this->arg(pairs[i + 1]);
      }
      text_ += '}';
      break;
    }
  }
}

void TextPrinter::arguments(std::span<const Arg> args, std::span<const Keyword> keywords) {
  bool first = true;
  for (const Arg& positional : args) {
    if (!first) text_ += ", ";
    first = false;
    arg(positional);
  }
  for (const Keyword& keyword : keywords) {
    if (!first) text_ += ", ";
    first = false;
    const std::string_view key = tables_.pool().strings[keyword.key];
    const bool is_word = !key.empty() &&
                         key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                             std::string_view::npos &&
                         (key[0] < '0' || key[0] > '9');
    if (is_word) text_ += key;
    else append_json_string(text_, key);
    text_ += '=';
    arg(keyword.value);
  }
}

void TextPrinter::call(std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords) {
  const auto short_name = short_op_name(op);
  constexpr std::string_view word_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  const bool plain = short_name && !short_name->empty() &&
                     short_name->find_first_not_of(word_characters) == std::string_view::npos &&
                     std::string_view("0123456789.").find((*short_name)[0]) == std::string_view::npos &&
                     *short_name != "input" && *short_name != "attribute";
  if (plain) text_ += *short_name;
  else append_json_string(text_, op);
  text_ += '(';
  arguments(args, keywords);
  text_ += ')';
}

void TextPrinter::groups() {
  for (const Group& group : tables_.groups()) {
    text_ += "  group ";
    append_name(text_, '@', group.name);
    text_ += " = ranks[";
    const auto& ranks = group.ranks;
    constexpr std::size_t spelled_out = 8;  // longer lists of even steps are written as begin:end:step
    bool even = ranks.size() > spelled_out;
    for (std::size_t i = 2; even && i < ranks.size(); ++i) {
      even = std::int64_t{ranks[i].value} - ranks[i - 1].value == std::int64_t{ranks[1].value} - ranks[0].value;
    }
    const std::int64_t step = even ? std::int64_t{ranks[1].value} - ranks[0].value : 0;
    if (even && step > 0) {
      put("{}:{}", ranks.front().value, std::int64_t{ranks.back().value} + 1);
      if (step > 1) put(":{}", step);
    } else {
      for (std::size_t i = 0; i < ranks.size(); ++i) put("{}{}", i > 0 ? "," : "", ranks[i].value);
    }
    text_ += "]\n";
  }
}

void TextPrinter::dims(Dims list) {
  text_ += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text_ += ',';
    dim(list[i]);
  }
  text_ += ']';
}

void TextPrinter::type(const TypeView& type) {
  if (!scratch_ready_) {
    scratch_ = tables_.symbols();
    scratch_ready_ = true;
  }
  text_ += short_name(type.dtype);
  dims(type.shape);
  const auto dense = contiguous_strides(type.shape, scratch_);
  if (!dense || !std::equal(type.strides.begin(), type.strides.end(), dense->dims.begin())) {
    text_ += " strides";
    dims(type.strides);
  }
  if (type.offset != Dim(0)) {
    text_ += " offset ";
    dim(type.offset);
  }
}

void TextPrinter::fact(std::string_view text) {
  text_ += in_facts_ ? ", " : " {";
  in_facts_ = true;
  text_ += text;
}

void TextPrinter::measured(const Measured& measured, bool gemm) {
  if (!facts_) return;
  if (measured.picoseconds >= 0)
    fact(fmt::format("est={}ms", exact_ms(Nanoseconds::from_picoseconds(measured.picoseconds))));
  if (measured.flops >= 0) fact(fmt::format("flops={}", measured.flops));
  if (measured.read >= 0) fact(fmt::format("read={}", measured.read));
  if (measured.written >= 0) fact(fmt::format("written={}", measured.written));
  if (gemm) fact("gemm");
}

void TextPrinter::end_facts() {
  if (in_facts_) text_ += '}';
  in_facts_ = false;
}

}  // namespace hocket
