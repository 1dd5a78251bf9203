#include "runtime/cpu/block_kernel.h"

#include <cstring>

#include "runtime/cpu/binary_functions.h"
#include "runtime/cpu/convert.h"
#include "runtime/cpu/quantise.h"
#include "runtime/cpu/values.h"

namespace modeld::cpu {
namespace {

template <typename T>
MODELD_ALWAYS_INLINE inline const T* operand(const BlockCall& call, size_t index) {
  return reinterpret_cast<const T*>(call.operands[index].data);
}

template <typename T>
MODELD_ALWAYS_INLINE inline T* result(const BlockCall& call) {
  return reinterpret_cast<T*>(call.out);
}

void run_unary(const BlockCall& call) {
  apply(call.activation, operand<float>(call, 0), result<float>(call),
        static_cast<size_t>(call.count));
}

template <typename In, typename Out, typename Function>
void run_binary(const BlockCall& call) {
  vectorised([&]() MODELD_ALWAYS_INLINE {
    // Locals: a store to a byte may change anything else.
    const In* const a = operand<In>(call, 0);
    const In* const b = operand<In>(call, 1);
    Out* const out = result<Out>(call);
    const int64_t count = call.count;
    const Function function{};
    if (call.operands[1].repeats) {
      const In right = *b;
      for (int64_t i = 0; i < count; ++i) out[i] = function(a[i], right);
    } else if (call.operands[0].repeats) {
      const In left = *a;
      for (int64_t i = 0; i < count; ++i) out[i] = function(left, b[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
    }
  });
}

// Integer arithmetic wraps.
struct WrappingAdd {
  MODELD_ALWAYS_INLINE int32_t operator()(int32_t a, int32_t b) const {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
};

void run_where(const BlockCall& call) {
  const uint8_t* condition = operand<uint8_t>(call, 0);
  const float* a = operand<float>(call, 1);
  const float* b = operand<float>(call, 2);
  float* out = result<float>(call);
  const int64_t c_step = call.operands[0].repeats ? 0 : 1;
  const int64_t a_step = call.operands[1].repeats ? 0 : 1;
  const int64_t b_step = call.operands[2].repeats ? 0 : 1;
  for (int64_t i = 0; i < call.count; ++i) {
    out[i] = condition[i * c_step] != 0 ? a[i * a_step] : b[i * b_step];
  }
}

template <typename In>
void run_to_float(const BlockCall& call) {
  const In* in = operand<In>(call, 0);
  float* out = result<float>(call);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t i = 0; i < call.count; ++i) out[i] = static_cast<float>(in[i]);
  });
}

template <DType kHalf>
void run_round(const BlockCall& call) {
  round_to(kHalf, operand<float>(call, 0), result<float>(call), static_cast<size_t>(call.count));
}

void run_copy(const BlockCall& call) {
  std::memmove(call.out, call.operands[0].data, static_cast<size_t>(call.count) * sizeof(float));
}

BlockKernel cast_kernel(DType from, DType to) {
  if (stored_dtype(to) != DType::kFloat32) return nullptr;
  if (stored_dtype(from) == DType::kFloat32) {
    if (to == DType::kFloat16 && from != to) return run_round<DType::kFloat16>;
    if (to == DType::kBFloat16 && from != to) return run_round<DType::kBFloat16>;
    return run_copy;
  }
  // float16 holds every integer of one byte; more would have to be rounded once.
  const bool exact = to == DType::kFloat32 || (to == DType::kFloat16 && size_of(from) == 1);
  if (!exact) return nullptr;
  switch (from) {
    case DType::kInt8:
      return run_to_float<int8_t>;
    case DType::kUInt8:
    case DType::kBool:
      return run_to_float<uint8_t>;
    case DType::kInt16:
      return run_to_float<int16_t>;
    case DType::kUInt16:
      return run_to_float<uint16_t>;
    case DType::kInt32:
      return run_to_float<int32_t>;
    default:
      return nullptr;
  }
}

// Zero points that are left out are zero.
template <typename T, typename Quotient>
void run_quantise(const BlockCall& call) {
  const float* x = operand<float>(call, 0);
  const float* scale = operand<float>(call, 1);
  const T* zero = operand<T>(call, 2);
  T* out = result<T>(call);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    if (call.operands[1].repeats && (zero == nullptr || call.operands[2].repeats)) {
      const float factor = *scale;
      const float origin = zero == nullptr ? 0.0f : static_cast<float>(*zero);
      quantise_row<T, Quotient>(x, factor, origin, out, call.count);
      return;
    }
    const int64_t scale_step = call.operands[1].repeats ? 0 : 1;
    const int64_t zero_step = call.operands[2].repeats ? 0 : 1;
    for (int64_t i = 0; i < call.count; ++i) {
      const float origin = zero == nullptr ? 0.0f : static_cast<float>(zero[i * zero_step]);
      out[i] = quantised<T, Quotient>(x[i], scale[i * scale_step], origin);
    }
  });
}

