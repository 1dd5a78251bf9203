// Contents of constant tensors as numbers and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/program/tensor.h"
#include "runtime/reference/evaluate.h"

namespace modeld::compile {

// Contents of initializers, Constant nodes and folded ops: shared, never changed.
using ConstantPtr = std::shared_ptr<const HostTensor>;

// Every element as a double (exact but for 64-bit integers beyond 2^53).
std::vector<double> to_doubles(const HostTensor& tensor);

// Every element of an integer or bool tensor; nothing for other types or an unsigned value beyond
// int64.
std::optional<std::vector<int64_t>> to_ints(const HostTensor& tensor);

// Rounded to `type.dtype` (floats: to nearest even; integers: the values must fit). `values` has
// `type.elements()` elements.
HostTensor from_doubles(TensorType type, std::span<const double> values);
HostTensor from_ints(std::span<const int64_t> values);  // i64, one axis

// The one value every element has, if there is one.
std::optional<double> uniform_value(const HostTensor& tensor);

}  // namespace modeld::compile
