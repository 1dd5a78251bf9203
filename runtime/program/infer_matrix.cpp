// Gemm and MatMul.
#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

// ONNX allows floats and the wide integers.
Status need_product_dtypes(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  if (!is_float(call.in(0).dtype) && size_of(call.in(0).dtype) < 4) {
    return wrong(call, "input 0", "a float type or an integer of 32 or 64 bits",
                 to_string(call.in(0)));
  }
  return need_one_dtype(call);
}

Status need_common_extent(const Call& call, int64_t a, int64_t b) {
  if (a == b) return {};
  return wrong(call, "input 1", "inner extent " + std::to_string(a),
               std::to_string(b) + " of " + to_string(call.in(1)));
}

// Integer products take no factors: their meaning would be a matter of taste.
Status check_factors(const Call& call) {
  if (is_float(call.in(0).dtype)) return {};
  for (const char* name : {"alpha", "beta"}) {
    const double factor = call.attributes.get_float(name);
    if (factor != 1) {
      return wrong(call, std::string("attribute ") + name, "1 for integers",
                   std::to_string(factor));
    }
  }
  return {};
}

Result<Types> infer_gemm(const Call& call) {
  MODELD_TRY(need_rank(call, 0, 2));
  MODELD_TRY(need_rank(call, 1, 2));
  MODELD_TRY(check_factors(call));
  MODELD_ASSIGN(const bool trans_a, flag_of(call, "trans_a"));
  MODELD_ASSIGN(const bool trans_b, flag_of(call, "trans_b"));
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  MODELD_TRY(need_common_extent(call, a[trans_a ? 0 : 1], b[trans_b ? 1 : 0]));
  Shape out = {a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
  if (call.has(2) && !broadcasts_to(call.shape(2), out)) {
    return wrong(call, "input 2", "a shape that broadcasts to " + to_string(out),
                 to_string(call.in(2)));
  }
  if (call.has(3)) MODELD_TRY(need_shape(call, 3, out));
  return Types{{call.in(0).dtype, std::move(out)}};
}

// Shape of the stack of matrices in front of the last two axes.
Result<Shape> broadcast_batches(const Call& call, const Shape& a, const Shape& b) {
  const TensorType batch_a{call.in(0).dtype, Shape(a.begin(), a.end() - 2)};
  const TensorType batch_b{call.in(1).dtype, Shape(b.begin(), b.end() - 2)};
  const TensorType* const batches[] = {&batch_a, &batch_b};
  return broadcast_all(Call{call.kind, call.attributes, batches});
}

Result<Types> infer_matmul(const Call& call) {
  MODELD_TRY(need_rank_at_least(call, 0, 1));
  MODELD_TRY(need_rank_at_least(call, 1, 1));
  Shape a = call.shape(0);
  Shape b = call.shape(1);
  // A vector is a matrix of one row (left) or one column (right) whose axis is dropped again.
  const bool vector_a = a.size() == 1;
  const bool vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  MODELD_TRY(need_common_extent(call, a.back(), b[b.size() - 2]));
  MODELD_ASSIGN(Shape out, broadcast_batches(call, a, b));
  if (!vector_a) out.push_back(a[a.size() - 2]);
  if (!vector_b) out.push_back(b.back());
  if (call.has(2)) {
    if (out.empty()) return wrong(call, "input 2", "no bias for a scalar result", "a bias");
    MODELD_TRY(need_shape(call, 2, {out.back()}));
  }
  if (call.has(3)) MODELD_TRY(need_shape(call, 3, out));
  return Types{{call.in(0).dtype, std::move(out)}};
}

// Zero points are subtracted element by element, so each broadcasts to its operand.
Result<Types> infer_integer_matmul(const Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    const DType dtype = call.in(i).dtype;
    if (dtype != DType::kInt8 && dtype != DType::kUInt8) {
      return wrong(call, "input " + std::to_string(i), "i8 or u8", to_string(call.in(i)));
    }
    if (!call.has(i + 2)) continue;
    const TensorType& zero = call.in(i + 2);
    if (zero.dtype == dtype && broadcasts_to(zero.shape, call.shape(i))) continue;
    return wrong(call, "input " + std::to_string(i + 2),
                 "a zero point that broadcasts to " + to_string(call.in(i)), to_string(zero));
  }
  MODELD_ASSIGN(Types types,
                infer_matmul(Call{call.kind, call.attributes, call.inputs.subspan(0, 2)}));
  types[0].dtype = DType::kInt32;
  return types;
}

}  // namespace

Result<Types> infer_matrix(const Call& call) {
  if (call.kind == OpKind::kMatMulInteger) return infer_integer_matmul(call);
  MODELD_TRY(need_product_dtypes(call));
  MODELD_TRY(check_activation(call));
  if (call.attributes.has("activation")) MODELD_TRY(need_float(call, 0));
  return call.kind == OpKind::kGemm ? infer_gemm(call) : infer_matmul(call);
}

}  // namespace modeld::infer
