// Sums, products of matrices, and tensors made of numbers.
#include <map>
#include <set>

#include "support/interpreter_operators.h"

namespace hocket::interpreter {

namespace {

// ---- sums along dims

// Adds up `self` along dims (all where none are named); the number of elements in each sum.
std::int64_t sum_along(const Call& call, const Sizes& named, std::vector<Word>& sums) {
  const Tensor self = call.tensor(0);
  const std::size_t rank = self.shape.size();
  std::set<std::size_t> dims;
  for (const std::int64_t dim : named) dims.insert(wrapped_dim(dim, rank));
  if (named.empty()) {
    for (std::size_t dim = 0; dim < rank; ++dim) dims.insert(dim);
  }
  Sizes kept = self.shape;
  std::int64_t each = 1;
  for (const std::size_t dim : dims) {
    if (dim >= rank) continue;  // dim 0 of a tensor without dims
    each *= kept[dim];
    kept[dim] = 1;
  }
  sums.assign(static_cast<std::size_t>(count_of(kept)), 0);
  const std::vector<std::size_t> positions = broadcast_positions(kept, self.shape);
  for (std::size_t i = 0; i < self.words.size(); ++i) sums[positions[i]] = add(sums[positions[i]], self.words[i]);
  return each;
}

void sum(Call& call) { sum_along(call, call.integers(1, "dim"), call.results.at(0).words); }

void mean(Call& call) {
  const Item* dims = call.find(1, "dim");
  const bool has_dims = dims != nullptr && !dims->is(Item::Kind::dtype);
  const std::int64_t each = sum_along(call, has_dims ? call.integers(1, "dim") : Sizes{}, call.results.at(0).words);
  for (Word& word : call.results[0].words) word = multiply(word, inverse(from_integer(each)));
}

// ---- products of matrices

// One product of an n×k and a k×m matrix, added to `sums`; elements of b lie (row, column) strides apart.
void multiply_matrices(const Word* a, const Word* b, Word* sums, std::int64_t n, std::int64_t k, std::int64_t m,
                       std::int64_t b_row, std::int64_t b_column) {
  __extension__ using Wide = unsigned __int128;
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < m; ++column) {
      Wide total = 0;  // 2^122 for each product: reduced before it can overflow
      for (std::int64_t i = 0; i < k; ++i) {
        total += static_cast<Wide>(a[row * k + i]) * b[i * b_row + column * b_column];
        if (i % 32 == 31) total %= prime;
      }
      sums[row * m + column] = static_cast<Word>(total % prime);
    }
  }
}

std::vector<Word> product(const Tensor& a, const Tensor& b) {
  const std::size_t rank = a.shape.size();
  require(rank == b.shape.size() && (rank == 2 || rank == 3), "expected two matrices, or two batches of them");
  require(a.shape[rank - 1] == b.shape[rank - 2] && (rank == 2 || a.shape[0] == b.shape[0]),
          "matrices that do not fit");
  const std::int64_t batch = rank == 3 ? a.shape[0] : 1;
  const std::int64_t n = a.shape[rank - 2];
  const std::int64_t k = a.shape[rank - 1];
  const std::int64_t m = b.shape[rank - 1];
  std::vector<Word> words(static_cast<std::size_t>(batch * n * m));
  for (std::int64_t i = 0; i < batch; ++i)
    multiply_matrices(a.words.data() + i * n * k, b.words.data() + i * k * m, words.data() + i * n * m, n, k, m, m, 1);
  return words;
}

void mm(Call& call) { call.results.at(0).words = product(call.tensor(0), call.tensor(1)); }

// beta · self + alpha · a @ b
void addmm(Call& call) {
  const Word beta = call.number(9, "beta", 1);
  const Word alpha = call.number(9, "alpha", 1);
  const Tensor self = call.tensor(0);
  Tensor& result = call.results.at(0);
  result.words = product(call.tensor(1), call.tensor(2));
  const auto positions = broadcast_positions(self.shape, result.shape);
  require(positions.size() == result.words.size(), "the first argument does not fit the product");
  for (std::size_t i = 0; i < result.words.size(); ++i)
    result.words[i] = add(multiply(beta, self.words[positions[i]]), multiply(alpha, result.words[i]));
}

