// Tensors as .npy arrays, in and out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/npy/npy.h"
#include "runtime/program/tensor.h"

namespace modeld::modelctl {

// "<f4[1,3,224,224]"
std::string describe(const NpyArray& array);

// The bytes of `array` as a tensor of `type`: element type and shape must be the same (bf16, which
// .npy does not know, is taken from <f4 and rounded). kInvalidArgument naming both.
Result<std::vector<std::byte>> tensor_from_npy(NpyArray array, const TensorType& type);

// bf16 comes out as <f4.
NpyArray tensor_to_npy(std::span<const std::byte> bytes, const TensorType& type);

}  // namespace modeld::modelctl
