// A tensor with its bytes, in host memory: what the compiler folds and tests compare.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/program/tensor.h"

namespace modeld {

struct HostTensor {
  TensorType type;
  std::vector<std::byte> bytes;  // type.bytes() long, C order, the machine's byte order
};

}  // namespace modeld
