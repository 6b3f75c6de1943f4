// Shape functions on symbolic sizes and on mistakes; what PyTorch gives for sound calls is in ops_captured_test.cpp.
#include <gtest/gtest.h>

#include <limits>

#include "hocket/ir/op_table.h"
#include "support/random.h"
#include "support/typed_call.h"

namespace hocket {
namespace {

constexpr std::string_view unknown = "the result's type is not known: ";

// ---- symbolic sizes

TEST(SymbolicSizes, PassThroughPointwiseOperators) {
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.exp(%x)"), "f32[s0,8]");
  EXPECT_EQ(type_of("%x: f32[s0,8], %b: bf16[8]", "aten.add.Tensor(%x, %b)"), "f32[s0,8]");
  EXPECT_EQ(type_of("%x: f32[s0,1], %b: f32[1,s1]", "aten.mul.Tensor(%x, %b)"), "f32[s0,s1]");
  EXPECT_EQ(type_of("%x: f32[8,s0]", "aten.mul.Tensor(%x, 2.0)"), "f32[8,s0]");
}

TEST(SymbolicSizes, KeepALayoutWhoseStridesCanBeRanked) {
  EXPECT_EQ(type_of("%x: f32[8,s0] strides[1,8]", "aten.exp(%x)"), "f32[8,s0] strides[1,8]");
}

TEST(SymbolicSizes, ThatMayOrMayNotBroadcastCannotBeInferred) {
  EXPECT_EQ(type_of("%x: f32[s0], %z: f32[s1]", "aten.add.Tensor(%x, %z)"),
            std::string(unknown) + "shapes [s0] and [s1] may or may not broadcast");
}

TEST(SymbolicSizes, StridesThatCannotBeRankedCannotBeInferred) {
  EXPECT_EQ(type_of("%x: f32[8,s0,s1] strides[s0,1,s0*8]", "aten.exp(%x)"),
            std::string(unknown) + "strides [s0, 1, s0*8] cannot be ranked");
}

TEST(SymbolicSizes, AreFoundByProductInViews) {
  EXPECT_EQ(type_of("%x: f32[s0,8,4]", "aten.view(%x, [-1, 4])"), "f32[s0*8,4]");
  EXPECT_EQ(type_of("%x: f32[s0,8,4]", "aten.view(%x, [sym(s0*8), 4])"), "f32[s0*8,4]");
  EXPECT_EQ(type_of("%x: f32[s0*8,4]", "aten.view(%x, [sym(s0), -1])"),
            std::string(unknown) + "the size of -1 depends on the relation of symbols");
}

TEST(SymbolicSizes, PassThroughMatmulsAndReductions) {
  EXPECT_EQ(type_of("%x: bf16[s0,8], %w: bf16[8,4]", "aten.mm(%x, %w)"), "bf16[s0,4]");
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.sum.dim_IntList(%x, [1], true)"), "f32[s0,1]");
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.permute(%x, [1, 0])"), "f32[8,s0] strides[1,8]");
  EXPECT_EQ(type_of("%x: f32[s0,8], %z: f32[4,8]", "aten.cat([%x, %z])"), "f32[s0 + 4,8]");
}

TEST(SymbolicSizes, SlicesOfTheWholeAreTheWhole) {
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.slice.Tensor(%x, 0, 0, 9223372036854775807)"), "f32[s0,8]");
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.slice.Tensor(%x, 1, 2, 4)"), "f32[s0,2] strides[8,1] offset 2");
  EXPECT_EQ(type_of("%x: f32[s0,8]", "aten.slice.Tensor(%x, 0, 1, 4)"),
            std::string(unknown) + "it slices a dim of size s0");
}

TEST(SymbolicSizes, ExpandToASymbol) {
  EXPECT_EQ(type_of("%x: f32[1,8]", "aten.expand(%x, [sym(s0), 8])"), "f32[s0,8] strides[0,1]");
}

TEST(SymbolicSizes, IntegersOfRunTimeNeedADeclaredType) {
  EXPECT_EQ(type_in("%x: i64[1]", "%n = aten._local_scalar_dense(%x)\n  %y = aten.full([%n, 4], 0, dtype=f32)"),
            std::string(unknown) + "element 0 of argument 0 (size) is computed at run time");
}

TEST(DataDependentSizes, CannotBeInferred) {
  EXPECT_TRUE(type_of("%x: f32[8], %m: bool[8]", "aten.index.Tensor(%x, [%m])").starts_with(unknown));
  EXPECT_TRUE(type_of("%x: i64[8]", "aten.one_hot(%x)").starts_with(unknown));
}

// ---- mistakes

TEST(Mistakes, InShapesOfMatmulsNameTheSizes) {
  EXPECT_EQ(type_of("%x: f32[4,6], %w: f32[5,6]", "aten.mm(%x, %w)"), "inner sizes of the matrices differ: 6 and 5");
  EXPECT_EQ(type_of("%x: f32[4,6,2], %w: f32[5,6]", "aten.mm(%x, %w)"),
            "argument 0 has shape [4, 6, 2], expected 2 dims");
  EXPECT_EQ(type_of("%x: f32[4,6], %w: bf16[6,5]", "aten.mm(%x, %w)"),
            "matrices of dtypes f32 and bf16 cannot be multiplied: convert one");
  EXPECT_EQ(type_of("%x: f32[3,4,6], %w: f32[2,6,5]", "aten.bmm(%x, %w)"), "batch sizes differ: 3 and 2");
}

TEST(Mistakes, InBroadcastsNameTheShapes) {
  EXPECT_EQ(type_of("%x: f32[4,6], %z: f32[5]", "aten.add.Tensor(%x, %z)"),
            "shapes [4, 6] and [5] do not broadcast: sizes 6 and 5 differ and neither is 1");
  EXPECT_EQ(type_of("%x: f32[6], %z: f32[4,6]", "aten.add_.Tensor(%x, %z)"),
            "the result's shape [4, 6] is not that of the tensor it is written to, [6]");
}

TEST(Mistakes, InViewsSayWhatIsPossible) {
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.view(%x, [5, 5])"), "shape [5, 5] has 25 elements, but the tensor has 24");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.view(%x, [-1, 7])"),
            "the number of elements is 24, which does not divide by 7");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.view(%x, [-1, -1])"), "argument 1 has more than one size of -1");
  EXPECT_EQ(type_of("%x: f32[4,6] strides[1,4]", "aten.view(%x, [24])"),
            "a tensor of shape [4, 6] and strides [1, 4] has no view of shape [24]; use reshape, which copies");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.expand(%x, [4, 12])"),
            "dim 1 of size 6 cannot be expanded to 12: only size 1 can");
}

