// Convolutions over channels-last values by oneDNN, with the rest of the op fused in. Matrix
// products with constant right sides are 1x1 convolutions here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cpu/activation.h"
#include "runtime/cpu/lowering.h"

namespace modeld::cpu {

// Everything in elements; spatial lists have one entry per spatial axis (1 to 3).
struct ConvolutionSpec {
  bool transposed = false;
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  std::vector<int64_t> in;
  std::vector<int64_t> out;
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads_begin;
  // Weights in float32 and the strides that read them as [groups], out/groups, in/groups, kernel..
  const float* weights = nullptr;
  std::vector<int64_t> weight_strides;

  ValueId source = kNoValue;       // channels last
  ValueId destination = kNoValue;  // channels last
  ValueId bias = kNoValue;         // [out_channels], or kNoValue
  ValueId residual = kNoValue;     // channels last, the destination's shape, or kNoValue
  std::optional<Activation> activation;

  int64_t multiply_adds() const;
};

// Adds the step to `lowering`. An error means that the library has no code of its own for it; the
// lowering is unchanged then.
Status add_convolution(Lowering& lowering, const ConvolutionSpec& spec);

}  // namespace modeld::cpu
