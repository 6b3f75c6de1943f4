// Operators that pick elements by number. An index is a word: taken modulo the size, it names an element for sure.
#include <map>

#include "support/interpreter_operators.h"

namespace hocket::interpreter {

namespace {

std::size_t entry(Word index, std::int64_t size) {
  if (size == 0) throw Halt("an index into a dim without elements");
  return static_cast<std::size_t>(index % static_cast<Word>(size));
}

// Rows of `table` by number.
void pick_rows(const Tensor& table, const std::vector<Word>& numbers, Tensor& result) {
  require(!table.shape.empty(), "a table without rows");
  const auto rows = static_cast<std::size_t>(table.shape[0]);
  const std::size_t row = rows == 0 ? 0 : table.words.size() / rows;
  result.words.clear();
  for (const Word number : numbers) {
    const auto begin = table.words.begin() + static_cast<std::ptrdiff_t>(entry(number, table.shape[0]) * row);
    result.words.insert(result.words.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
  }
}

void embedding(Call& call) { pick_rows(call.tensor(0), call.tensor(1).words, call.results.at(0)); }

void index_select(Call& call) {
  const Tensor self = call.tensor(0);
  const std::vector<Word> numbers = call.tensor(2, "index").words;
  const std::size_t dim = wrapped_dim(call.integer(1, "dim", 0), self.shape.size());
  require(!self.shape.empty() && self.shape[dim] > 0, "nothing to pick from");
  std::size_t inner = 1;
  for (std::size_t i = dim + 1; i < self.shape.size(); ++i) inner *= static_cast<std::size_t>(self.shape[i]);
  const auto size = static_cast<std::size_t>(self.shape[dim]);
  Tensor& result = call.results.at(0);
  result.words.clear();
  for (std::size_t block = 0; block * size * inner < self.words.size(); ++block) {
    for (const Word number : numbers) {
      const auto begin =
          self.words.begin() + static_cast<std::ptrdiff_t>((block * size + entry(number, self.shape[dim])) * inner);
      result.words.insert(result.words.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
    }
  }
}

void gather(Call& call) {
  const Tensor self = call.tensor(0);
  const Tensor index = call.tensor(2, "index");
  const std::size_t dim = wrapped_dim(call.integer(1, "dim", 0), self.shape.size());
  require(index.shape.size() == self.shape.size(), "an index with another number of dims");
  Tensor& result = call.results.at(0);
  result.words.clear();
  for (std::size_t i = 0; i < index.words.size(); ++i) {
    std::size_t rest = i;
    std::size_t at = 0;
    std::size_t stride = 1;
    for (std::size_t d = self.shape.size(); d-- > 0;) {
      const auto own = rest % static_cast<std::size_t>(index.shape[d]);
      rest /= static_cast<std::size_t>(index.shape[d]);
      at += stride * (d == dim ? entry(index.words[i], self.shape[d]) : own);
      stride *= static_cast<std::size_t>(self.shape[d]);
    }
    require(at < self.words.size(), "an index beyond the tensor");
    result.words.push_back(self.words[at]);
  }
}

const std::map<std::string_view, void (*)(Call&)>& rules() {
  static const std::map<std::string_view, void (*)(Call&)> all = {
      {"embedding", embedding}, {"index_select", index_select}, {"gather", gather}};
  return all;
}

}  // namespace

Rule indexing_rule(std::string_view base) {
  const auto found = rules().find(base);
  return found == rules().end() ? Rule{} : Rule{found->second, false};
}

}  // namespace hocket::interpreter