TEST(Mistakes, InDimsNameTheRange) {
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.unsqueeze(%x, 3)"),
            "dim 3 is out of range for a tensor of 3 dims, expected -3 to 2");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.permute(%x, [0, 0])"), "dim 0 is named twice");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.select.int(%x, 0, 4)"), "index 4 is out of range for a dim of size 4");
  EXPECT_EQ(type_of("%x: f32[4,6]", "aten.split_with_sizes(%x, [1, 2])"),
            "split sizes add up to 3, but dim 0 has size 4");
  EXPECT_EQ(type_of("%x: f32[4,6], %z: f32[4,5]", "aten.cat([%x, %z])"),
            "shapes [4, 6] and [4, 5] cannot be joined along dim 0: they differ in another dim");
}

// ---- lists

TEST(GetItem, TakesAResultOutOfAList) {
  EXPECT_EQ(type_in("%x: f32[6,4]", "%s = aten.split.Tensor(%x, 4)\n  %y = getitem(%s, 1)"), "f32[2,4] offset 16");
}

TEST(GetItem, KnowsWhichResultsTheMaskLeftOut) {
  const std::string_view inputs = "%g: f32[2,6,7,6], %x: f32[2,4,9,8], %w: f32[6,4,3,3]";
  const std::string call =
      "%s = aten.convolution_backward(%g, %x, %w, [6], [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [false, true, "
      "true])\n";
  EXPECT_EQ(type_in(inputs, call + "%y = getitem(%s, 1)"), "f32[6,4,3,3]");
  EXPECT_EQ(type_in(inputs, call + "%y = getitem(%s, 2)"), "f32[6]");
  EXPECT_EQ(type_in(inputs, call + "%y = getitem(%s, 0)"), std::string(unknown) + "result 0 of 2 may be absent");
}

TEST(Foreach, HasOneResultForEachElement) {
  EXPECT_EQ(type_of("%x: f32[6], %z: f16[2]", "aten._foreach_mul.ScalarList([%x, %z], [1.0, 2.0])"),
            "(f32[6], f16[2])");
  EXPECT_EQ(type_of("%x: f32[6]", "aten._foreach_addcmul.Tensor([%x], [%x], [%x], %x)"), "(f32[6])");
  EXPECT_EQ(type_of("%x: f32[6]", "aten._foreach_addcdiv.Tensor([%x], [%x], [%x], %x)"), "(f32[6])");
  EXPECT_EQ(type_of("%x: f32[6], %z: f16[2]", "aten._foreach_add.List([%x, %z], [%x])"),
            "argument 1 is a list of 1, shorter than the first argument's");
}

TEST(Foreach, InPlaceResultsInNothing) {
  EXPECT_EQ(type_of("%x: f32[6]", "aten._foreach_mul_.Scalar([%x], 2.0)"), "()");
}

// ---- any arguments at all

// Random calls: arguments of every kind, sizes at the limits, wrong lists. Answers may be errors; there must be answers.
class RandomCalls final : public Call::Values {
 public:
  explicit RandomCalls(std::uint64_t seed) : random_(seed) {
    symbols_.parse("s0*2").value();
    for (int i = 0; i < 16; ++i) add_type();
  }

