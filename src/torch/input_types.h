// What the inputs of a step are like: a program that was compiled for some runs with others of the same kind.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "hocket/base/error.h"

namespace hocket {

class InputTypes {
 public:
  // Undefined tensors and those that are not on the CPU are errors that name the input.
  static Result<InputTypes> of(const std::vector<at::Tensor>& inputs);

  // "input 0 is f32[8,4], compiled were f32[16,4]"; nothing if they are the same.
  std::optional<std::string> difference_to(const InputTypes& compiled) const;
  std::size_t size() const { return types_.size(); }  // of inputs
  friend bool operator==(const InputTypes&, const InputTypes&) = default;

 private:
  struct Type {
    at::ScalarType dtype = at::ScalarType::Undefined;
    std::vector<std::int64_t> sizes, strides;
    std::string to_string() const;
    friend bool operator==(const Type&, const Type&) = default;
  };
  std::vector<Type> types_;
  // Which inputs lie in the same memory, and how far apart: programs know what shares memory.
  struct Shared {
    std::size_t input = 0;  // the first that lies in it
    std::int64_t distance = 0;
    friend bool operator==(const Shared&, const Shared&) = default;
  };
  std::vector<Shared> shared_;
};

}  // namespace hocket
