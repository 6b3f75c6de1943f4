#include "support/interpreter_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace hocket::interpreter {

// ---- groups

std::vector<Members> groups_of_ranks(const Members& captured, int captured_rank, int world) {
  std::vector<Members> own(static_cast<std::size_t>(world));
  if (captured.empty()) return own;
  const int lowest = *std::min_element(captured.begin(), captured.end());
  bool covers = true;
  for (int rank = 0; rank < world && covers; ++rank) {
    if (!own[static_cast<std::size_t>(rank)].empty()) continue;
    Members shifted;
    for (const int member : captured) shifted.push_back(member - lowest + rank);
    for (const int member : shifted) {
      covers = covers && member < world && own[static_cast<std::size_t>(member)].empty();
      if (covers) own[static_cast<std::size_t>(member)] = shifted;
    }
  }
  const auto first = static_cast<std::size_t>(captured.front());
  if (covers && first < own.size() && own[first] == captured) return own;

  if (std::find(captured.begin(), captured.end(), captured_rank) == captured.end()) captured_rank = captured.front();
  for (int rank = 0; rank < world; ++rank) {
    Members& members = own[static_cast<std::size_t>(rank)];
    members = captured;
    if (std::find(members.begin(), members.end(), rank) == members.end())
      std::replace(members.begin(), members.end(), captured_rank, rank);
  }
  return own;
}

// ---- reduce operations

std::optional<Reduce> reduce_from_name(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  constexpr std::string_view names[] = {"sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (lower == names[i]) return static_cast<Reduce>(i);
  }
  return std::nullopt;
}

namespace {

Word combined(Word a, Word b, Reduce reduce) {
  switch (reduce) {
    case Reduce::sum:
    case Reduce::average:
    case Reduce::premultiplied_sum: return add(a, b);
    case Reduce::product: return multiply(a, b);
    case Reduce::minimum: return std::min(a, b);
    case Reduce::maximum: return std::max(a, b);
    case Reduce::bit_and: return a & b;
    case Reduce::bit_or: return a | b;
    case Reduce::bit_xor: return a ^ b;
  }
  return 0;
}

// What remains to be done with the combination of all members' words.
Word finished(Word word, Reduce reduce, std::size_t members) {
  if (reduce == Reduce::average) return multiply(word, inverse(from_integer(static_cast<std::int64_t>(members))));
  // the factor is not part of the call: some fixed one
  if (reduce == Reduce::premultiplied_sum) return multiply(word, as_element(mixed(0, "premultiplied")));
  return as_element(word);
}

const Tensor& given(const Exchange& exchange, int rank) { return exchange.given[static_cast<std::size_t>(rank)]; }

}  // namespace

std::size_t Exchange::position() const {
  const auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end()) throw Halt(fmt::format("rank {} communicates in a group that it is not in", rank));
  return static_cast<std::size_t>(found - members.begin());
}

// ---- collectives

std::vector<Word> all_reduce(const Exchange& exchange, Reduce reduce) {
  std::vector<Word> words = given(exchange, exchange.members.at(0)).words;
  for (std::size_t i = 1; i < exchange.members.size(); ++i) {
    const std::vector<Word>& next = given(exchange, exchange.members[i]).words;
    for (std::size_t k = 0; k < words.size(); ++k) words[k] = combined(words[k], next[k], reduce);
  }
  for (Word& word : words) word = finished(word, reduce, exchange.members.size());
  return words;
}

std::vector<Word> all_gather(const Exchange& exchange) {
  std::vector<Word> words;
  for (const int member : exchange.members) {
    const std::vector<Word>& part = given(exchange, member).words;
    words.insert(words.end(), part.begin(), part.end());
  }
  return words;
}

std::vector<Word> reduce_scatter(const Exchange& exchange, Reduce reduce) {
  const std::vector<Word> all = all_reduce(exchange, reduce);
  const std::size_t part = all.size() / exchange.members.size();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part * exchange.position());
  return {begin, begin + static_cast<std::ptrdiff_t>(part)};
}

