// Views and writes through them, against a model without strides: a tensor is a list of the elements that it consists of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "run_text.h"
#include "support/random.h"

namespace hocket::interpreter {

namespace {

// Which element of the base stands at each place, row by row.
struct Naive {
  Sizes shape;
  std::vector<std::size_t> elements;
};

// Calls visit(index, position) for every index of a shape.
template <class Visit>
void for_each_index(const Sizes& shape, Visit visit) {
  Sizes index(shape.size(), 0);
  for (std::size_t position = 0; position < static_cast<std::size_t>(count_of(shape)); ++position) {
    visit(index, position);
    for (std::size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim]) break;
      index[dim] = 0;
    }
  }
}

std::size_t position_of(const Sizes& index, const Sizes& shape) {
  std::size_t position = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    position = position * static_cast<std::size_t>(shape[dim]) + static_cast<std::size_t>(index[dim]);
  return position;
}

// A view whose element at `index` is the one of `from` at source(index).
template <class Source>
Naive viewed(const Naive& from, Sizes shape, Source source) {
  Naive view{std::move(shape), {}};
  for_each_index(view.shape, [&](const Sizes& index, std::size_t) {
    view.elements.push_back(from.elements[position_of(source(index), from.shape)]);
  });
  return view;
}

struct NamedView {
  std::string text;  // the call
  Naive view;
};

NamedView random_view(const Naive& from, const std::string& name, Random& random) {
  const std::size_t dims = from.shape.size();
  const std::size_t dim = dims == 0 ? 0 : random.index(dims);
  switch (dims == 0 ? 3 : random.below(5)) {
    case 0: {
      Sizes order(dims);
      std::iota(order.begin(), order.end(), 0);
      random.shuffle(order);
      Sizes shape;
      for (const std::int64_t d : order) shape.push_back(from.shape[static_cast<std::size_t>(d)]);
      return {fmt::format("aten.permute(%{}, [{}])", name, fmt::join(order, ", ")),
              viewed(from, shape, [&](const Sizes& index) {
                Sizes source(dims);
                for (std::size_t i = 0; i < dims; ++i) source[static_cast<std::size_t>(order[i])] = index[i];
                return source;
              })};
    }
    case 1: {
      const std::int64_t begin = random.between(0, from.shape[dim] - 1);
      const std::int64_t end = random.between(begin + 1, from.shape[dim]);
      const std::int64_t step = random.between(1, 2);
      Sizes shape = from.shape;
      shape[dim] = (end - begin + step - 1) / step;
      return {fmt::format("aten.slice.Tensor(%{}, {}, {}, {}, {})", name, dim, begin, end, step),
              viewed(from, shape, [&](Sizes index) {
                index[dim] = begin + index[dim] * step;
                return index;
              })};
    }
    case 2: {
      const std::int64_t at = random.between(0, from.shape[dim] - 1);
      Sizes shape = from.shape;
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
      return {fmt::format("aten.select.int(%{}, {}, {})", name, dim, at), viewed(from, shape, [&](Sizes index) {
                index.insert(index.begin() + static_cast<std::ptrdiff_t>(dim), at);
                return index;
              })};
    }
    case 3: {
      Naive view = from;
      view.shape.insert(view.shape.begin(), 1);
      return {fmt::format("aten.unsqueeze(%{}, 0)", name), view};
    }
    default: {
      Sizes shape = from.shape;
      shape.insert(shape.begin(), 2);
      return {fmt::format("aten.expand(%{}, [{}])", name, fmt::join(shape, ", ")),
              viewed(from, shape, [&](Sizes index) {
                index.erase(index.begin());
                return index;
              })};
    }
  }
}

bool has_no_element_twice(const Naive& tensor) {
  std::vector<std::size_t> sorted = tensor.elements;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

}  // namespace

TEST(Views, agree_with_a_model_without_strides) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Naive base{{3, 4, 2}, {}};
    Words memory;
    for (std::size_t i = 0; i < 24; ++i) {
      base.elements.push_back(i);
      memory.push_back(i + 1);  // as run_text() fills %x
    }
    std::vector<std::pair<std::string, Naive>> tensors = {{"x", base}};
    std::string text = "graph @g(%x: f32[3,4,2]) {\n";
    for (int step = 0; step < 12; ++step) {
      const auto [name, tensor] = random.pick(tensors);
      const std::string own = fmt::format("v{}", step);
      if (random.chance(40) && has_no_element_twice(tensor)) {
        text += fmt::format("  %{} = aten.mul_.Tensor(%{}, {})\n", own, name, step + 2);
        for (const std::size_t element : tensor.elements)
          memory[element] = multiply(memory[element], static_cast<Word>(step) + 2);
        tensors.emplace_back(own, tensor);
      } else {
        NamedView next = random_view(tensor, name, random);
        text += fmt::format("  %{} = {}\n", own, next.text);
        tensors.emplace_back(own, std::move(next.view));
      }
    }
    std::string names;
    for (const auto& [name, tensor] : tensors) names += (names.empty() ? "%" : ", %") + name;
    const auto result = run_text(text + "  return " + names + "\n}\n");
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().to_string() << "\n" << text;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Words expected;
      for (const std::size_t element : tensors[i].second.elements) expected.push_back(memory[element]);
      EXPECT_EQ(result->ranks[0].results[i].shape, tensors[i].second.shape) << text;
      EXPECT_EQ(result->ranks[0].results[i].words, expected) << "seed " << seed << ", %" << tensors[i].first << text;
    }
  }
}

}  // namespace hocket::interpreter
