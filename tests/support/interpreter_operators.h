// What operators compute, for one rank. Those that passes see through (arithmetic, sums, products of matrices, and all that
// only moves data) have their true meaning over words; any other gives a hash of its name, its arguments and all that it reads:
// the same values in give the same values out, and any change shows. Nothing here knows of the passes.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hocket/base/error.h"
#include "support/interpreter_values.h"

namespace hocket::interpreter {

// Why a run ended early. run() makes an Error of it.
struct Halt : std::runtime_error {
  explicit Halt(const std::string& message, ErrorKind why = ErrorKind::input)
      : std::runtime_error(message), kind(why) {}
  ErrorKind kind;
};

using Sizes = std::vector<std::int64_t>;

std::int64_t count_of(const Sizes& shape);

struct Tensor {
  Sizes shape;
  std::vector<Word> words;  // row by row
};

// An argument: a number, a text, a tensor by its number in the call, or a list of arguments.
struct Item {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, dtype, word, tensor, list, ignored };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // also of boolean and dtype
  double real = 0;
  std::string_view text;
  Word word = 0;           // a number that the run computed
  std::size_t tensor = 0;  // also of word: which of the call's computed numbers
  std::vector<Item> elements;

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real) || is(Kind::word); }
};

// Gives the tensors of a call. It objects to poison, where it may not be read.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  virtual const Sizes& shape(std::size_t tensor) = 0;
  virtual Tensor read(std::size_t tensor, bool moves_only) = 0;
};

// One call, as the rule of its operator sees it.
struct Call {
  std::string_view op;  // the base name: "add" of aten.add_.Tensor
  std::span<const Item> args;
  std::span<const std::pair<std::string_view, Item>> keywords;
  TensorReader* reader = nullptr;
  Word salt = 0;                // of operators that draw random numbers: which draw it is
  bool moves = false;           // its rule only moves data: memory that nothing has written may be moved
  std::vector<Tensor> results;  // shapes are given; the rule fills in the words

  const Item* find(std::size_t position, std::string_view keyword = {}) const;  // nullptr where absent or none
  const Item& at(std::size_t position, std::string_view keyword = {}) const;    // Halt where absent
  Tensor tensor(std::size_t position, std::string_view keyword = {}) const { return tensor(at(position, keyword)); }
  Tensor tensor(const Item& item) const;
  const Sizes& shape(const Item& item) const;
  std::vector<Tensor> tensors(const Item& list) const;
  std::int64_t integer(std::size_t position, std::string_view keyword, std::int64_t fallback) const;
  Sizes integers(std::size_t position, std::string_view keyword) const;  // a number is a list of one
  Word number(const Item& item) const;
  Word number(std::size_t position, std::string_view keyword, Word fallback) const;
};

// "add" of "aten.add_.Tensor": operators that differ in overload or in where they write compute the same.
std::string_view base_name(std::string_view op);

// Does the operator look at shapes alone, of its tensors? (full_like, new_zeros, …)
bool looks_at_no_data(std::string_view base);

// Fills in call.results.
void evaluate(Call& call);

// A hash of all that a call is given: name, arguments, shapes and words of its tensors.
Word hash_of(const Call& call);

// ---- the rules, by family; nullptr where a family has none of this name

struct Rule {
  void (*apply)(Call& call) = nullptr;
  bool moves = false;
};
Rule pointwise_rule(std::string_view base);
Rule movement_rule(std::string_view base);
Rule indexing_rule(std::string_view base);
Rule algebra_rule(std::string_view base);

// The position in an operand of this shape for each position of a result, by the rules of broadcasting.
// Empty: the operand does not fit.
std::vector<std::size_t> broadcast_positions(const Sizes& operand, const Sizes& result);
// Ends the run where a call makes no sense: a defect that the verifier would have reported.
inline void require(bool holds, const char* otherwise) {
  if (!holds) throw Halt(otherwise);
}
std::size_t wrapped_dim(std::int64_t dim, std::size_t rank);

}  // namespace hocket::interpreter
