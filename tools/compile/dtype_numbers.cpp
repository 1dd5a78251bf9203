#include "tools/compile/dtype_numbers.h"

#include <array>
#include <string>
#include <utility>

namespace modeld::compile {
namespace {

constexpr auto kTypes = std::to_array<std::pair<int64_t, DType>>({
    {1, DType::kFloat32},
    {2, DType::kUInt8},
    {3, DType::kInt8},
    {4, DType::kUInt16},
    {5, DType::kInt16},
    {6, DType::kInt32},
    {7, DType::kInt64},
    {9, DType::kBool},
    {10, DType::kFloat16},
    {11, DType::kFloat64},
    {12, DType::kUInt32},
    {13, DType::kUInt64},
    {16, DType::kBFloat16},
});

}  // namespace

Result<DType> dtype_of(int64_t onnx_element_type) {
  for (const auto& [number, dtype] : kTypes) {
    if (number == onnx_element_type) return dtype;
  }
  return Error(ErrorCode::kUnsupported,
               "element type " + std::to_string(onnx_element_type) + " of ONNX is not supported");
}

}  // namespace modeld::compile
