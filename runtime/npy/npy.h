// Arrays in NumPy's .npy files: format versions 1, 2 and 3, little endian, C order. Source of the
// format: the "NumPy binary format" page of the NumPy manual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld {

enum class NpyType : uint8_t { kF2, kF4, kF8, kI1, kU1, kI2, kU2, kI4, kU4, kI8, kU8, kB1 };

size_t npy_type_size(NpyType type);
std::string_view to_string(NpyType type);  // "<f4", "|u1", ... as written in a header

// A plain value; `bytes` holds the elements in C order, little endian. A boolean is 0 or 1.
struct NpyArray {
  NpyType type = NpyType::kF4;
  std::vector<uint64_t> shape;  // empty: one scalar
  std::vector<std::byte> bytes;
};

constexpr uint64_t kMaxNpyBytes = uint64_t{1} << 32;  // of data, unless a caller says otherwise

// Product of the shape; nothing if it overflows.
std::optional<uint64_t> npy_element_count(std::span<const uint64_t> shape);

// The file's bytes must be exactly one array. kCorrupt: not what the format promises;
// kUnsupported: Fortran order, big endian or another element type; kRefused: above `max_bytes`.
Result<NpyArray> parse_npy(std::span<const std::byte> file, uint64_t max_bytes = kMaxNpyBytes);
Result<NpyArray> read_npy(const std::filesystem::path& path, uint64_t max_bytes = kMaxNpyBytes);

// Version 1, data at a multiple of 64 bytes. kInvalidArgument if the
// bytes are not as many as shape and type say.
Result<std::vector<std::byte>> format_npy(const NpyArray& array);
Status write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace modeld
