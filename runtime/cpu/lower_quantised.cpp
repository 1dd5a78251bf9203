// QuantizeLinear and DequantizeLinear between small integers and float32 or half types.
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/operands.h"
#include "runtime/cpu/quantise.h"
#include "runtime/cpu/simd.h"

namespace modeld::cpu {
namespace {

// What a row needs: the strides of data, scale and zero point, and where they are (zero: null).
struct Sources {
  ValueId data;
  ValueId scale;
  ValueId zero;
  ValueId out;
};

template <typename T, typename Quotient>
std::unique_ptr<Step> quantise_step(const BroadcastPlan& plan, const Sources& sources) {
  return step_of([=](const RunContext& context) {
    const float* x = context.at<float>(sources.data);
    const float* scale = context.at<float>(sources.scale);
    const T* zero = sources.zero == kNoValue ? nullptr : context.at<T>(sources.zero);
    T* out = context.at<T>(sources.out);
    const auto s = plan.row_strides();
    vectorised([&]() MODELD_ALWAYS_INLINE {
      plan.for_each_row(
          context.part, context.parts,
          [&](int64_t at, const BroadcastPlan::Offsets& from, int64_t count) MODELD_ALWAYS_INLINE {
            const bool one = s[0] == 1 && s[1] == 0 && (zero == nullptr || s[2] == 0);
            if (one) {
              const float factor = scale[from[1]];
              const float origin = zero == nullptr ? 0.0f : static_cast<float>(zero[from[2]]);
              quantise_row<T, Quotient>(x + from[0], factor, origin, out + at, count);
              return;
            }
            for (int64_t i = 0; i < count; ++i) {
              const float origin =
                  zero == nullptr ? 0.0f : static_cast<float>(zero[from[2] + i * s[2]]);
              out[at + i] =
                  quantised<T, Quotient>(x[from[0] + i * s[0]], scale[from[1] + i * s[1]], origin);
            }
          });
    });
  });
}

template <typename T>
std::unique_ptr<Step> dequantise_step(const BroadcastPlan& plan, const Sources& sources) {
  return step_of([=](const RunContext& context) {
    const T* x = context.at<T>(sources.data);
    const float* scale = context.at<float>(sources.scale);
    const T* zero = sources.zero == kNoValue ? nullptr : context.at<T>(sources.zero);
    float* out = context.at<float>(sources.out);
    const auto s = plan.row_strides();
    vectorised([&]() MODELD_ALWAYS_INLINE {
      plan.for_each_row(
          context.part, context.parts,
          [&](int64_t at, const BroadcastPlan::Offsets& from, int64_t count) MODELD_ALWAYS_INLINE {
            const bool one = s[0] == 1 && s[1] == 0 && (zero == nullptr || s[2] == 0);
            if (one) {
              const float factor = scale[from[1]];
              const int32_t origin = zero == nullptr ? 0 : static_cast<int32_t>(zero[from[2]]);
              dequantise_row(x + from[0], factor, origin, out + at, count);
              return;
            }
            for (int64_t i = 0; i < count; ++i) {
              const int32_t origin =
                  zero == nullptr ? 0 : static_cast<int32_t>(zero[from[2] + i * s[2]]);
              const int32_t value = static_cast<int32_t>(x[from[0] + i * s[0]]) - origin;
              out[at + i] = static_cast<float>(value) * scale[from[1] + i * s[1]];
            }
          });
    });
  });
}

// `quotient`: what QuantizeLinear rounds to before it rounds to an integer.
std::unique_ptr<Step> make_step(bool quantises, DType type, DType quotient,
                                const BroadcastPlan& plan, const Sources& sources) {
  const auto make = [&]<typename T>(T) {
    if (!quantises) return dequantise_step<T>(plan, sources);
    if (quotient == DType::kFloat16) return quantise_step<T, AsHalf>(plan, sources);
    if (quotient == DType::kBFloat16) return quantise_step<T, AsBFloat>(plan, sources);
    return quantise_step<T, AsFloat>(plan, sources);
  };
  switch (type) {
    case DType::kInt8:
      return make(int8_t{});
    case DType::kUInt8:
      return make(uint8_t{});
    case DType::kInt16:
      return make(int16_t{});
    case DType::kUInt16:
      return make(uint16_t{});
    default:
      return nullptr;
  }
}

}  // namespace

Result<bool> lower_quantised(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool quantises = op.kind == OpKind::kQuantizeLinear;
  if (!quantises && op.kind != OpKind::kDequantizeLinear) return false;
  const DType integer = lowering.type(quantises ? op.outputs[0] : op.inputs[0]).dtype;
  const TensorId real = quantises ? op.inputs[0] : op.outputs[0];
  if (lowering.stored(real) != DType::kFloat32 ||
      lowering.stored(op.inputs[1]) != DType::kFloat32) {
    return false;
  }
  const DType x = lowering.type(op.inputs[0]).dtype;
  const DType scale = lowering.type(op.inputs[1]).dtype;
  const DType quotient = quotient_type(x, scale);
  if (make_step(quantises, integer, quotient, BroadcastPlan({}, Layout::kPlain, {}), {}) ==
      nullptr) {
    return false;
  }
  const Operands operands = operands_of(lowering, op);
  const BroadcastPlan plan(lowering.shape(op.outputs[0]), operands.layout, operands.inputs);
  const bool has_zero = operands.values.size() > 2;
  const Sources sources{operands.values[0], operands.values[1],
                        has_zero ? operands.values[2] : kNoValue, operands.out};
  lowering.add(make_step(quantises, integer, quotient, plan, sources),
               quantises ? "own: quantise" : "own: dequantise", operands.values, {operands.out},
               options_for(operands, plan.elements()));
  return true;
}

}  // namespace modeld::cpu
