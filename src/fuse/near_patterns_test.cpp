// Programs that are nearly what the passes over moved memory look for: most have the pattern, with something about it that is different.
// Whatever a pass makes of them, they compute the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "hocket/fuse/copies_to_views.h"
#include "hocket/fuse/exchange_rows.h"
#include "hocket/fuse/forward_copies.h"
#include "hocket/fuse/lean_casts.h"
#include "hocket/fuse/scatter_rows.h"
#include "hocket/ir/text.h"
#include "support/random.h"
#include "support/same_values.h"
#include "support/soundness.h"

namespace hocket {
namespace {

class ProgramWriter {
 public:
  explicit ProgramWriter(std::uint64_t seed) : random_(seed) {
    batch_ = random_.between(1, 3);
    length_ = random_.pick({2, 4, 8});
    returned_.clear();
  }

  std::string scattered_parts() {
    const std::string whole = source("%x");
    maybe_write(whole, 5);
    std::string sum = cat_of_parts(whole, length_ / 2, random_.chance(85) ? 1 : random_.between(-1, 2), 0);
    if (random_.chance(15))
      sum = line(random_.chance(50) ? "aten.clone({})" : "prims.convert_element_type({}, f32)", sum);
    return finished(reduced(sum, whole));
  }

  std::string cast_of_gathered_parts() {
    const std::string gathered =
        line("_c10d_functional.wait_tensor({})", line("_c10d_functional.all_gather_into_tensor({}, 2, @tp)", "%x"));
    const std::int64_t dim = random_.pick({1, 1, 2, -1, 0});
    std::string at = cat_of_parts(gathered, batch_, random_.chance(85) ? 0 : random_.between(-1, 2), dim);
    for (std::int64_t i = random_.between(0, 2); i > 0; --i) {
      at = random_.chance(85) ? line("aten.view({}, [-1])", at) : line("aten.slice.Tensor({}, 0, 0, 2)", at);
      maybe_use(at, 8);
    }
    at = line(fmt::format("prims.convert_element_type({{}}, {})", random_.pick({"f32", "bf16", "f64"})), at);
    maybe_write(gathered, 8);
    return finished(line("aten.relu({})", at));
  }

  std::string cast_of_which_a_part_is_used() {
    const std::string whole = source("%x");
    std::string at = line(fmt::format("prims.convert_element_type({{}}, {})", dtype()), whole);
    maybe_use(at, 8);
    maybe_write(whole, 8);
    at = line(fmt::format("aten.split.Tensor({{}}, {}{})", random_.between(1, batch_), random_.chance(70) ? "" : ", 1"),
              at);
    at = line(fmt::format("getitem({{}}, {})", random_.chance(80) ? 0 : 1), at);
    maybe_use(at, 10);
    maybe_write(at, 5);
    if (random_.chance(70)) at = line("aten.clone({})", at);
    if (random_.chance(70)) at = line(fmt::format("prims.convert_element_type({{}}, {})", dtype()), at);
    maybe_write(whole, 8);
    return finished(reduced(at, whole));
  }

  // Into memory of its own or a part of it, from a whole or a part; views of both from before, and lists of their parts.
  std::string forwarded_copy() {
    const std::string whole = source("%x");
    const std::string empty = fmt::format("aten.empty.memory_format([{}, {}, 4])", batch_, length_);
    const std::string own = random_.chance(85) ? line(empty, "") : line("aten.relu({})", "%x");
    std::vector<std::string> names = {whole, own};
    for (const std::string& name : {whole, own}) {
      if (random_.chance(25)) names.push_back(line("aten.view({}, [-1])", name));
      if (random_.chance(15)) names.push_back(line("getitem({}, 0)", line("aten.split.Tensor({}, 1, 1)", name)));
      if (random_.chance(10)) maybe_write(names.back(), 50);
    }
    names.push_back(line(fmt::format("aten.copy_({}, {{}})", own), whole));
    const std::string copied = names.back();
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) {
      const std::string& name = random_.pick(names);
      if (random_.chance(40)) maybe_write(name, 100);
      else if (random_.chance(30)) names.push_back(line("aten.view({}, [-1])", name));
      else maybe_use(name, 100);
    }
    return finished(random_.chance(70) ? line("aten.neg({})", copied) : copied);
  }

  std::string idle_copy() {
    std::string at = source("%x");
    const std::string whole = at;
    if (random_.chance(30)) at = line("aten.slice.Tensor({}, 1, 0, 2)", at);
    if (random_.chance(30)) at = line("aten.view({}, [-1])", at);
    at = line(random_.pick({"aten.clone({})", "prims.convert_element_type({}, f32)",
                            "prims.convert_element_type({}, bf16)", "aten._to_copy({})"}),
              at);
    maybe_write(at, 10);
    maybe_use(at, 15);
    maybe_write(whole, 10);
    return finished(reduced(at, whole));
  }

