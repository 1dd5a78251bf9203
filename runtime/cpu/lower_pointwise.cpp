// Element by element: float32 functions of one and two inputs, Where, Cast, BatchNormalization.
// Other element types are the reference loops' business.
#include <algorithm>
#include <cmath>

#include "runtime/cpu/activation.h"
#include "runtime/cpu/binary_functions.h"
#include "runtime/cpu/broadcast_plan.h"
#include "runtime/cpu/convert.h"
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/operands.h"
#include "runtime/cpu/vector_math.h"
#include "runtime/reference/wide.h"

namespace modeld::cpu {
namespace {

bool lower_unary(Lowering& lowering, const Op& op) {
  const auto activation = unary_activation(op.kind, op.attributes);
  if (!activation || lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  const Layout layout = lowering.layout(op.inputs[0]);
  const ValueId from = lowering.value(op.inputs[0], layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  const int64_t count = lowering.type(op.outputs[0]).elements();
  Lowering::StepOptions options;
  options.parallel = count >= kWorthSharing;
  options.in_place = {from};
  lowering.add(step_of([=, function = *activation](const RunContext& context) {
                 const Share share = share_of(count, context.part, context.parts, 16);
                 apply(function, context.at<float>(from) + share.begin,
                       context.at<float>(to) + share.begin,
                       static_cast<size_t>(share.end - share.begin));
               }),
               "own: pointwise", {from}, {to}, std::move(options));
  return true;
}

template <typename Out, typename Function>
MODELD_ALWAYS_INLINE inline void binary_row(const float* a, int64_t a_stride, const float* b,
                                            int64_t b_stride, Out* out, int64_t count,
                                            const Function& function) {
  if (a_stride == 1 && b_stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
  } else if (a_stride == 1 && b_stride == 0) {
    const float right = *b;
    for (int64_t i = 0; i < count; ++i) out[i] = function(a[i], right);
  } else if (a_stride == 0 && b_stride == 1) {
    const float left = *a;
    for (int64_t i = 0; i < count; ++i) out[i] = function(left, b[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = function(a[i * a_stride], b[i * b_stride]);
  }
}

template <typename Out, typename Function>
std::unique_ptr<Step> binary_step(const BroadcastPlan& plan, ValueId a, ValueId b, ValueId out,
                                  Function function) {
  return step_of([=](const RunContext& context) {
    const float* left = context.at<float>(a);
    const float* right = context.at<float>(b);
    Out* result = context.at<Out>(out);
    const auto strides = plan.row_strides();
    vectorised([&]() MODELD_ALWAYS_INLINE {
      plan.for_each_row(context.part, context.parts,
                        [&](int64_t at, const BroadcastPlan::Offsets& from, int64_t count)
                            MODELD_ALWAYS_INLINE {
                              binary_row(left + from[0], strides[0], right + from[1], strides[1],
                                         result + at, count, function);
                            });
    });
  });
}

std::unique_ptr<Step> make_binary(OpKind kind, const BroadcastPlan& plan, ValueId a, ValueId b,
                                  ValueId out) {
  std::unique_ptr<Step> step;
  with_binary_function(kind, [&]<typename Out, typename Function>(Out, Function function) {
    step = binary_step<Out>(plan, a, b, out, function);
  });
  return step;
}

// x^2 and x^0.5 as such; other exponents are rare and left to libm in the reference loop.
std::optional<float> constant_exponent(const Lowering& lowering, const Op& op) {
  if (op.kind != OpKind::kPow || !lowering.is_constant(op.inputs[1])) return std::nullopt;
  if (lowering.type(op.inputs[1]).elements() != 1) return std::nullopt;
  if (lowering.stored(op.inputs[1]) != DType::kFloat32) return std::nullopt;
  if (lowering.shape(op.inputs[0]) != lowering.shape(op.outputs[0])) return std::nullopt;
  return lowering.constant_floats(op.inputs[1])[0];
}

bool lower_square(Lowering& lowering, const Op& op) {
  const auto exponent = constant_exponent(lowering, op);
  if (!exponent || *exponent != 2.0f || lowering.stored(op.inputs[0]) != DType::kFloat32) {
    return false;
  }
  const Layout layout = lowering.layout(op.inputs[0]);
  const ValueId from = lowering.value(op.inputs[0], layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  const BroadcastPlan::Input same{lowering.shape(op.outputs[0]), layout};
  const BroadcastPlan plan(same.shape, layout, {same, same});
  Lowering::StepOptions options;
  options.parallel = plan.elements() >= kWorthSharing;
  options.in_place = {from};
  lowering.add(make_binary(OpKind::kMul, plan, from, from, to), "own: pointwise", {from}, {to},
               std::move(options));
  return true;
}

bool lower_binary(Lowering& lowering, const Op& op) {
  if (op.inputs.size() != 2 || op.kind == OpKind::kPow || op.kind == OpKind::kMod) return false;
  for (const TensorId id : op.inputs) {
    if (lowering.stored(id) != DType::kFloat32) return false;
  }
  if (make_binary(op.kind, BroadcastPlan({}, Layout::kPlain, {}), 0, 0, 0) == nullptr) return false;
  const Operands operands = operands_of(lowering, op);
  const BroadcastPlan plan(lowering.shape(op.outputs[0]), operands.layout, operands.inputs);
  lowering.add(make_binary(op.kind, plan, operands.values[0], operands.values[1], operands.out),
               "own: pointwise", operands.values, {operands.out},
               options_for(operands, plan.elements()));
  return true;
}

bool lower_where(Lowering& lowering, const Op& op) {
  if (op.kind != OpKind::kWhere || lowering.stored(op.inputs[1]) != DType::kFloat32) return false;
  const Operands operands = operands_of(lowering, op);
  const BroadcastPlan plan(lowering.shape(op.outputs[0]), operands.layout, operands.inputs);
  const std::vector<ValueId> values = operands.values;
  const ValueId out = operands.out;
  const ValueId condition = values[0], yes = values[1], no = values[2];
  lowering.add(step_of([=](const RunContext& context) {
                 const uint8_t* c = context.at<uint8_t>(condition);
                 const float* a = context.at<float>(yes);
                 const float* b = context.at<float>(no);
                 float* result = context.at<float>(out);
                 const auto s = plan.row_strides();
                 plan.for_each_row(
                     context.part, context.parts,
                     [&](int64_t at, const BroadcastPlan::Offsets& from, int64_t count) {
                       for (int64_t i = 0; i < count; ++i) {
                         const bool chosen = c[from[0] + i * s[0]] != 0;
                         result[at + i] = chosen ? a[from[1] + i * s[1]] : b[from[2] + i * s[2]];
                       }
                     });
               }),
               "own: pointwise", values, {out}, options_for(operands, plan.elements()));
  return true;
}

template <typename From>
std::unique_ptr<Step> to_float_step(ValueId from, ValueId to, int64_t count) {
  return step_of([=](const RunContext& context) {
    const Share share = share_of(count, context.part, context.parts, 64);
    const From* source = context.at<From>(from);
    float* target = context.at<float>(to);
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t i = share.begin; i < share.end; ++i) target[i] = static_cast<float>(source[i]);
    });
  });
}

std::unique_ptr<Step> make_to_float(DType type, ValueId from, ValueId to, int64_t count) {
  switch (type) {
    case DType::kInt8:
      return to_float_step<int8_t>(from, to, count);
    case DType::kUInt8:
      return to_float_step<uint8_t>(from, to, count);
    case DType::kInt16:
      return to_float_step<int16_t>(from, to, count);
    case DType::kUInt16:
      return to_float_step<uint16_t>(from, to, count);
    case DType::kInt32:
      return to_float_step<int32_t>(from, to, count);
    case DType::kInt64:
      return to_float_step<int64_t>(from, to, count);
    default:
      return nullptr;
  }
}

// A cast to a half type rounds, although the result is stored as float32.
std::unique_ptr<Step> make_round(DType half, ValueId from, ValueId to, int64_t count) {
  return step_of([=](const RunContext& context) {
    const Share share = share_of(count, context.part, context.parts, 64);
    round_to(half, context.at<float>(from) + share.begin, context.at<float>(to) + share.begin,
             static_cast<size_t>(share.end - share.begin));
  });
}

// From wider types straight to the half type: by way of float32 a number would be rounded twice.
std::unique_ptr<Step> make_round_wide(DType type, DType half, ValueId from, ValueId to,
                                      int64_t count) {
  return step_of([=](const RunContext& context) {
    constexpr int64_t kRow = 256;
    const Share share = share_of(count, context.part, context.parts, 64);
    const auto* source = context.at<std::byte>(from);
    float* target = context.at<float>(to);
    double wide[kRow];
    uint16_t narrow[kRow];
    for (int64_t at = share.begin; at < share.end; at += kRow) {
      const auto length = static_cast<size_t>(std::min(kRow, share.end - at));
      reference::load(type, source + static_cast<size_t>(at) * size_of(type), wide, length);
      reference::store(half, wide, reinterpret_cast<std::byte*>(narrow), length);
      widen(half, narrow, target + at, length);
    }
  });
}

bool is_half(DType type) {
  return type == DType::kFloat16 || type == DType::kBFloat16;
}

bool lower_cast(Lowering& lowering, const Op& op) {
  if (op.kind != OpKind::kCast) return false;
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const DType from_type = lowering.type(in).dtype;
  const DType to_type = lowering.type(out).dtype;
  const Layout layout = lowering.layout(in);
  if (from_type == to_type || (is_half(from_type) && to_type == DType::kFloat32)) {
    lowering.define_view(out, layout, lowering.value(in, layout));
    return true;
  }
  const bool rounds = is_half(to_type) && lowering.stored(in) == DType::kFloat32;
  const bool rounds_wide = is_half(to_type) && !rounds;
  // float16 holds every integer of one byte.
  const bool exact =
      to_type == DType::kFloat32 || (to_type == DType::kFloat16 && size_of(from_type) == 1);
  const bool widens = exact && make_to_float(from_type, 0, 0, 0) != nullptr;
  if (!rounds && !rounds_wide && !widens) return false;
  const ValueId from = lowering.value(in, layout);
  const ValueId to = lowering.define(out, layout);
  const int64_t count = lowering.type(out).elements();
  Lowering::StepOptions options;
  options.parallel = count >= kWorthSharing;
  if (rounds) options.in_place = {from};
  auto step = rounds   ? make_round(to_type, from, to, count)
              : widens ? make_to_float(from_type, from, to, count)
                       : make_round_wide(from_type, to_type, from, to, count);
  lowering.add(std::move(step), "own: cast", {from}, {to}, std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_pointwise(Lowering& lowering) {
  const Op& op = lowering.op();
  return lower_unary(lowering, op) || lower_square(lowering, op) || lower_binary(lowering, op) ||
         lower_where(lowering, op) || lower_cast(lowering, op);
}

}  // namespace modeld::cpu
