// What the network said, as one block of float32: the messages' rawPredictions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/artifact/contract.h"

namespace modeld {

// Outputs that hold heads, one after the other as in the contract (interoperability facts 5.1:
// vision and then policy). Memory is taken once. Not thread-safe.
class RawPredictions {
 public:
  explicit RawPredictions(const std::vector<OutputContract>& outputs);

  // `outputs`: one span per output of the contract, as OutputFloats gives them.
  void copy(std::span<const std::span<const float>> outputs);
  // The copies, to be changed in place; one per output of the contract, empty where that has no
  // heads.
  std::span<const std::span<float>> outputs() const { return spans_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values_)); }

 private:
  std::vector<float> values_;
  std::vector<std::span<float>> spans_;
};

}  // namespace modeld