  // An all-to-all with a turned copy before it, or behind it, and rows that are appended.
  std::string exchanged_rows() {
    const std::string whole = source("%x");
    const std::string rest = random_.pick({"2, 2, -1", "2, 2, -1", "1, 2, -1", "2, 1, -1", "2, 2, 2, -1"});
    const std::string order = rest.size() > 8 ? random_.pick({"1, 0, 2, 3", "1, 2, 0, 3", "2, 0, 1, 3", "1, 2, 3, 0"})
                                              : random_.pick({"1, 0, 2", "1, 0, 2", "1, 2, 0", "2, 0, 1"});
    const auto turned = [&](std::string at) {
      at = line(fmt::format("aten.view({{}}, [{}])", rest), at);
      maybe_use(at, 4);
      const std::string permuted = line(fmt::format("aten.permute({{}}, [{}])", order), at);
      maybe_use(permuted, 6);
      const std::string copy = line("aten.clone({}, memory_format=memory_format(\"contiguous_format\"))", permuted);
      maybe_use(copy, 4);
      maybe_write(copy, 4);
      return copy;
    };
    std::string at = whole;
    if (random_.chance(45)) at = turned(at);
    maybe_write(whole, 5);
    const std::int64_t rows = 2 * random_.between(1, 3);
    at = line(fmt::format("aten.view({{}}, [{}, -1])", rows), at);
    const std::string early = line("aten.relu({})", line("aten.slice.Tensor({}, 0, 0, 1)", at));
    const std::string splits = random_.pick({std::string("[], []"), fmt::format("[{0}, {0}], [{0}, {0}]", rows / 2),
                                             fmt::format("[1, {0}], [1, {0}]", rows - 1)});
    const std::string sent = line(fmt::format("_c10d_functional.all_to_all_single({{}}, {}, @tp)", splits), at);
    const std::string there = line("_c10d_functional.wait_tensor({})", sent);
    const std::string late = line("aten.neg({})", early);
    maybe_use(there, 5);
    maybe_write(early, 4);
    if (random_.chance(45)) return finished(line("aten.relu({})", turned(there)));
    if (random_.chance(15)) returned_.push_back(line("_c10d_functional.wait_tensor({})", sent));
    const std::string tail = random_.pick({early, early, late, there, whole});
    at = line(fmt::format("aten.cat([{}]{})", "{}", random_.pick({"", ", 0", ", -2", ", 1"})),
              random_.chance(90) ? fmt::format("{}, {}", there, tail) : fmt::format("{}, {}", tail, there));
    maybe_write(at, 10);
    return finished(line("aten.relu({})", at));
  }

 private:
  // Adds a line; the template has a place for the argument. Answers the name of the result.
  std::string line(std::string_view text, const std::string& argument) {
    const std::string name = fmt::format("%v{}", lines_.size());
    lines_.push_back(fmt::format("  {} = {}\n", name, fmt::format(fmt::runtime(text), argument)));
    return name;
  }
  std::string_view dtype() { return random_.pick({"bf16", "bf16", "f32", "f64"}); }
  std::string source(const std::string& from) {
    if (random_.chance(8)) return from;
    if (random_.chance(8)) return line("aten.permute({}, [1, 0, 2])", from);
    return line("aten.relu({})", from);
  }
  void maybe_write(const std::string& name, int percent) {
    if (random_.chance(percent)) line(fmt::format("aten.add_.Tensor({{}}, {})", name), name);
  }
  void maybe_use(const std::string& name, int percent) {
    if (!random_.chance(percent)) return;
    returned_.push_back(random_.chance(50) ? name : line("aten.relu({})", name));
  }
  static std::string dim_argument(std::int64_t dim, bool said) {
    return dim != 0 || said ? fmt::format(", {}", dim) : "";
  }

