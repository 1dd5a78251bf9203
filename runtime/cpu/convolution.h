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
  // Of bytes instead (not transposed; neither bias, residual nor activation): the source's type,
  // kInt8 or kUInt8, its zero point, and weights whose zero points are 0. The destination holds
  // int32 sums. They are exact where is_exact_here() says so.
  DType source_type = DType::kFloat32;
  int32_t source_zero = 0;
  const int8_t* byte_weights = nullptr;

  ValueId source = kNoValue;       // channels last
  ValueId destination = kNoValue;  // channels last
  ValueId bias = kNoValue;         // [out_channels], or kNoValue
  ValueId residual = kNoValue;     // channels last, the destination's shape, or kNoValue
  std::optional<Activation> activation;

  int64_t multiply_adds() const;
};

// Of a Conv, ConvTranspose or ConvInteger, but for weights and values.
ConvolutionSpec convolution_spec(const Lowering& lowering, const Op& op);
// The library knows two and three spatial axes best: a single one gets a first axis of extent 1.
void to_two_axes(ConvolutionSpec& spec);

// Whether the library's sums of bytes are exact on this processor, where no sum of magnitudes
// exceeds `bound`: without VNNI its products saturate, and some of its code rounds to float32.
bool is_exact_here(int64_t bound);

// Adds the step to `lowering`. An error means that the library has no code of its own for it; the
// lowering is unchanged then.
Status add_convolution(Lowering& lowering, const ConvolutionSpec& spec);

}  // namespace modeld::cpu
