#include "report/wire_format.h"

namespace hocket {

namespace {

constexpr std::uint32_t varint_kind = 0, eight_bytes = 1, delimited = 2, four_bytes = 5;

}  // namespace

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void WireWriter::always(std::uint32_t field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3 | varint_kind);
  varint(value);
}

void WireWriter::integer(std::uint32_t field, std::uint64_t value) {
  if (value != 0) always(field, value);
}

void WireWriter::text(std::uint32_t field, std::string_view value) {
  varint(std::uint64_t{field} << 3 | delimited);
  varint(value.size());
  bytes_ += value;
}

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t size) {
  if (size > rest_.size()) {
    ok_ = false;
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::optional<WireReader::Field> WireReader::next() {
  if (rest_.empty() || !ok_) return std::nullopt;
  const auto key = varint();
  if (!key) return std::nullopt;
  Field field;
  field.number = static_cast<std::uint32_t>(*key >> 3);
  std::optional<std::uint64_t> number = 0;
  std::optional<std::string_view> text = std::string_view();
  switch (*key & 7) {
    case varint_kind: number = varint(); break;
    case eight_bytes: text = take(8); break;
    case four_bytes: text = take(4); break;
    case delimited:
      number = varint();
      text = number ? take(*number) : std::nullopt;
      field.has_text = true;
      break;
    default: ok_ = false;
  }
  if (!ok_ || !number || !text) return std::nullopt;
  field.integer = *number;
  if (field.has_text) field.text = *text;
  return field;
}

}  // namespace hocket
