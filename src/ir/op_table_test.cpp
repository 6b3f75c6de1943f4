#include "hocket/ir/op_table.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/ops.h"

namespace hocket {
namespace {

OpSpec row(std::string name) {
  OpSpec spec;
  spec.name = std::move(name);
  return spec;
}

TEST(OpTable, FindsARowByItsFullName) {
  const OpSpec* spec = OpTable::builtin().find("aten.mm.default");
  ASSERT_NE(spec, nullptr);
  EXPECT_TRUE(spec->effects.gemm);
  EXPECT_EQ(OpTable::builtin().find("aten.mm"), nullptr);
}

TEST(OpTable, ALaterRowReplacesAnEarlierOneOfTheSameName) {
  OpTable table({row("a.b.default"), row("a.c.default")});
  OpSpec changed = row("a.b.default");
  changed.effects.waits = true;
  table.add(changed);
  EXPECT_EQ(table.rows().size(), 2U);
  EXPECT_TRUE(table.find("a.b.default")->effects.waits);
}

TEST(OpTable, NoNameIsDefinedTwiceInTheBuiltinRows) {
  std::set<std::string> names;
  for (const OpSpec& spec : OpTable::builtin().rows()) EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
}

TEST(OpTable, NearestNameIsTheOneWithTheFewestLettersChanged) {
  const OpTable& table = OpTable::builtin();
  EXPECT_EQ(table.nearest("aten.permut.default"), "aten.permute.default");
  EXPECT_EQ(table.nearest("_c10d_functional.allreduce"), "_c10d_functional.all_reduce.default");
  EXPECT_EQ(table.nearest("_c10d_functional.wait_tensors.default"), "_c10d_functional.wait_tensor.default");
}

TEST(OpTable, NothingIsNearAStrangeName) {
  EXPECT_EQ(OpTable::builtin().nearest("mylib.frobnicate.default"), "");
  EXPECT_EQ(OpTable::builtin().nearest(""), "");
  EXPECT_EQ(OpTable::builtin().nearest(std::string(100000, 'x')), "");
}

TEST(OpTable, CollectiveKindsHaveTheNamesOfCaptures) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::all_to_all, CollectiveKind::broadcast, CollectiveKind::p2p}) {
    EXPECT_EQ(collective_kind_from_name(name_of(kind)), kind);
  }
  EXPECT_EQ(collective_kind_from_name("gather"), std::nullopt);
}

// ---- what must hold for every row

TEST(OpRows, AWaitIsAViewOfWhatItWaitsFor) {
  for (const OpSpec& spec : OpTable::builtin().rows()) {
    if (!spec.effects.waits) continue;
    EXPECT_EQ(spec.effects.alias, Alias::first) << spec.name;
    EXPECT_EQ(spec.effects.mutates, 0U) << spec.name;
  }
}

TEST(OpRows, EveryCollectiveNamesItsGroup) {
  for (const OpSpec& spec : OpTable::builtin().rows()) {
    if (spec.effects.comm) {
      EXPECT_GE(spec.effects.comm->group_arg, 1) << spec.name;
    }
  }
}

TEST(OpRows, OperatorsWhoseNameEndsInAnUnderscoreWriteAnArgument) {
  for (const OpSpec& spec : OpTable::builtin().rows()) {
    const std::string_view name = spec.name;
    if (name.starts_with("_operator.")) continue;
    const std::string_view base = name.substr(0, name.rfind('.'));
    const bool in_place = base.ends_with("_") && !base.ends_with("__");
    if (in_place) {
      EXPECT_NE(spec.effects.mutates, 0U) << name;
    }
    if (spec.effects.mutates_out) {
      EXPECT_TRUE(spec.effects.alias == Alias::out || spec.shape == ops::no_tensors) << name;
    }
  }
}

TEST(OpRows, AResultInTheStorageOfAnArgumentNamesAnArgumentThatExists) {
  for (const OpSpec& spec : OpTable::builtin().rows()) {
    if (spec.effects.alias_arg != 0) {
      EXPECT_TRUE(spec.effects.alias == Alias::first || spec.effects.alias == Alias::either) << spec.name;
    }
    EXPECT_LT(spec.effects.alias_arg, 8) << spec.name;
  }
}

TEST(OpRows, OnlyMaskedOperatorsOrThoseWithIntegersHaveResultsWithoutOutput) {
  for (const OpSpec& spec : OpTable::builtin().rows()) {
    EXPECT_FALSE(spec.output_mask_arg >= 0 && !spec.tensor_results.empty()) << spec.name;
    if (spec.output_mask_arg >= 0) {
      EXPECT_TRUE(spec.list_result) << spec.name;
    }
  }
}

// ---- which output a getitem means

class OutputPosition : public testing::Test {
 protected:
  std::optional<std::size_t> masked(std::initializer_list<bool> mask, std::size_t index) {
    std::vector<Arg> bits;
    for (const bool bit : mask) bits.push_back(Arg::boolean(bit));
    OpSpec spec = row("x");
    spec.output_mask_arg = 1;
    const std::vector<Arg> args{Arg::none(), Arg::list(pool_.add(bits))};
    return output_position(spec, pool_, args, index);
  }

  ArgPool pool_;
};

TEST_F(OutputPosition, ResultsThatTheMaskLeavesOutHaveNone) {
  EXPECT_EQ(masked({false, true, true}, 0), std::nullopt);
  EXPECT_EQ(masked({false, true, true}, 1), 0U);
  EXPECT_EQ(masked({false, true, true}, 2), 1U);
  EXPECT_EQ(masked({true, false, true}, 2), 1U);
  EXPECT_EQ(masked({true, true, true}, 3), std::nullopt);
}

TEST_F(OutputPosition, ResultsThatAreNoTensorsHaveNone) {
  const OpSpec& flash = *OpTable::builtin().find("aten._scaled_dot_product_flash_attention.default");
  EXPECT_EQ(output_position(flash, pool_, {}, 1), 1U);
  EXPECT_EQ(output_position(flash, pool_, {}, 4), std::nullopt);
  EXPECT_EQ(output_position(flash, pool_, {}, 6), 2U);
}

TEST_F(OutputPosition, ElsewhereItIsTheIndex) { EXPECT_EQ(output_position(row("x"), pool_, {}, 7), 7U); }

}  // namespace
}  // namespace hocket
