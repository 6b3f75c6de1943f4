#include "ir/sizes.h"

#include <algorithm>

namespace hocket::ops {

namespace {

tl::unexpected<Error> no_answer(const Call& call, Dim a, std::string_view operation, Dim b) {
  return fail(cannot_infer(
      fmt::format("{} {} {} has no known value", call.symbols().to_string(a), operation, call.symbols().to_string(b))));
}

}  // namespace

Result<Dim> plus(const Call& call, Dim a, Dim b) {
  if (const auto sum = call.symbols().add(a, b)) return *sum;
  return no_answer(call, a, "+", b);
}

Result<Dim> minus(const Call& call, Dim a, Dim b) {
  if (a == b) return Dim(0);
  if (b == Dim(0)) return a;
  if (a.is_static() && b.is_static()) {
    if (a.value() < b.value()) return fail(ErrorKind::input, "{} - {} is no size", a.value(), b.value());
    return Dim(a.value() - b.value());
  }
  const auto difference =
      call.symbols().parse(fmt::format("{} - ({})", call.symbols().to_string(a), call.symbols().to_string(b)));
  if (difference) return *difference;
  return no_answer(call, a, "-", b);
}

Result<Dim> times(const Call& call, Dim a, Dim b) {
  if (const auto result = call.symbols().multiply(a, b)) return *result;
  return no_answer(call, a, "*", b);
}

Result<Dim> product(const Call& call, Dims dims) {
  Dim result = 1;
  for (const Dim dim : dims) {
    HOCKET_TRY(result, times(call, result, dim));
  }
  return result;
}

Result<Dim> divided(const Call& call, Dim a, std::int64_t divisor, std::string_view what) {
  if (divisor <= 0) return fail(ErrorKind::input, "{} cannot be divided by {}", what, divisor);
  if (const auto quotient = call.symbols().divide_exactly(a, divisor)) return *quotient;
  if (!a.is_static()) return no_answer(call, a, "/", Dim(divisor));
  return fail(ErrorKind::input, "{} is {}, which does not divide by {}", what, a.value(), divisor);
}

std::string to_string(const Call& call, Dims dims) {
  std::string text;
  for (const Dim dim : dims) text += (text.empty() ? "" : ", ") + call.symbols().to_string(dim);
  return "[" + text + "]";
}

Result<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -limit || dim >= limit) {
    return fail(ErrorKind::input, "dim {} is out of range for a tensor of {} dims, expected {} to {}", dim, rank,
                -limit, limit - 1);
  }
  return static_cast<std::size_t>(dim < 0 ? dim + limit : dim);
}

Result<std::vector<std::size_t>> wrap_dims(std::span<const std::int64_t> dims, std::size_t rank) {
  std::vector<std::size_t> wrapped;
  for (const std::int64_t dim : dims) {
    HOCKET_TRY(const std::size_t index, wrap_dim(dim, rank));
    if (std::find(wrapped.begin(), wrapped.end(), index) != wrapped.end())
      return fail(ErrorKind::input, "dim {} is named twice", dim);
    wrapped.push_back(index);
  }
  return wrapped;
}

Result<Sizes> broadcast(const Call& call, Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  Sizes shape = copy_of(a);
  const std::size_t missing = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    Dim& size = shape[missing + i];
    if (size == b[i] || b[i] == Dim(1)) continue;
    if (size == Dim(1)) {
      size = b[i];
    } else if (size.is_static() && b[i].is_static()) {
      return fail(ErrorKind::input, "shapes {} and {} do not broadcast: sizes {} and {} differ and neither is 1",
                  to_string(call, a), to_string(call, b), size.value(), b[i].value());
    } else {
      return fail(cannot_infer(
          fmt::format("shapes {} and {} may or may not broadcast", to_string(call, a), to_string(call, b))));
    }
  }
  return shape;
}

double count(Dims shape) {
  double elements = 1;
  for (const Dim dim : shape) elements *= dim.is_static() ? static_cast<double>(dim.value()) : 0.0;
  return elements;
}

bool is_empty(Dims shape) { return std::find(shape.begin(), shape.end(), Dim(0)) != shape.end(); }

}  // namespace hocket::ops
