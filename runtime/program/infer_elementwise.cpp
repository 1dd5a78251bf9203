// Element by element: the output has the (broadcast) shape of the inputs.
#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

Status need_signed(const Call& call) {
  if (is_signed(call.in(0).dtype)) return {};
  return wrong(call, "input 0", "a signed type", to_string(call.in(0)));
}

Status check_unary(const Call& call) {
  switch (call.kind) {
    case OpKind::kNot:
      return need_bool(call, 0);
    case OpKind::kAbs:
    case OpKind::kSign:
      return need_numeric(call, 0);
    case OpKind::kNeg:
    case OpKind::kRelu:
      return need_signed(call);
    case OpKind::kClip:
      return need_numeric(call, 0);
    case OpKind::kGelu:
      MODELD_TRY(need_one_of(call, "approximate", {"none", "tanh"}));
      return need_float(call, 0);
    default:
      return need_float(call, 0);
  }
}

Status check_mod(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  MODELD_ASSIGN(const bool truncating, flag_of(call, "fmod"));
  if (truncating || !is_float(call.in(0).dtype)) return {};
  return wrong(call, "attribute fmod", "1 for floats", "0");
}

Status check_binary_dtypes(const Call& call) {
  switch (call.kind) {
    case OpKind::kAnd:
    case OpKind::kOr:
      MODELD_TRY(need_bool(call, 0));
      return need_bool(call, 1);
    case OpKind::kEqual:
      return need_one_dtype(call);
    case OpKind::kPow:
      MODELD_TRY(need_numeric(call, 0));
      return need_numeric(call, 1);
    case OpKind::kMod:
      MODELD_TRY(check_mod(call));
      return need_one_dtype(call);
    default:
      MODELD_TRY(need_numeric(call, 0));
      return need_one_dtype(call);
  }
}

bool is_comparison(OpKind kind) {
  return kind == OpKind::kEqual || kind == OpKind::kGreater || kind == OpKind::kGreaterOrEqual ||
         kind == OpKind::kLess || kind == OpKind::kLessOrEqual;
}

Result<Types> infer_where(const Call& call) {
  MODELD_TRY(need_bool(call, 0));
  if (call.in(1).dtype != call.in(2).dtype) {
    return wrong(call, "input 2",
                 "the element type of input 1, " + std::string(to_string(call.in(1).dtype)),
                 to_string(call.in(2)));
  }
  MODELD_ASSIGN(Shape shape, broadcast_all(call));
  return Types{{call.in(1).dtype, std::move(shape)}};
}

Result<Types> infer_prelu(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  MODELD_TRY(need_one_dtype(call));
  if (!broadcasts_to(call.shape(1), call.shape(0))) {
    return wrong(call, "input 1", "a shape that broadcasts to " + to_string(call.shape(0)),
                 to_string(call.in(1)));
  }
  return Types{call.in(0)};
}

}  // namespace

Result<Types> infer_unary(const Call& call) {
  MODELD_TRY(check_unary(call));
  return Types{call.in(0)};
}

Result<Types> infer_binary(const Call& call) {
  if (call.kind == OpKind::kWhere) return infer_where(call);
  if (call.kind == OpKind::kPRelu) return infer_prelu(call);
  MODELD_TRY(check_binary_dtypes(call));
  MODELD_ASSIGN(Shape shape, broadcast_all(call));
  const DType dtype = is_comparison(call.kind) ? DType::kBool : call.in(0).dtype;
  return Types{{dtype, std::move(shape)}};
}

}  // namespace modeld::infer
