#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/interpreter.h"

namespace hocket::interpreter {

bool operator==(const RankResult& a, const RankResult& b) {
  const auto same_tensor = [](const Tensor& x, const Tensor& y) { return x.shape == y.shape && x.words == y.words; };
  return std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), same_tensor) &&
         a.inputs == b.inputs && a.trace == b.trace && a.effects == b.effects;
}

namespace {

// "[2,0]": position 6 of a tensor of shape [3,3].
std::string index_text(std::size_t position, const Sizes& shape) {
  Sizes index(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = static_cast<std::int64_t>(position) % shape[dim];
    position /= static_cast<std::size_t>(shape[dim]);
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

std::string word_text(Word word) { return word == unwritten ? "nothing" : fmt::format("{:x}", word); }

std::string difference_of_results(const RankResult& before, const RankResult& after, std::size_t rank) {
  if (before.results.size() != after.results.size())
    return fmt::format("{} results before, {} after", before.results.size(), after.results.size());
  for (std::size_t k = 0; k < before.results.size(); ++k) {
    const Tensor& was = before.results[k];
    const Tensor& is = after.results[k];
    if (was.shape != is.shape)
      return fmt::format("result {} has shape [{}] before and [{}] after", k, fmt::join(was.shape, ","),
                         fmt::join(is.shape, ","));
    for (std::size_t i = 0; i < was.words.size(); ++i) {
      if (was.words[i] != is.words[i])
        return fmt::format("rank {}: result {} at {} is {} before and {} after", rank, k, index_text(i, was.shape),
                           word_text(was.words[i]), word_text(is.words[i]));
    }
  }
  return {};
}

// Words that are freed or were never there need no counterpart.
std::string difference_of_inputs(const RankResult& before, const RankResult& after, std::size_t rank) {
  for (const auto& [name, was, changed] : before.inputs) {
    const auto found = std::find_if(after.inputs.begin(), after.inputs.end(),
                                    [&, &wanted = name](const InputResult& input) { return input.name == wanted; });
    if (found == after.inputs.end() && changed)
      return fmt::format("rank {}: input {} is written before, and is not there after", rank, name);
    if (found == after.inputs.end()) continue;
    for (std::size_t i = 0; i < was.size(); ++i) {
      const Word is = i < found->words.size() ? found->words[i] : unwritten;
      if (was[i] != unwritten && was[i] != is)
        return fmt::format("rank {}: input {} ends with {} at element {} before and {} after", rank, name,
                           word_text(was[i]), i, word_text(is));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> traced_differences(const RunResult& before, const RunResult& after) {
  std::set<std::string> nodes;
  for (std::size_t rank = 0; rank < std::min(before.ranks.size(), after.ranks.size()); ++rank) {
    for (const auto& [node, was] : before.ranks[rank].trace) {
      const auto found = after.ranks[rank].trace.find(node);
      if (found != after.ranks[rank].trace.end() && found->second != was) nodes.insert(node);
    }
  }
  return {nodes.begin(), nodes.end()};
}

std::string first_difference(const RunResult& before, const RunResult& after) {
  if (before.ranks.size() != after.ranks.size())
    return fmt::format("{} ranks before, {} after", before.ranks.size(), after.ranks.size());
  for (const std::string& collective : after.never_waited) {
    if (std::find(before.never_waited.begin(), before.never_waited.end(), collective) == before.never_waited.end())
      return fmt::format("{} is never waited for", collective);
  }
  for (std::size_t rank = 0; rank < before.ranks.size(); ++rank) {
    for (const auto difference : {difference_of_results, difference_of_inputs}) {
      if (std::string text = difference(before.ranks[rank], after.ranks[rank], rank); !text.empty()) return text;
    }
    if (before.ranks[rank].effects != after.ranks[rank].effects)
      return fmt::format("rank {}: other side effects, or in another order ({} before, {} after)", rank,
                         before.ranks[rank].effects.size(), after.ranks[rank].effects.size());
  }
  return {};
}

}  // namespace hocket::interpreter
