// Where the bytes of constants come from when a capture is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace modeld {

// Read in ascending order where possible: the artifact's source verifies one block (at most
// 32 MiB) at a time and holds only that one. Not thread-safe.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual uint64_t size() const = 0;  // bytes
  // Fills `out` from `offset`. kRefused if the bytes of a file do not verify (any more); kCorrupt
  // or kRefused if they lie outside.
  virtual Status read(uint64_t offset, std::span<std::byte> out) = 0;
};

// Weights in memory: just compiled, or made by a test.
class MemoryWeights final : public WeightSource {
 public:
  explicit MemoryWeights(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Status read(uint64_t offset, std::span<std::byte> out) override;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace modeld