  void call(const OpSpec& spec) {
    args_.clear();
    keywords_.clear();
    const std::size_t count = random_.index(12);
    for (std::size_t i = 0; i < count; ++i) args_.push_back(arg(0, i < 3 ? 70 : 10));
    for (const char* key : {"dtype", "dim", "out", "memory_format", "size"}) {
      if (random_.chance(15)) keywords_.push_back({pool_.strings.add(key), arg(0, 30)});
    }
    const Call call(pool_, args_, keywords_, *this, symbols_);
    std::vector<TypeView> outputs;
    Result<Outputs> inferred = spec.shape == nullptr ? Result<Outputs>(Outputs{}) : spec.shape(call);
    if (inferred) {
      for (const InferredType& type : *inferred) {
        EXPECT_EQ(type.shape.dims.size(), type.strides.dims.size()) << spec.name;
        outputs.push_back({type.dtype, type.shape.dims, type.strides.dims, type.offset});
      }
    } else {
      EXPECT_FALSE(inferred.error().message.empty()) << spec.name;
    }
    const auto work = work_of(spec, call, outputs);
    if (work) {
      EXPECT_GE(work->flops, 0) << spec.name;
    }
    for (const TypeView& output : outputs) extent_bytes(output, symbols_);
  }

  std::size_t output_count(Arg value) const override { return value.as_node().value % 4; }
  TypeView output(Arg value, std::size_t index) const override {
    const Type& type = types_[(value.as_node().index() + index) % types_.size()];
    return {type.dtype, type.shape, type.strides, type.offset};
  }
  std::optional<std::int64_t> integer(Arg value) const override {
    return value.as_node().value % 8 == 0 ? std::optional<std::int64_t>(numbers[value.as_node().value % numbers.size()])
                                          : std::nullopt;
  }
  std::int64_t group_size(GroupId) const override { return 4; }
  std::size_t group_count() const override { return 2; }

 private:
  struct Type {
    Dtype dtype;
    std::vector<Dim> shape, strides;
    Dim offset;
  };
  static constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  static inline const std::vector<std::int64_t> numbers = {0, 1, 2, 3, 4, 7, -1, -2, 64, Dim::max, huge, -huge - 1};

  Dim size() {
    if (random_.chance(5)) return Dim::symbolic(0);
    return random_.chance(5) ? Dim(Dim::max) : Dim(random_.between(0, 6));
  }

  void add_type() {
    Type type{static_cast<Dtype>(random_.index(dtype_count)), {}, {}, size()};
    for (std::size_t rank = random_.index(6); rank > 0; --rank) {
      type.shape.push_back(size());
      type.strides.push_back(size());
    }
    types_.push_back(type);
  }

  Arg arg(int depth, int tensors) {
    if (random_.chance(tensors))
      return Arg::value(NodeId(random_.chance(80) ? 1 + 4 * random_.index(8) : random_.index(40)));
    switch (random_.index(depth < 2 ? 12 : 10)) {
      case 0: return Arg::none();
      case 1: return Arg::boolean(random_.chance(50));
      case 2:
      case 3: return Arg::integer(random_.pick(numbers));
      case 4: return Arg::real(random_.pick({0.0, 1.5, -1e300, std::numeric_limits<double>::quiet_NaN()}));
      case 5: return Arg::symbolic(Dim::symbolic(0));
      case 6:
        return Arg::text(ArgKind::string, pool_.strings.add(random_.pick({"sum", "floor", "isend", "irecv", ""})));
      case 7: return Arg::group(GroupId(random_.index(3)));
      case 8: return Arg::dtype(static_cast<Dtype>(random_.index(dtype_count)));
      case 9:
        return Arg::text(ArgKind::memory_format,
                         pool_.strings.add(random_.pick({"channels_last", "preserve_format", "odd"})));
      default: {
        std::vector<Arg> elements;
        const int tensors_inside = random_.chance(30) ? 90 : 0;
        for (std::size_t count = random_.index(5); count > 0; --count)
          elements.push_back(arg(depth + 1, tensors_inside));
        return Arg::list(pool_.add(elements));
      }
    }
  }

  Random random_;
  ArgPool pool_;
  SymbolTable symbols_;
  std::vector<Type> types_;
  std::vector<Arg> args_;
  std::vector<Keyword> keywords_;
};

TEST(AnyArguments, GetAnAnswerFromEveryRow) {
  constexpr std::uint64_t seed = 20250101;
  constexpr int calls_of_each = 300;
  for (int round = 0; round < calls_of_each; round += 30) {
    SCOPED_TRACE(fmt::format("seed {}", seed + static_cast<std::uint64_t>(round)));
    RandomCalls calls(seed + static_cast<std::uint64_t>(round));
    for (const OpSpec& row : OpTable::builtin().rows()) {
      for (int i = 0; i < 30; ++i) calls.call(row);
    }
  }
}

}  // namespace
}  // namespace hocket
