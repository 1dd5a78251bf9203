// NumPy .npz archives (zip of .npy) for tests: throws std::runtime_error on anything unexpected,
// which fails the test that asked.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "runtime/npy/npy.h"

namespace modeld::test {

// Reads all arrays of numbers at construction; immutable afterwards.
class Npz {
 public:
  explicit Npz(const std::filesystem::path& path);

  bool has(const std::string& name) const { return arrays_.contains(name); }
  const NpyArray& array(const std::string& name) const;
  const std::map<std::string, NpyArray>& arrays() const { return arrays_; }

  // All elements in C order. T must be the stored type (bool arrays: uint8_t).
  template <typename T>
  std::span<const T> values(const std::string& name) const {
    const NpyArray& found = array(name);
    if (!holds<T>(found.type)) throw std::runtime_error("other element type: " + name);
    return {reinterpret_cast<const T*>(found.bytes.data()), found.bytes.size() / sizeof(T)};
  }

  // Row `index` of the first axis.
  template <typename T>
  std::span<const T> row(const std::string& name, size_t index) const {
    const NpyArray& found = array(name);
    if (found.shape.empty() || index >= found.shape[0]) throw std::runtime_error("no row: " + name);
    const auto all = values<T>(name);
    const size_t length = all.size() / found.shape[0];
    return all.subspan(index * length, length);
  }

 private:
  template <typename T>
  static bool holds(NpyType type) {
    if constexpr (std::is_same_v<T, float>) return type == NpyType::kF4;
    if constexpr (std::is_same_v<T, double>) return type == NpyType::kF8;
    if constexpr (std::is_same_v<T, uint8_t>) return type == NpyType::kU1 || type == NpyType::kB1;
    if constexpr (std::is_same_v<T, int32_t>) return type == NpyType::kI4;
    if constexpr (std::is_same_v<T, uint32_t>) return type == NpyType::kU4;
    if constexpr (std::is_same_v<T, int64_t>) return type == NpyType::kI8;
    if constexpr (std::is_same_v<T, uint64_t>) return type == NpyType::kU8;
    return false;
  }

  std::map<std::string, NpyArray> arrays_;
};

}  // namespace modeld::test