template <typename T>
void run_dequantise(const BlockCall& call) {
  const T* x = operand<T>(call, 0);
  const float* scale = operand<float>(call, 1);
  const T* zero = operand<T>(call, 2);
  float* out = result<float>(call);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    if (call.operands[1].repeats && (zero == nullptr || call.operands[2].repeats)) {
      const float factor = *scale;
      const int32_t origin = zero == nullptr ? 0 : static_cast<int32_t>(*zero);
      dequantise_row(x, factor, origin, out, call.count);
      return;
    }
    const int64_t scale_step = call.operands[1].repeats ? 0 : 1;
    const int64_t zero_step = call.operands[2].repeats ? 0 : 1;
    for (int64_t i = 0; i < call.count; ++i) {
      const int32_t origin = zero == nullptr ? 0 : static_cast<int32_t>(zero[i * zero_step]);
      const int32_t value = static_cast<int32_t>(x[i]) - origin;
      out[i] = static_cast<float>(value) * scale[i * scale_step];
    }
  });
}

template <typename T>
BlockKernel quantised_kernel(bool quantises, DType quotient) {
  if (!quantises) return run_dequantise<T>;
  if (quotient == DType::kFloat16) return run_quantise<T, AsHalf>;
  if (quotient == DType::kBFloat16) return run_quantise<T, AsBFloat>;
  return run_quantise<T, AsFloat>;
}

BlockKernel quantised_kernel(OpKind kind, std::span<const DType> types, DType out) {
  const bool quantises = kind == OpKind::kQuantizeLinear;
  const DType real = quantises ? types[0] : out;
  if (stored_dtype(real) != DType::kFloat32) return nullptr;
  if (stored_dtype(types[1]) != DType::kFloat32) return nullptr;
  const DType quotient = quotient_type(types[0], types[1]);
  switch (quantises ? out : types[0]) {
    case DType::kInt8:
      return quantised_kernel<int8_t>(quantises, quotient);
    case DType::kUInt8:
      return quantised_kernel<uint8_t>(quantises, quotient);
    case DType::kInt16:
      return quantised_kernel<int16_t>(quantises, quotient);
    case DType::kUInt16:
      return quantised_kernel<uint16_t>(quantises, quotient);
    default:
      return nullptr;
  }
}

BlockKernel binary_kernel(OpKind kind, std::span<const DType> types) {
  if (types[0] == DType::kInt32 && types[1] == DType::kInt32 && kind == OpKind::kAdd) {
    return run_binary<int32_t, int32_t, WrappingAdd>;
  }
  for (const DType type : types) {
    if (stored_dtype(type) != DType::kFloat32) return nullptr;
  }
  BlockKernel kernel = nullptr;
  with_binary_function(kind, [&]<typename Out, typename Function>(Out, Function) {
    kernel = run_binary<float, Out, Function>;
  });
  return kernel;
}

}  // namespace

BlockKernel block_kernel(const InnerOp& op, std::span<const DType> types, DType out,
                         Activation& activation) {
  if (types.empty() || types.size() > kMostBlockOperands) return nullptr;
  switch (op.kind) {
    case OpKind::kCast:
      return cast_kernel(types[0], out);
    case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear:
      return quantised_kernel(op.kind, types, out);
    case OpKind::kWhere:
      return stored_dtype(out) == DType::kFloat32 ? run_where : nullptr;
    default:
      break;
  }
  if (types.size() == 2) return binary_kernel(op.kind, types);
  const auto function = unary_activation(op.kind, op.attributes);
  if (!function || types.size() != 1 || stored_dtype(types[0]) != DType::kFloat32) return nullptr;
  activation = *function;
  return run_unary;
}

}  // namespace modeld::cpu
