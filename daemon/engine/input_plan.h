// Matches what a daemon can give a model with what the model's contract asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"

namespace modeld {

// One `source` of the vocabulary in runtime/artifact/contract.h, as a daemon offers it.
struct SourceRule {
  std::string_view source;
  InputRole role;
  int64_t elements;  // float32 values; 0 for frames
  bool required;     // a model of this role that does not ask for it is refused
};

// Position in contract.inputs for each rule, nothing where the model does not ask for an optional
// source. kRefused naming the input: an input whose source is empty or not offered, a source asked
// for twice, a wrong type, a required source missing, a frame without a camera in the contract.
Result<std::vector<std::optional<size_t>>> plan_inputs(const Contract& contract,
                                                       std::span<const SourceRule> offered);

}  // namespace modeld