// input @ weightᵀ + bias
void linear(Call& call) {
  const Tensor input = call.tensor(0);
  const Tensor weight = call.tensor(1);
  Tensor& result = call.results.at(0);
  require(weight.shape.size() == 2 && !input.shape.empty() && input.shape.back() == weight.shape[1],
          "matrices that do not fit");
  const std::int64_t k = weight.shape.at(1);
  const std::int64_t m = weight.shape.at(0);
  const std::int64_t n = k == 0 ? 0 : static_cast<std::int64_t>(input.words.size()) / k;
  result.words.assign(static_cast<std::size_t>(n * m), 0);
  multiply_matrices(input.words.data(), weight.words.data(), result.words.data(), n, k, m, 1, k);
  if (call.find(2, "bias") == nullptr) return;
  const Tensor bias = call.tensor(2, "bias");
  require(static_cast<std::int64_t>(bias.words.size()) == m, "a bias that does not fit");
  for (std::size_t i = 0; i < result.words.size(); ++i)
    result.words[i] = add(result.words[i], bias.words[i % static_cast<std::size_t>(m)]);
}

void matrix_vector(Call& call) {
  Tensor vector = call.tensor(1);
  vector.shape.push_back(1);
  call.results.at(0).words = product(call.tensor(0), vector);
}

void dot(Call& call) {
  const Tensor a = call.tensor(0);
  const Tensor b = call.tensor(1);
  require(a.words.size() == b.words.size(), "vectors that do not fit");
  Word total = 0;
  for (std::size_t i = 0; i < a.words.size(); ++i) total = add(total, multiply(a.words[i], b.words[i]));
  call.results.at(0).words = {total};
}

// ---- tensors of numbers

void constant(Call& call, Word word) {
  Tensor& result = call.results.at(0);
  result.words.assign(static_cast<std::size_t>(count_of(result.shape)), word);
}

void zeros(Call& call) { constant(call, 0); }
void ones(Call& call) { constant(call, 1); }
// The value may be a tensor without dims.
Word only_word(const Tensor& tensor) {
  require(tensor.words.size() == 1, "expected one number");
  return tensor.words[0];
}
void full(Call& call) { constant(call, only_word(call.tensor(1, "fill_value"))); }
void new_full(Call& call) { constant(call, only_word(call.tensor(2, "fill_value"))); }
void fill(Call& call) { constant(call, only_word(call.tensor(1, "value"))); }
void scalar(Call& call) { constant(call, call.number(call.at(0))); }

// (end), (start, end) or (start, end, step)
void arange(Call& call) {
  const Word start = call.args.size() > 1 ? call.number(call.args[0]) : 0;
  const Word step = call.args.size() > 2 ? call.number(call.args[2]) : 1;
  Tensor& result = call.results.at(0);
  result.words.clear();
  for (std::int64_t i = 0; i < count_of(result.shape); ++i)
    result.words.push_back(add(start, multiply(step, from_integer(i))));
}

const std::map<std::string_view, void (*)(Call&)>& rules() {
  static const std::map<std::string_view, void (*)(Call&)> all = {{"sum", sum},
                                                                  {"mean", mean},
                                                                  {"mm", mm},
                                                                  {"bmm", mm},
                                                                  {"addmm", addmm},
                                                                  {"baddbmm", addmm},
                                                                  {"linear", linear},
                                                                  {"mv", matrix_vector},
                                                                  {"dot", dot},
                                                                  {"zeros", zeros},
                                                                  {"ones", ones},
                                                                  {"zeros_like", zeros},
                                                                  {"ones_like", ones},
                                                                  {"new_zeros", zeros},
                                                                  {"new_ones", ones},
                                                                  {"zero", zeros},
                                                                  {"full", full},
                                                                  {"full_like", full},
                                                                  {"new_full", new_full},
                                                                  {"fill", fill},
                                                                  {"scalar_tensor", scalar},
                                                                  {"arange", arange}};
  return all;
}

}  // namespace

Rule algebra_rule(std::string_view base) {
  const auto found = rules().find(base);
  return found == rules().end() ? Rule{} : Rule{found->second, false};
}

}  // namespace hocket::interpreter
