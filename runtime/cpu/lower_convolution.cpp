// Conv and ConvTranspose of float tensors with constant weights.
#include "runtime/cpu/convolution.h"
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/simd.h"

namespace modeld::cpu {
namespace {

// Strides of a dense tensor of `dims`.
std::vector<int64_t> dense(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::vector<int64_t> weight_strides(const ConvolutionSpec& spec) {
  const int64_t out = spec.out_channels / spec.groups;
  const int64_t in = spec.in_channels / spec.groups;
  std::vector<int64_t> dims = {spec.groups, spec.transposed ? in : out, spec.transposed ? out : in};
  dims.insert(dims.end(), spec.kernel.begin(), spec.kernel.end());
  std::vector<int64_t> strides = dense(dims);
  if (spec.transposed) std::swap(strides[1], strides[2]);
  if (spec.groups == 1) strides.erase(strides.begin());
  return strides;
}

bool fits(const Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  if (x.size() < 3 || x.size() > 5) return false;
  if (!lowering.is_constant(op.inputs[1])) return false;
  if (lowering.type(op.inputs[0]).elements() == 0) return false;
  if (lowering.type(op.outputs[0]).elements() == 0) return false;
  return lowering.stored(op.inputs[0]) == DType::kFloat32;
}

// Every element `times` times in a row.
void repeat(const float* from, float* to, Share share, int64_t times) {
  if (times == 2) {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t i = share.begin; i < share.end; ++i) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[i];
      }
    });
    return;
  }
  for (int64_t i = share.begin; i < share.end; ++i) {
    for (int64_t j = 0; j < times; ++j) to[i * times + j] = from[i];
  }
}

// A depthwise convolution with several outputs per channel has no fast code in the library; with
// every channel repeated that often it is an ordinary depthwise one.
void repeat_channels(Lowering& lowering, ConvolutionSpec& spec) {
  const int64_t times = spec.out_channels / spec.groups;
  if (spec.transposed || spec.groups != spec.in_channels || spec.groups == 1 || times == 1) return;
  int64_t positions = spec.batch;
  for (const int64_t extent : spec.in) positions *= extent;
  const ValueId repeated =
      lowering.temporary(static_cast<uint64_t>(positions * spec.out_channels) * sizeof(float));
  const ValueId from = spec.source;
  const int64_t count = positions * spec.in_channels;
  Lowering::StepOptions options;
  options.parallel = count >= 16 * 1024;
  lowering.add(step_of([=](const RunContext& context) {
                 const Share share = share_of(count, context.part, context.parts, 16);
                 repeat(context.at<float>(from), context.at<float>(repeated), share, times);
               }),
               "own: repeat channels", {from}, {repeated}, std::move(options));
  spec.source = repeated;
  spec.in_channels = spec.out_channels;
  spec.groups = spec.out_channels;
  // [groups, times, 1, kernel..] is [groups * times, 1, 1, kernel..] in the same order.
  spec.weight_strides[0] = spec.weight_strides[1];
}

}  // namespace

void to_two_axes(ConvolutionSpec& spec) {
  if (spec.in.size() != 1) return;
  spec.in.insert(spec.in.begin(), 1);
  spec.out.insert(spec.out.begin(), 1);
  spec.kernel.insert(spec.kernel.begin(), 1);
  spec.strides.insert(spec.strides.begin(), 1);
  spec.dilations.insert(spec.dilations.begin(), 1);
  spec.pads_begin.insert(spec.pads_begin.begin(), 0);
  spec.weight_strides.insert(spec.weight_strides.end() - 1, spec.weight_strides.back());
}

ConvolutionSpec convolution_spec(const Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  const Shape& w = lowering.shape(op.inputs[1]);
  const Shape& y = lowering.shape(op.outputs[0]);
  ConvolutionSpec spec;
  spec.transposed = op.kind == OpKind::kConvTranspose;
  spec.batch = x[0];
  spec.groups = op.attributes.get_int("group", 1);
  spec.in_channels = x[1];
  spec.out_channels = y[1];
  spec.in.assign(x.begin() + 2, x.end());
  spec.out.assign(y.begin() + 2, y.end());
  spec.kernel.assign(w.begin() + 2, w.end());
  spec.strides = op.attributes.get_ints("strides");
  spec.dilations = op.attributes.get_ints("dilations");
  spec.pads_begin = op.attributes.get_ints("pads");
  spec.pads_begin.resize(spec.in.size());
  spec.weight_strides = weight_strides(spec);
  spec.activation = fused_activation(op.attributes);
  return spec;
}

Result<bool> lower_convolution(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kConv && op.kind != OpKind::kConvTranspose) return false;
  if (!fits(lowering, op)) return false;
  ConvolutionSpec spec = convolution_spec(lowering, op);
  spec.weights = lowering.constant_floats(op.inputs[1]).data();
  spec.source = lowering.value(op.inputs[0], Layout::kChannelsLast);
  if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
    spec.bias = lowering.value(op.inputs[2], Layout::kPlain);
  }
  if (op.inputs.size() > 3 && op.inputs[3] != kNoTensor) {
    spec.residual = lowering.value(op.inputs[3], Layout::kChannelsLast);
  }
  repeat_channels(lowering, spec);
  to_two_axes(spec);
  spec.destination = lowering.define(op.outputs[0], Layout::kChannelsLast);
  // Whatever the library cannot do, the reference kernels can.
  if (add_convolution(lowering, spec).ok()) return true;
  lowering.forget(op.outputs[0]);
  return false;
}

}  // namespace modeld::cpu
