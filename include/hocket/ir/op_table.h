// The operator table: one row for each operator with its effects, its shape function and its cost.
// What a pass may do with an operator follows from its row; an operator without a row is opaque, a barrier.
//
//   const OpSpec* spec = OpTable::builtin().find("aten.mm.default");
//   if (spec && spec->effects.gemm) …
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hocket/base/dtype.h"
#include "hocket/base/error.h"
#include "hocket/base/shape.h"
#include "hocket/base/units.h"
#include "hocket/ir/arg.h"

namespace hocket {

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, p2p };

std::string_view name_of(CollectiveKind kind);
std::optional<CollectiveKind> collective_kind_from_name(std::string_view name);

// Where an operator's results live.
enum class Alias : std::uint8_t {
  fresh,  // new storage
  first,  // the storage of its first argument: a view, or the argument itself for an in-place operator
  either,  // a view of the first argument or a copy of it, as the layout demands (reshape, contiguous): the capture tells
  out,     // the storage of its `out` keyword argument
};

// How an operator communicates. Argument positions; -1 where there is none.
struct CommSpec {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int group_arg = -1;       // the group
  int reduce_arg = -1;      // the name of the reduce operation
  int group_size_arg = -1;  // a number that must be the group's size
  bool blocking = false;    // its result needs no wait
};

struct Effects {
  Alias alias = Alias::fresh;
  std::uint8_t alias_arg = 0;  // the positional argument that Alias::first and Alias::either mean
  std::uint32_t mutates = 0;   // bit i: positional argument i is written (a list: all its elements)
  bool mutates_out = false;    // the `out` keyword argument is written
  std::optional<CommSpec> comm;
  bool waits = false;  // completes the collective that made its argument
  bool gemm = false;   // matmul-like: what communication hides behind
  bool side_effect =
      false;            // has an effect beyond its results (assertion, resize): never dropped, order kept among such
  bool opaque = false;  // may read and write anything
};

// A tensor's type as shape functions see it: strides may be empty where they don't matter.
struct TypeView {
  Dtype dtype = Dtype::f32;
  Dims shape;
  Dims strides;
  Dim offset = 0;
};

struct InferredType {
  Dtype dtype = Dtype::f32;
  Shape shape;
  Strides strides;
  Dim offset = 0;
  bool copied = false;  // of an operator with Alias::either: this result is a copy
};

// What a shape function answers where a type depends on something that is not known here: the value of an integer
// that is computed at run time, or how two symbols compare. It is no mistake of the program.
Error cannot_infer(std::string why);
bool is_cannot_infer(const Error& error);

// A parameter of an operator: its position, and its name for calls that pass it by keyword.
struct Param {
  std::size_t index;
  std::string_view name;
  constexpr Param(std::size_t position, std::string_view keyword = {}) : index(position), name(keyword) {}  // NOLINT
};

// What a shape function is told about a call, and where it puts its answer.
// The accessors answer an error that names the argument when it is missing or of another kind.
class Call {
 public:
  // Types of a value: one for each of its outputs. An integer value has none, but may have a known integer.
  class Values {
   public:
    virtual ~Values() = default;
    virtual std::size_t output_count(Arg value) const = 0;
    virtual TypeView output(Arg value, std::size_t index) const = 0;
    // Where result `index` of a value that is a list stands among its outputs; nothing where it is unknown or absent.
    virtual std::optional<std::size_t> position(Arg value, std::size_t index) const {
      return index < output_count(value) ? std::optional(index) : std::nullopt;
    }
    virtual std::optional<std::int64_t> integer(Arg value) const = 0;
    virtual std::int64_t group_size(GroupId group) const = 0;
    virtual std::size_t group_count() const = 0;
  };

  Call(const ArgPool& pool, std::span<const Arg> args, std::span<const Keyword> keywords, const Values& values,
       SymbolTable& symbols)
      : pool_(pool), args_(args), keywords_(keywords), values_(values), symbols_(symbols) {}

