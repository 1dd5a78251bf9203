#include "runtime/program/dtype.h"

#include <array>

namespace modeld {
namespace {

struct Row {
  DType type;
  std::string_view name;
  size_t size;
};

constexpr std::array<Row, 14> kRows = {{
    {DType::kFloat32, "f32", 4},
    {DType::kFloat64, "f64", 8},
    {DType::kFloat16, "f16", 2},
    {DType::kBFloat16, "bf16", 2},
    {DType::kInt8, "i8", 1},
    {DType::kUInt8, "u8", 1},
    {DType::kInt16, "i16", 2},
    {DType::kUInt16, "u16", 2},
    {DType::kInt32, "i32", 4},
    {DType::kUInt32, "u32", 4},
    {DType::kInt64, "i64", 8},
    {DType::kUInt64, "u64", 8},
    {DType::kBool, "bool", 1},
    {DType::kNv12, "nv12", 0},
}};

}  // namespace

size_t size_of(DType type) {
  return kRows[static_cast<size_t>(type)].size;
}

bool is_float(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat64 || type == DType::kFloat16 ||
         type == DType::kBFloat16;
}

std::string_view to_string(DType type) {
  return kRows[static_cast<size_t>(type)].name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Row& row : kRows) {
    if (row.name == text) return row.type;
  }
  return std::nullopt;
}

}  // namespace modeld
