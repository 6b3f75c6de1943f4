#include <gtest/gtest.h>

#include "hocket/ir/op_table.h"

namespace hocket {
namespace {

// Values by number: 0 a matrix, 1 the integer 7, 2 an integer of run time, 3 a list of two matrices.
class SomeValues final : public Call::Values {
 public:
  std::size_t output_count(Arg value) const override {
    const std::uint32_t id = value.as_node().value;
    return id == 0 ? 1U : id == 3 ? 2U : 0U;
  }
  TypeView output(Arg, std::size_t) const override { return {Dtype::bf16, shape_, strides_, Dim(0)}; }
  std::optional<std::int64_t> integer(Arg value) const override {
    return value.as_node().value == 1 ? std::optional<std::int64_t>(7) : std::nullopt;
  }
  std::int64_t group_size(GroupId) const override { return 4; }
  std::size_t group_count() const override { return 1; }

 private:
  std::vector<Dim> shape_{2, 3};
  std::vector<Dim> strides_{3, 1};
};

class CallAccess : public testing::Test {
 protected:
  static Arg value(std::size_t id) { return Arg::value(NodeId(id)); }
  Arg string(std::string_view text) { return Arg::text(ArgKind::string, pool_.strings.add(text)); }
  Arg list(std::vector<Arg> elements) { return Arg::list(pool_.add(elements)); }
  void add_keyword(std::string_view key, Arg arg) { keywords_.push_back({pool_.strings.add(key), arg}); }

  Call call(std::vector<Arg> args) {
    args_ = std::move(args);
    return Call(pool_, args_, keywords_, values_, symbols_);
  }

  template <class T>
  static std::string message(const Result<T>& result) {
    return result ? "no error" : result.error().message;
  }

  ArgPool pool_;
  std::vector<Arg> args_;
  std::vector<Keyword> keywords_;
  SomeValues values_;
  SymbolTable symbols_;
};

TEST_F(CallAccess, ErrorsNameTheArgumentWhatItIsAndWhatItShouldBe) {
  const Call c = call({string("sum"), Arg::real(0.5), value(0), list({Arg::integer(1), Arg::boolean(true)})});
  EXPECT_EQ(message(c.tensor(0)), "argument 0 is the string 'sum', expected a tensor");
  EXPECT_EQ(message(c.integer({1, "dim"})), "argument 1 (dim) is the number 0.5, expected an integer");
  EXPECT_EQ(message(c.integer(2)), "argument 2 is a tensor, expected an integer");
  EXPECT_EQ(message(c.integers({3, "dims"})), "element 1 of argument 3 (dims) is true, expected an integer");
  EXPECT_EQ(message(c.tensors(3)), "element 0 of argument 3 is the integer 1, expected a tensor");
  EXPECT_EQ(message(c.boolean_or(0, false)), "argument 0 is the string 'sum', expected true or false");
  EXPECT_EQ(message(c.string(1)), "argument 1 is the number 0.5, expected a string");
  EXPECT_EQ(message(c.group_size(0)), "argument 0 is the string 'sum', expected a group of the program");
}

TEST_F(CallAccess, ErrorsSayThatAnArgumentIsMissing) {
  const Call c = call({Arg::none()});
  EXPECT_EQ(message(c.tensor({0, "self"})), "argument 0 (self) is missing, expected a tensor");
  EXPECT_EQ(message(c.tensor(1)), "argument 1 is missing, expected a tensor");
  EXPECT_EQ(message(c.dims({2, "size"})), "argument 2 (size) is missing, expected a list of sizes");
}

TEST_F(CallAccess, ArgumentsCanBeGivenByKeyword) {
  add_keyword("dim", Arg::integer(-1));
  add_keyword("dtype", Arg::dtype(Dtype::f16));
  const Call c = call({value(0)});
  EXPECT_EQ(c.integer({1, "dim"}), -1);
  EXPECT_EQ(c.integer_or({1, "other"}, 5), 5);
  EXPECT_FALSE(c.has(1));
  EXPECT_EQ(c.dtype_keyword().value(), std::optional(Dtype::f16));
  EXPECT_EQ(c.dtype_keyword("out_dtype").value(), std::optional<Dtype>());
}

TEST_F(CallAccess, AKeywordOfAnotherKindIsAnError) {
  add_keyword("dtype", Arg::integer(1));
  EXPECT_EQ(message(call({}).dtype_keyword()), "keyword argument dtype is the integer 1, expected a dtype");
}

TEST_F(CallAccess, AnIntegerMayBeTheResultOfANode) {
  const Call c = call({value(1), list({value(1), Arg::integer(2)})});
  EXPECT_EQ(c.integer(0), 7);
  EXPECT_EQ(c.dims(1), (std::vector<Dim>{7, 2}));
  EXPECT_TRUE(c.is_number(0));
}

TEST_F(CallAccess, AnIntegerOfRunTimeCannotBeInferred) {
  const Call c = call({value(2), list({Arg::integer(1), value(2)})});
  EXPECT_TRUE(is_cannot_infer(c.integer(0).error()));
  EXPECT_EQ(message(c.dims({1, "splits"})),
            "the result's type is not known: element 1 of argument 1 (splits) is computed at run time");
  EXPECT_FALSE(is_cannot_infer(c.tensor(0).error()));
}

TEST_F(CallAccess, ASymbolicSizeIsASizeButNoInteger) {
  const Dim size = *symbols_.parse("s0*2");
  const Call c = call({Arg::symbolic(size)});
  EXPECT_EQ(c.dim(0), size);
  EXPECT_TRUE(is_cannot_infer(c.integer(0).error()));
}

TEST_F(CallAccess, SizesAreNeitherNegativeNorHuge) {
  const Call c = call({Arg::integer(-1), Arg::integer(Dim::max + 1)});
  EXPECT_EQ(message(c.dim(0)), "argument 0 is -1, expected a size of 0 or more");
  EXPECT_FALSE(c.dim(1));
}

TEST_F(CallAccess, ALoneIntegerIsAListOfOne) {
  EXPECT_EQ(call({Arg::integer(3)}).integers(0), (std::vector<std::int64_t>{3}));
}

TEST_F(CallAccess, AListOfTensorsMayBeTheResultOfANode) {
  const Call c = call({value(3), list({value(0), value(0), value(0)})});
  EXPECT_EQ(c.tensors(0)->size(), 2U);
  EXPECT_EQ(c.tensors(1)->size(), 3U);
  EXPECT_EQ(message(c.tensor(0)), "argument 0 is a list of 2 tensors, expected a tensor");
}

TEST_F(CallAccess, AGroupThatTheProgramLacksIsAnError) {
  const Call c = call({Arg::group(GroupId(0)), Arg::group(GroupId(5))});
  EXPECT_EQ(c.group_size(0), 4);
  EXPECT_EQ(message(c.group_size(1)), "argument 1 is group number 5, but the program has 1 groups");
}

}  // namespace
}  // namespace hocket
