#include "hocket/comm/reduce_op.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hocket {

namespace {

constexpr std::array<std::string_view, reduce_op_count> names = {"sum",  "avg", "product", "min",       "max",
                                                                 "band", "bor", "bxor",    "premul_sum"};

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool works_on_bits(ReduceOp op) { return op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor; }

bool is_float8(Dtype dtype) { return dtype == Dtype::f8e4m3 || dtype == Dtype::f8e5m2; }

}  // namespace

std::string_view name_of(ReduceOp op) { return names[static_cast<std::size_t>(op)]; }

std::optional<ReduceOp> reduce_op_from_name(std::string_view name) {
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](std::string_view known) { return same_letters(known, name); });
  if (found == names.end()) return std::nullopt;
  return static_cast<ReduceOp>(found - names.begin());
}

Status check_reducible(Dtype dtype, ReduceOp op) {
  if (is_float8(dtype)) {
    return fail(ErrorKind::usage,
                "can't reduce {} by {}: float8 is too coarse to add up; reduce in bf16 or f32, or gather the {} "
                "elements",
                short_name(dtype), name_of(op), short_name(dtype));
  }
  if (is_complex(dtype)) {
    return fail(ErrorKind::usage, "can't reduce {} by {}: {}", short_name(dtype), name_of(op),
                op == ReduceOp::sum || op == ReduceOp::avg
                    ? fmt::format("view it as twice as many {} elements", dtype == Dtype::c64 ? "f32" : "f64")
                    : "complex elements can only be summed and averaged, viewed as twice as many real ones");
  }
  if (is_floating(dtype) && works_on_bits(op)) {
    return fail(
        ErrorKind::usage,
        "can't reduce {} by {}, which works on bits of integers: use sum, avg, product, min, max or premul_sum, "
        "or view the elements as i{}",
        short_name(dtype), name_of(op), 8 * size_of(dtype));
  }
  if (dtype == Dtype::boolean && (op == ReduceOp::avg || op == ReduceOp::premul_sum)) {
    return fail(ErrorKind::usage,
                "can't reduce bool by {}: use sum, max or bor (a logical or), product, min or band (a logical and) or "
                "bxor, or convert to an integer first",
                name_of(op));
  }
  return {};
}

}  // namespace hocket
