#include "support/interpreter_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "hocket/ir/op_table.h"

namespace hocket::interpreter {

std::int64_t count_of(const Sizes& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

// ---- arguments

const Item* Call::find(std::size_t position, std::string_view keyword) const {
  const Item* found = position < args.size() ? &args[position] : nullptr;
  for (const auto& [key, item] : keywords) {
    if (!keyword.empty() && key == keyword) found = &item;
  }
  return found == nullptr || found->is(Item::Kind::none) ? nullptr : found;
}

const Item& Call::at(std::size_t position, std::string_view keyword) const {
  const Item* item = find(position, keyword);
  if (item == nullptr) throw Halt(fmt::format("argument {} is missing", position));
  return *item;
}

Tensor Call::tensor(const Item& item) const {
  if (item.is_number()) return {{}, {number(item)}};
  if (!item.is(Item::Kind::tensor)) throw Halt("expected a tensor as argument");
  return reader->read(item.tensor, moves);
}

const Sizes& Call::shape(const Item& item) const {
  if (!item.is(Item::Kind::tensor)) throw Halt("expected a tensor as argument");
  return reader->shape(item.tensor);
}

std::vector<Tensor> Call::tensors(const Item& list) const {
  std::vector<Tensor> all;
  for (const Item& element : list.elements) all.push_back(tensor(element));
  return all;
}

std::int64_t Call::integer(std::size_t position, std::string_view keyword, std::int64_t fallback) const {
  const Item* item = find(position, keyword);
  if (item == nullptr) return fallback;
  if (!item->is(Item::Kind::integer) && !item->is(Item::Kind::boolean))
    throw Halt(fmt::format("argument {} is no integer", position));
  return item->integer;
}

Sizes Call::integers(std::size_t position, std::string_view keyword) const {
  const Item* item = find(position, keyword);
  if (item == nullptr) return {};
  if (!item->is(Item::Kind::list)) return {integer(position, keyword, 0)};
  Sizes all;
  for (const Item& element : item->elements) {
    if (!element.is(Item::Kind::integer)) throw Halt(fmt::format("argument {} is no list of integers", position));
    all.push_back(element.integer);
  }
  return all;
}

Word Call::number(const Item& item) const {
  if (item.is(Item::Kind::word)) return item.word;
  if (item.is(Item::Kind::real)) return from_real(item.real);
  if (item.is(Item::Kind::integer) || item.is(Item::Kind::boolean)) return from_integer(item.integer);
  throw Halt("expected a number as argument");
}

Word Call::number(std::size_t position, std::string_view keyword, Word fallback) const {
  const Item* item = find(position, keyword);
  return item == nullptr ? fallback : number(*item);
}

// ---- names

std::string_view base_name(std::string_view op) {
  const std::size_t space = op.find('.');
  if (space == std::string_view::npos) return op;
  std::string_view base = op.substr(space + 1);
  base = base.substr(0, base.find('.'));
  if (base.size() > 1 && base.back() == '_') base.remove_suffix(1);
  return base;
}

bool looks_at_no_data(std::string_view base) {
  static const std::set<std::string_view> names = {
      "full_like", "zeros_like",  "ones_like", "empty_like", "new_zeros",    "new_ones",
      "new_full",  "new_empty",   "rand_like", "randn_like", "randint_like", "normal",
      "uniform",   "exponential", "random",    "cauchy",     "log_normal",   "geometric"};
  return names.contains(base);
}

std::size_t wrapped_dim(std::int64_t dim, std::size_t rank) {
  const std::int64_t dims =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(rank));  // a tensor without dims has dim 0
  const std::int64_t wrapped = dim < 0 ? dim + dims : dim;
  if (wrapped < 0 || wrapped >= dims) throw Halt(fmt::format("dim {} of a tensor of {} dims", dim, rank));
  return static_cast<std::size_t>(wrapped);
}

std::vector<std::size_t> broadcast_positions(const Sizes& operand, const Sizes& result) {
  if (operand.size() > result.size()) return {};
  const std::size_t added = result.size() - operand.size();
  Sizes strides(result.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t dim = operand.size(); dim-- > 0;) {
    if (operand[dim] != 1 && operand[dim] != result[added + dim]) return {};
    strides[added + dim] = operand[dim] == 1 ? 0 : stride;
    stride *= operand[dim];
  }
  std::vector<std::size_t> positions(static_cast<std::size_t>(count_of(result)));
  Sizes index(result.size(), 0);
  std::int64_t at = 0;
  for (std::size_t& position : positions) {
    position = static_cast<std::size_t>(at);
    for (std::size_t dim = result.size(); dim-- > 0;) {
      at += strides[dim];
      if (++index[dim] < result[dim]) break;
      at -= strides[dim] * result[dim];
      index[dim] = 0;
    }
  }
  return positions;
}

// ---- operators without a rule

namespace {

Word hash_of_item(Word hash, const Call& call, const Item& item, bool with_data) {
  hash = mixed(hash, static_cast<Word>(item.kind));
  switch (item.kind) {
    case Item::Kind::none:
    case Item::Kind::ignored: return hash;
    case Item::Kind::boolean:
    case Item::Kind::integer:
    case Item::Kind::dtype: return mixed(hash, from_integer(item.integer));
    case Item::Kind::real: return mixed(hash, from_real(item.real));
    case Item::Kind::word: return mixed(hash, item.word);
    case Item::Kind::text: return mixed(hash, item.text);
    case Item::Kind::list:
      for (const Item& element : item.elements) hash = hash_of_item(hash, call, element, with_data);
      return mixed(hash, item.elements.size());
    case Item::Kind::tensor: break;
  }
  if (!with_data) return hash;
  const bool data = !looks_at_no_data(call.op);
  for (const std::int64_t size : call.shape(item)) hash = mixed(hash, static_cast<Word>(size));
  if (!data) return hash;
  for (const Word word : call.tensor(item).words) hash = mixed(hash, word);
  return hash;
}

Word hash_of_call(const Call& call, bool with_data) {
  Word hash = mixed(call.salt, call.op);
  for (const Item& item : call.args) hash = hash_of_item(hash, call, item, with_data);
  for (const auto& [key, item] : call.keywords) {
    if (key != "out") hash = hash_of_item(mixed(hash, key), call, item, with_data);
  }
  return hash;
}

void hash_whole(Call& call) {
  const Word hash = hash_of(call);
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    Tensor& result = call.results[k];
    result.words.clear();
    const Word own = mixed(hash, k);
    for (std::int64_t i = 0; i < count_of(result.shape); ++i)
      result.words.push_back(as_element(mixed(own, static_cast<Word>(i))));
  }
}

// Each element from those at its place. False where an operand does not fit the result.
bool hash_elements(Call& call) {
  if (call.results.size() != 1) return false;
  Tensor& result = call.results[0];
  std::vector<Word> hashes(static_cast<std::size_t>(count_of(result.shape)), hash_of_call(call, false));
  for (const Item& item : call.args) {
    if (item.is(Item::Kind::list)) return false;
    if (!item.is(Item::Kind::tensor)) continue;
    const std::vector<std::size_t> positions = broadcast_positions(call.shape(item), result.shape);
    if (positions.size() != hashes.size()) return false;
    const Tensor operand = call.tensor(item);
    for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = mixed(hashes[i], operand.words[positions[i]]);
  }
  result.words.clear();
  for (const Word hash : hashes) result.words.push_back(as_element(hash));
  return true;
}

// Operators that the table gives the shape of a pointwise one are pointwise: those that share a shape function with one of these.
std::set<std::string, std::less<>> pointwise_names() {
  static constexpr std::array<std::string_view, 15> examples = {
      "aten.relu.default",    "aten.exp.default",     "aten.square.default",      "aten.abs.default",
      "aten.isnan.default",   "aten.add.Tensor",      "aten.div.Tensor",          "aten.pow.Tensor_Tensor",
      "aten.rsub.Tensor",     "aten.copysign.Tensor", "aten.eq.Tensor",           "aten.addcmul.default",
      "aten.addcdiv.default", "aten.clamp.default",   "aten.elu_backward.default"};
  std::set<ShapeFunction> shapes;
  for (const std::string_view example : examples) {
    const OpSpec* row = OpTable::builtin().find(example);
    if (row == nullptr || row->shape == nullptr) throw Halt(fmt::format("no row for {}", example), ErrorKind::internal);
    shapes.insert(row->shape);
  }
  std::set<std::string, std::less<>> names;
  for (const OpSpec& row : OpTable::builtin().rows()) {
    if (row.shape != nullptr && shapes.contains(row.shape)) names.emplace(base_name(row.name));
  }
  return names;
}

Rule rule_of(std::string_view base) {
  for (const auto family : {pointwise_rule, movement_rule, indexing_rule, algebra_rule}) {
    if (const Rule rule = family(base); rule.apply != nullptr) return rule;
  }
  return {};
}

// Result i of _foreach_add is add of the i-th elements.
void evaluate_each(Call& call) {
  const std::string_view base = call.op.substr(std::string_view("_foreach_").size());
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const auto element = [&](const Item& item) {
      return item.is(Item::Kind::list) && i < item.elements.size() ? item.elements[i] : item;
    };
    std::vector<Item> args;
    for (const Item& item : call.args) args.push_back(element(item));
    std::vector<std::pair<std::string_view, Item>> keywords;
    for (const auto& [key, item] : call.keywords) keywords.emplace_back(key, element(item));
    Call one = call;
    one.op = base;
    one.args = args;
    one.keywords = keywords;
    one.results = {call.results[i]};
    evaluate(one);
    call.results[i] = std::move(one.results[0]);
  }
}

}  // namespace

Word hash_of(const Call& call) { return hash_of_call(call, true); }

void evaluate(Call& call) {
  static const std::set<std::string, std::less<>> pointwise = pointwise_names();
  if (call.op.starts_with("_foreach_")) return evaluate_each(call);
  const Rule rule = rule_of(call.op);
  call.moves = rule.moves;
  if (rule.apply != nullptr) rule.apply(call);
  else if (!pointwise.contains(call.op) || !hash_elements(call)) hash_whole(call);
  for (const Tensor& result : call.results) {
    if (static_cast<std::int64_t>(result.words.size()) != count_of(result.shape)) {
      throw Halt(fmt::format("{} gives {} elements, but the program says {}", call.op, result.words.size(),
                             count_of(result.shape)));
    }
  }
}

}  // namespace hocket::interpreter
