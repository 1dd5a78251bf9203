// ONNX element type numbers (TensorProto.DataType).
#pragma once

#include <cstdint>

#include "runtime/base/result.h"
#include "runtime/program/dtype.h"

namespace modeld::compile {

// kUnsupported names a type this compiler does not know.
Result<DType> dtype_of(int64_t onnx_element_type);

}  // namespace modeld::compile
