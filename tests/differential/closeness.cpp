#include "tests/differential/closeness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/reference/evaluate.h"

namespace modeld::test {
namespace {

// Computes nothing or rounds once: every right answer is the same one.
bool is_exact(OpKind kind) {
  using enum OpKind;
  switch (kind) {
    case kAbs:
    case kCeil:
    case kClip:
    case kFloor:
    case kLeakyRelu:
    case kNeg:
    case kNot:
    case kReciprocal:
    case kRelu:
    case kRound:
    case kSqrt:
    case kAdd:
    case kAnd:
    case kDiv:
    case kEqual:
    case kGreater:
    case kGreaterOrEqual:
    case kLess:
    case kLessOrEqual:
    case kMax:
    case kMin:
    case kMul:
    case kOr:
    case kPRelu:
    case kSub:
    case kWhere:
    case kReduceMax:
    case kReduceMin:
    case kArgMax:
    case kArgMin:
    case kMaxPool:
    case kCast:
    case kConcat:
    case kExpand:
    case kGather:
    case kPad:
    case kReshape:
    case kSlice:
    case kSplit:
    case kTile:
    case kTranspose:
      return true;
    default:
      return false;
  }
}

// The same for ops that the schema spells so.
bool is_exact_by_name(std::string_view name) {
  constexpr std::string_view kNames[] = {"DequantizeLinear", "GatherElements", "GatherND", "Sign",
                                         "TopK"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool keeps_zero_sign(OpKind kind) {
  using enum OpKind;
  switch (kind) {
    case kConcat:
    case kExpand:
    case kGather:
    case kReshape:
    case kSlice:
    case kSplit:
    case kTile:
    case kTranspose:
    case kWhere:
    case kAbs:
    case kNeg:
    case kMul:
    case kDiv:
      return true;
    default:
      return false;
  }
}

// Sums of products of the operands, or near it: an error is measured against the terms.
bool is_sum(OpKind kind) {
  using enum OpKind;
  switch (kind) {
    case kConv:
    case kConvTranspose:
    case kGemm:
    case kMatMul:
    case kAveragePool:
    case kBatchNormalization:
    case kReduceL1:
    case kReduceL2:
    case kReduceMean:
    case kReduceSum:
    case kReduceSumSquare:
      return true;
    default:
      return false;
  }
}

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

// The op on the magnitudes of its operands, in double.
std::vector<double> magnitudes_of(const FuzzCase& made) {
  Op op = made.program.program().ops.front();
  if (!is_float(made.operands[0]->type.dtype)) return {};
  for (const char* name : {"activation", "activation_alpha", "activation_beta"}) {
    op.attributes.erase(name);
  }
  std::vector<HostTensor> operands;
  for (size_t i = 0; i < made.operands.size(); ++i) {
    if (!made.operands[i]) continue;
    const HostTensor& operand = *made.operands[i];
    std::vector<double> values = to_doubles(operand.type.dtype, operand.bytes);
    // Of x - mean both count.
    const bool negative = op.kind == OpKind::kBatchNormalization && i == 3;
    for (double& value : values) {
      if (!std::isfinite(value)) value = 0;  // what it makes of a sum is the same everywhere
      value = negative ? -std::abs(value) : std::abs(value);
    }
    operands.push_back(make_tensor(DType::kFloat64, operand.type.shape, values));
  }
  std::vector<const HostTensor*> pointers;
  size_t next = 0;
  for (const auto& operand : made.operands)
    pointers.push_back(operand ? &operands[next++] : nullptr);
  const auto result = evaluate(op, pointers);
  if (!result.ok()) return {};
  return to_doubles(DType::kFloat64, (*result)[0].bytes);
}

double largest_operand(const FuzzCase& made) {
  double largest = 0;
  for (const auto& operand : made.operands) {
    if (!operand || !is_float(operand->type.dtype)) continue;
    for (const double value : to_doubles(operand->type.dtype, operand->bytes)) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

struct Units {
  double relative;  // a few units in the last place
  double absolute;  // of bounded functions
  double sum;       // of a sum's terms
};

Units units_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {1e-13, 1e-15, 1e-14};
    case DType::kFloat16:
      return {1e-3, 3e-7, 4e-6};
    case DType::kBFloat16:
      return {8e-3, 3e-7, 4e-6};
    default:
      return {4e-6, 3e-7, 3e-6};
  }
}

}  // namespace

Closeness closeness_of(const FuzzCase& made, DType output, double slack) {
  Closeness closeness;
  const Units units = units_of(output);
  if (!made.id.kind) {
    // Whole graphs, whose halves are rounded at other places by other backends.
    closeness.absolute = (output == DType::kFloat16 ? 2e-2 : 5e-5) * slack;
    closeness.relative = closeness.absolute;
    return closeness;
  }
  const OpKind kind = *made.id.kind;
  const std::string_view name = to_string(kind);
  if (!is_float(output) || is_exact(kind) || is_exact_by_name(name)) {
    closeness.exact = true;
    closeness.same_zero_sign = keeps_zero_sign(kind);
    return closeness;
  }
  closeness.relative = units.relative * slack;
  closeness.absolute = units.absolute * slack;
  if (is_sum(kind) || name == "CumSum") {
    closeness.magnitudes = magnitudes_of(made);
    closeness.per_magnitude = units.sum * slack;
  } else if (kind == OpKind::kLayerNormalization || name == "RMSNormalization") {
    // The deviation of nearly equal values is what rounding leaves of it.
    const bool wide = output == DType::kFloat64;
    closeness.absolute = (wide ? 1e-11 : 3e-4) * slack;
  } else if (kind == OpKind::kResize) {
    closeness.absolute = 4 * units.relative * largest_operand(made) * slack;
  } else if (name == "LSTM" || name == "GRU" || name == "RNN") {
    // Each step rounds, and the next one starts from there.
    closeness.absolute = 8 * std::max(units.relative, 1e-14) * slack;
    closeness.relative = closeness.absolute;
  } else if (name == "LogSoftmax" || name == "ReduceLogSumExp") {
    closeness.absolute = 2 * units.relative * (1 + largest_operand(made)) * slack;
  } else if (name.starts_with("Scatter")) {
    closeness.relative *= 8;  // halves are rounded at each addition or only at the end
    closeness.absolute = closeness.relative * largest_operand(made);
  } else if (kind == OpKind::kPow || kind == OpKind::kReduceProd) {
    closeness.relative *= 4;
  }
  return closeness;
}

std::string difference(const Closeness& closeness, const TensorType& type,
                       std::span<const std::byte> want_bytes,
                       std::span<const std::byte> have_bytes) {
  if (want_bytes.size() != have_bytes.size()) {
    return std::to_string(have_bytes.size()) + " bytes instead of " +
           std::to_string(want_bytes.size());
  }
  if (!is_float(type.dtype)) {
    // Bytes: doubles would hide the low bits of long integers.
    for (size_t at = 0; at < want_bytes.size(); ++at) {
      if (want_bytes[at] == have_bytes[at]) continue;
      const size_t element = at / size_of(type.dtype);
      const auto number = [&](auto bytes) {
        return to_doubles(type.dtype,
                          bytes.subspan(element * size_of(type.dtype), size_of(type.dtype)))[0];
      };
      return "element " + std::to_string(element) + ": " + std::to_string(number(have_bytes)) +
             " instead of " + std::to_string(number(want_bytes));
    }
    return "";
  }
  const std::vector<double> want = to_doubles(type.dtype, want_bytes);
  const std::vector<double> have = to_doubles(type.dtype, have_bytes);
  const double largest = largest_of(type.dtype);
  // Whole graphs: relative to the largest value of the output.
  double scale = 0;
  for (const double value : want) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) && std::isnan(have[i])) continue;
    const bool zero_differs = closeness.same_zero_sign && want[i] == 0 && have[i] == 0 &&
                              std::signbit(want[i]) != std::signbit(have[i]);
    if (want[i] == have[i] && !zero_differs) continue;
    double allowed = 0;
    if (!closeness.exact) {
      allowed = closeness.absolute + closeness.relative * std::abs(want[i]);
      if (closeness.magnitudes.size() == want.size()) {
        const double magnitude = closeness.magnitudes[i];
        // Terms that leave float32 on the way: only double comes back from there.
        if (magnitude > 0.5 * largest_of(DType::kFloat32) && type.dtype != DType::kFloat64 &&
            std::isfinite(magnitude)) {
          continue;
        }
        allowed += closeness.per_magnitude * magnitude;
      }
      // The last number before infinity.
      const double end = largest * (1 - 2 * closeness.relative);
      if (std::abs(want[i]) >= end && std::abs(have[i]) >= end &&
          std::signbit(want[i]) == std::signbit(have[i])) {
        continue;
      }
    }
    if (std::abs(want[i] - have[i]) <= allowed) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %zu of %zu: %.9g instead of %.9g (allowed %.3g)", i,
                  want.size(), have[i], want[i], allowed);
    return text;
  }
  return "";
}

}  // namespace modeld::test