  std::string cat_of_parts(const std::string& whole, std::int64_t size, std::int64_t split_dim, std::int64_t cat_dim) {
    if (random_.chance(10)) size = random_.between(1, 4);
    const std::string parts = line(fmt::format("aten.split.Tensor({{}}, {}{})", std::max<std::int64_t>(size, 1),
                                               dim_argument(split_dim, random_.chance(20))),
                                   whole);
    std::vector<std::string> list;
    for (std::int64_t i = 0; i < (random_.chance(90) ? 2 : random_.between(1, 4)); ++i)
      list.push_back(line(fmt::format("getitem({{}}, {})", i), parts));
    if (random_.chance(8)) random_.shuffle(list);
    if (random_.chance(5)) list.push_back(list[0]);
    if (random_.chance(5)) list[0] = line("getitem({}, 0)", line("aten.split.Tensor({}, 1, 1)", whole));
    if (random_.chance(5)) list[0] = whole;
    maybe_use(list[0], 8);
    maybe_write(whole, 4);
    const std::string cat = line(fmt::format("aten.cat([{}]{})", "{}", dim_argument(cat_dim, random_.chance(20))),
                                 fmt::format("{}", fmt::join(list, ", ")));
    maybe_use(cat, 8);
    maybe_write(cat, 4);
    maybe_write(list.back(), 4);
    maybe_use(list.back(), 4);
    return cat;
  }

  std::string reduced(const std::string& given, const std::string& whole) {
    maybe_write(whole, 5);
    const std::string sum = line(random_.chance(90) ? "_c10d_functional.reduce_scatter_tensor({}, \"sum\", 2, @tp)"
                                                    : "_c10d_functional.all_reduce({}, \"sum\", @tp)",
                                 given);
    if (whole != given) maybe_write(whole, 5);
    const std::string done = line("_c10d_functional.wait_tensor({})", sum);
    if (random_.chance(8)) returned_.push_back(line("_c10d_functional.wait_tensor({})", sum));
    if (random_.chance(5)) returned_.push_back(sum);
    return done;
  }

  std::string finished(const std::string& result) {
    std::string text =
        fmt::format("graph @near(%x: f32[{},{},4]) {{\n  world 2 rank 0\n  group @tp = ranks[0,1]\n", batch_, length_);
    for (const std::string& one : lines_) text += one;
    returned_.push_back(result);
    return text + fmt::format("  return {}\n}}", fmt::join(returned_, ", "));
  }

  Random random_;
  std::int64_t batch_ = 1, length_ = 2;
  std::vector<std::string> lines_, returned_;
};

std::string nearly(std::uint64_t seed) {
  ProgramWriter writer(seed / 6);
  switch (seed % 6) {
    case 0: return writer.scattered_parts();
    case 1: return writer.cast_of_gathered_parts();
    case 2: return writer.cast_of_which_a_part_is_used();
    case 3: return writer.forwarded_copy();
    case 4: return writer.exchanged_rows();
    default: return writer.idle_copy();
  }
}

TEST(NearPatterns, compute_the_same_whatever_the_passes_make_of_them) {
  const std::array<Result<RewriteResult> (*)(const Graph&), 5> passes = {
      [](const Graph& graph) { return scatter_rows(graph); }, [](const Graph& graph) { return copies_to_views(graph); },
      [](const Graph& graph) { return lean_casts(graph); }, [](const Graph& graph) { return forward_copies(graph); },
      [](const Graph& graph) { return exchange_rows(graph); }};
  std::array<int, 5> changed = {0, 0, 0, 0, 0};
  int sound = 0;
  for (std::uint64_t seed = 0; seed < 10800; ++seed) {
    const std::string text = nearly(seed);
    const auto graph = parse_graph(text, "test");
    if (!graph || !problems_of(*graph).empty())
      continue;  // sizes that do not fit, a result that is written while it flies
    if (!same_values(*graph, *graph)) continue;
    ++sound;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const auto result = passes[i](*graph);
      ASSERT_TRUE(result) << text << result.error().to_string();
      if (!result->graph) continue;
      ++changed[i];
      ASSERT_EQ(problems_of(*result->graph), "") << text << print(*result->graph);
      ASSERT_TRUE(same_values(*graph, *result->graph)) << text << print(*result->graph);
    }
  }
  EXPECT_GT(sound, 3000);
  for (const int count : changed) EXPECT_GT(count, 200);
}

// Facts about nodes are kept in sets of bits: 64 nodes fill a word of them.
TEST(NearPatterns, programs_of_any_size_are_taken) {
  for (int size = 1; size <= 130; ++size) {
    std::string text = "graph @g(%x: f32[4]) {\n  group @dp = ranks[0,1]\n  %v0 = aten.relu(%x)\n";
    for (int i = 1; i < size; ++i) text += fmt::format("  %v{} = aten.view(%v{}, [4])\n", i, i - 1);
    const auto graph = parse_graph(text + fmt::format("  return %v{}\n}}", size - 1), "test");
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const auto& result :
         {scatter_rows(*graph), copies_to_views(*graph), lean_casts(*graph), exchange_rows(*graph)}) {
      ASSERT_TRUE(result) << size;
      EXPECT_FALSE(result->graph) << size;
    }
  }
}

}  // namespace
}  // namespace hocket