std::vector<Word> broadcast(const Exchange& exchange, std::int64_t source) {
  if (source < 0 || source >= static_cast<std::int64_t>(exchange.members.size()))
    throw Halt(fmt::format("broadcast from {} in a group of {}", source, exchange.members.size()));
  return given(exchange, exchange.members[static_cast<std::size_t>(source)]).words;
}

std::vector<Word> all_to_all(const Exchange& exchange, std::span<const Sizes> sent, const Sizes& received) {
  const std::size_t position = exchange.position();
  std::vector<Word> words;
  for (std::size_t i = 0; i < exchange.members.size(); ++i) {
    const Tensor& from = given(exchange, exchange.members[i]);
    const Sizes& splits = sent[static_cast<std::size_t>(exchange.members[i])];
    const std::int64_t rows = from.shape.at(0);
    const std::int64_t row = rows == 0 ? 0 : static_cast<std::int64_t>(from.words.size()) / rows;
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < position; ++k) begin += splits.at(k);
    for (std::int64_t k = 0; k < received.at(i) && rows > 0; ++k) {
      const auto first = from.words.begin() + (begin + k) % rows * row;
      words.insert(words.end(), first, first + row);
    }
  }
  return words;
}

// Element by element: which member has it, and where in that member's tensor.
std::vector<Word> all_gather_along(const Exchange& exchange, std::size_t dim) {
  const Sizes& shape = given(exchange, exchange.rank).shape;
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t own = shape.at(dim);
  const auto members = static_cast<std::int64_t>(exchange.members.size());
  std::vector<Word> words;
  for (std::int64_t i = 0; i < count_of(shape) * members; ++i) {
    const std::int64_t along = i / inner % (own * members);
    const std::int64_t outer = i / inner / (own * members);
    const Tensor& from = given(exchange, exchange.members[static_cast<std::size_t>(along / own)]);
    words.push_back(from.words[static_cast<std::size_t>((outer * own + along % own) * inner + i % inner)]);
  }
  return words;
}

std::vector<Word> reduce_scatter_along(const Exchange& exchange, Reduce reduce, std::size_t dim) {
  const Sizes& shape = given(exchange, exchange.rank).shape;
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  const auto members = static_cast<std::int64_t>(exchange.members.size());
  const std::vector<Word> all = all_reduce(exchange, reduce);
  std::vector<Word> words;
  for (std::int64_t i = 0; i < count_of(shape); ++i) {
    const std::int64_t along = i / inner % shape.at(dim);
    if (along / (shape[dim] / members) == static_cast<std::int64_t>(exchange.position()))
      words.push_back(all[static_cast<std::size_t>(i)]);
  }
  return words;
}

std::vector<Word> shard_dim_all_to_all(const Exchange& exchange, std::size_t gather_dim, std::size_t shard_dim) {
  if (gather_dim == shard_dim) throw Halt("shard_dim_alltoall with one dim for both");
  const Tensor& own = given(exchange, exchange.rank);
  const auto members = static_cast<std::int64_t>(exchange.members.size());
  const auto position = static_cast<std::int64_t>(exchange.position());
  Sizes result = own.shape;
  result[gather_dim] *= members;
  result[shard_dim] /= members;
  std::vector<Word> words;
  Sizes index(result.size(), 0);
  for (std::int64_t i = 0; i < count_of(result); ++i) {
    const auto from = static_cast<std::size_t>(index[gather_dim] / own.shape[gather_dim]);
    std::int64_t at = 0;
    for (std::size_t dim = 0; dim < result.size(); ++dim) {
      std::int64_t entry = index[dim];
      if (dim == gather_dim) entry %= own.shape[dim];
      if (dim == shard_dim) entry += position * result[dim];
      at = at * own.shape[dim] + entry;
    }
    words.push_back(given(exchange, exchange.members[from]).words[static_cast<std::size_t>(at)]);
    for (std::size_t dim = result.size(); dim-- > 0;) {
      if (++index[dim] < result[dim]) break;
      index[dim] = 0;
    }
  }
  return words;
}

}  // namespace hocket::interpreter
