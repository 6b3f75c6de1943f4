#include "torch/input_types.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "torch/arguments.h"

namespace hocket {

std::string InputTypes::Type::to_string() const {
  const auto known = dtype_of(dtype);
  std::string text = fmt::format("{}[{}]", known ? short_name(*known) : c10::toString(dtype), fmt::join(sizes, ","));
  std::int64_t dense = 1;
  bool contiguous = true;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    contiguous = contiguous && (strides[i] == dense || sizes[i] == 1);
    dense *= sizes[i];
  }
  if (!contiguous) text += fmt::format(" strides[{}]", fmt::join(strides, ","));
  return text;
}

Result<InputTypes> InputTypes::of(const std::vector<at::Tensor>& inputs) {
  InputTypes all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    if (!input.defined()) return fail(ErrorKind::usage, "input {} of the step is an undefined tensor", i);
    if (!input.is_cpu()) {
      return fail(ErrorKind::usage, "input {} of the step is on {}, expected the CPU", i, input.device().str());
    }
    all.types_.push_back({input.scalar_type(), input.sizes().vec(), input.strides().vec()});
    const auto same = std::find_if(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const at::Tensor& other) { return other.is_alias_of(input); });
    const auto first = static_cast<std::size_t>(same - inputs.begin());
    const std::int64_t distance = first == i ? 0
                                             : static_cast<const std::byte*>(input.const_data_ptr()) -
                                                   static_cast<const std::byte*>(inputs[first].const_data_ptr());
    all.shared_.push_back({first, distance});
  }
  return all;
}

std::optional<std::string> InputTypes::difference_to(const InputTypes& compiled) const {
  if (types_.size() != compiled.types_.size()) {
    return fmt::format("there are {} inputs, compiled were {}", types_.size(), compiled.types_.size());
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (types_[i] != compiled.types_[i]) {
      return fmt::format("input {} is {}, compiled were {}", i, types_[i].to_string(), compiled.types_[i].to_string());
    }
  }
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (shared_[i] != compiled.shared_[i]) return fmt::format("input {} shares memory with others than before", i);
  }
  return std::nullopt;
}

}  // namespace hocket