  std::size_t size() const { return args_.size(); }
  // The argument of a parameter, by position or by keyword; nullptr where it is absent or none.
  const Arg* find(Param param) const;
  bool has(Param param) const { return find(param) != nullptr; }
  const Arg* keyword(std::string_view key) const;
  std::span<const Arg> args() const { return args_; }
  std::span<const Keyword> keywords() const { return keywords_; }
  const ArgPool& pool() const { return pool_; }
  SymbolTable& symbols() const { return symbols_; }
  const Values& values() const { return values_; }

  Result<TypeView> tensor(Param param) const;
  Result<TypeView> tensor(const Arg& arg, std::string_view what) const;
  Result<std::vector<TypeView>> tensors(Param param) const;  // a list of tensors
  Result<std::int64_t> integer(Param param) const;
  Result<std::int64_t> integer_or(Param param, std::int64_t fallback) const;
  Result<bool> boolean_or(Param param, bool fallback) const;
  Result<Dim> dim(Param param) const;  // a size, possibly symbolic
  Result<Dim> dim(const Arg& arg, std::string_view what) const;
  Result<std::vector<std::int64_t>> integers(Param param) const;
  Result<std::vector<Dim>> dims(Param param) const;
  Result<std::int64_t> group_size(Param param) const;
  Result<std::string_view> string(Param param) const;
  Result<std::optional<Dtype>> dtype_keyword(std::string_view key = "dtype") const;

  // Is the argument a number rather than a tensor?
  bool is_number(Param param) const;

 private:
  const ArgPool& pool_;
  std::span<const Arg> args_;
  std::span<const Keyword> keywords_;
  const Values& values_;
  SymbolTable& symbols_;
};

using Outputs = std::vector<InferredType>;
using ShapeFunction = Result<Outputs> (*)(const Call& call);

struct OpWork {
  double flops = 0;
  Bytes read;
  Bytes written;
};
// FLOPs of a call with these outputs. Bytes follow from the arguments and results, see work_of().
using FlopFunction = Result<double> (*)(const Call& call, std::span<const TypeView> outputs);

struct OpSpec {
  std::string name;  // as in captured graphs: "aten.mm.default", "getitem"
  Effects effects;
  ShapeFunction shape = nullptr;  // absent: types are taken from the capture
  FlopFunction flops = nullptr;   // absent: none that count
  int output_mask_arg = -1;       // a list of booleans: which of its results are there; the others have no output
  std::vector<std::uint8_t> tensor_results;  // the results that are tensors, where not all are; empty: all
  bool metadata_only = false;                // looks at sizes and strides, never at data
  bool list_result = false;  // results in a list even of one tensor (split, coalesced forms): getitem takes it apart
};

// Whether an operator communicates and its results need no wait. Not of an operator without a row.
inline bool is_blocking(const OpSpec* spec) {
  return spec != nullptr && spec->effects.comm && spec->effects.comm->blocking;
}

// Where result `index` (what getitem names) of a call stands among its outputs, by its row; nothing where it has none.
std::optional<std::size_t> output_position(const OpSpec& spec, const ArgPool& pool, std::span<const Arg> args,
                                           std::size_t index);

class OpTable {
 public:
  // The operators that hocket knows. Built once.
  static const OpTable& builtin();

  OpTable() = default;
  explicit OpTable(std::vector<OpSpec> rows);

  // A later row replaces an earlier one of the same name. Graphs hold pointers to rows: add before graphs are made.
  void add(OpSpec row);
  const OpSpec* find(std::string_view name) const;
  std::span<const OpSpec> rows() const { return rows_; }
  // The known name that looks most like this one, for messages; empty if none is near.
  std::string_view nearest(std::string_view name) const;

 private:
  std::vector<OpSpec> rows_;
  std::unordered_map<std::string, std::size_t> index_;
};

// FLOPs and bytes of a call by its row: a view, a getitem or a wait moves nothing; anything else reads its tensor
// arguments once and writes its results once.
Result<OpWork> work_of(const OpSpec& spec, const Call& call, std::span<const TypeView> outputs);

Bytes tensor_bytes(const TypeView& type);  // elements · element size; symbolic sizes count as 0
std::optional<Dim> extent_bytes(const TypeView& type,
                                SymbolTable& symbols);  // what a strided tensor reaches of its storage

}  // namespace hocket
