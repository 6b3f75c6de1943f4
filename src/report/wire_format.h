// The wire format of protocol buffers, as far as Chakra's messages need it.
// https://protobuf.dev/programming-guides/encoding is the description: a field is its number and kind, then a varint, eight bytes, four
// bytes, or a length and so many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

class WireWriter {
 public:
  void integer(std::uint32_t field, std::uint64_t value);   // uint64, int64, bool, enum; 0 is left out, as proto3 does
  void always(std::uint32_t field, std::uint64_t value);    // inside a oneof, where 0 counts
  void text(std::uint32_t field, std::string_view value);   // string, bytes, message
  void integers(std::uint32_t field, const auto& values) {  // packed
    WireWriter inside;
    for (const std::uint64_t value : values) inside.varint(value);
    if (!inside.bytes_.empty()) text(field, inside.bytes_);
  }
  void varint(std::uint64_t value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The fields of a message, one after the other. Nothing is read beyond the end, whatever the bytes are.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  struct Field {
    std::uint32_t number = 0;
    std::uint64_t integer = 0;   // of a varint
    std::string_view text = {};  // of a length-delimited field
    bool has_text = false;
  };
  // Nothing at the end, and where the bytes are no message: then ok() is false.
  std::optional<Field> next();
  bool ok() const { return ok_; }

  std::optional<std::uint64_t> varint();
  std::optional<std::string_view> take(std::uint64_t size);
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace hocket
