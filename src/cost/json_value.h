// Strict reading of small JSON files: every value knows its place, so that every error can name it.
//
//   HOCKET_TRY(const nlohmann::json document, parse_json(text, "machine.json", limits));
//   const JsonValue top(document, "machine.json");
//   HOCKET_CHECK(top.has_only({"name", "levels"}));
//   HOCKET_TRY(const JsonValue name, top.member("name"));
//
// Places read "machine.json: levels[1].bandwidth".
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/quantity.h"
#include "hocket/base/error.h"

namespace hocket {

struct JsonLimits {
  std::size_t bytes = 0;
  int depth = 0;
};

// Refuses what is too long or too deep, members that are there twice, and text behind the value.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& file, const JsonLimits& limits);

class JsonValue {
 public:
  JsonValue(const nlohmann::json& value, std::string file) : value_(&value), file_(std::move(file)) {}

  const nlohmann::json& raw() const { return *value_; }

  // An object whose members are all among these.
  Status has_only(std::span<const std::string_view> members) const;
  Result<JsonValue> member(std::string_view key) const;  // an error where it is absent
  std::optional<JsonValue> find(std::string_view key) const;
  // The members of an object, by key.
  Result<std::vector<std::pair<std::string, JsonValue>>> members() const;
  Result<std::vector<JsonValue>> elements(std::size_t most) const;

  Result<std::string> text() const;
  Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  Result<double> number() const;  // not negative
  Result<double> quantity(Quantity quantity) const;
  Result<Nanoseconds> time() const;

  // The error of this place. `expected` says what should be there instead.
  tl::unexpected<Error> wrong(std::string_view expected) const;
  tl::unexpected<Error> refuse(std::string message) const;
  JsonValue element(std::size_t index) const;

 private:
  JsonValue(const nlohmann::json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}
  JsonValue child(const nlohmann::json& value, std::string_view key) const;

  const nlohmann::json* value_;
  std::string file_;
  std::string path_;  // below the file: "levels[1].bandwidth"
};

}  // namespace hocket
