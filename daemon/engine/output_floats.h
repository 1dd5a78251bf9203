// A capture's outputs as float32, for parsers.
#pragma once

#include <span>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/device/capture.h"

namespace modeld {

// Copies, because a capture promises neither alignment nor float32. Memory is taken once. Not
// thread-safe.
class OutputFloats {
 public:
  explicit OutputFloats(const std::vector<OutputContract>& outputs);

  // Outputs of the last completed replay; one span per output of the contract, empty for those that
  // are not of a float type (no head can be there, see head_contracts()). Valid until the next
  // read().
  std::span<const std::span<const float>> read(const Capture& capture);

  // The contracts a parser may look for heads in: outputs of other types have no slices there.
  static std::vector<OutputContract> head_contracts(const std::vector<OutputContract>& outputs);

 private:
  std::vector<DType> dtypes_;
  std::vector<std::vector<float>> values_;
  std::vector<std::span<const float>> spans_;
};

}  // namespace modeld
