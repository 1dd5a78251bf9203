#include "runtime/opencl/product_views.h"

namespace modeld::opencl {
namespace {

bool has(const Op& op, size_t input) {
  return input < op.inputs.size() && op.inputs[input] != kNoTensor;
}

View transposed(View view) {
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

void insert_axis(View& view, size_t at) {
  const auto place = static_cast<std::ptrdiff_t>(at);
  view.shape.insert(view.shape.begin() + place, 1);
  view.strides.insert(view.strides.begin() + place, 0);
}

// The stack in front of the last two axes, broadcast to `batches`.
View stacked(const View& matrix, const Shape& batches) {
  Shape shape = batches;
  shape.push_back(matrix.shape[matrix.shape.size() - 2]);
  shape.push_back(matrix.shape.back());
  return broadcast(matrix, shape);
}

ProductViews gemm_views(Lowering& lowering) {
  const Op& op = lowering.op();
  ProductViews p;
  p.a = lowering.view(op.inputs[0]);
  p.b = lowering.view(op.inputs[1]);
  if (op.attributes.get_int("trans_a") != 0) p.a = transposed(p.a);
  if (op.attributes.get_int("trans_b") != 0) p.b = transposed(p.b);
  p.alpha = op.attributes.get_float("alpha", 1);
  p.beta = op.attributes.get_float("beta", 1);
  const Shape& out = lowering.shape(op.outputs[0]);
  if (has(op, 2)) p.bias = broadcast(lowering.view(op.inputs[2]), out);
  if (has(op, 3)) p.residual = lowering.view(op.inputs[3]);
  p.out = lowering.define(op.outputs[0], Layout::kPlain);
  return p;
}

ProductViews matmul_views(Lowering& lowering) {
  const Op& op = lowering.op();
  ProductViews p;
  p.a = lowering.view(op.inputs[0]);
  p.b = lowering.view(op.inputs[1]);
  const bool row = p.a.shape.size() == 1;
  const bool column = p.b.shape.size() == 1;
  if (op.kind == OpKind::kMatMulInteger) {
    if (has(op, 2)) p.a_zero = broadcast(lowering.view(op.inputs[2]), p.a.shape);
    if (has(op, 3)) p.b_zero = broadcast(lowering.view(op.inputs[3]), p.b.shape);
  } else {
    if (has(op, 2)) p.bias = lowering.view(op.inputs[2]);
    if (has(op, 3)) p.residual = lowering.view(op.inputs[3]);
  }
  p.out = lowering.define(op.outputs[0], Layout::kPlain);
  // A left vector is one row, a right one one column; the result has neither.
  for (View* view : {&p.a, p.a_zero ? &*p.a_zero : nullptr}) {
    if (row && view != nullptr) insert_axis(*view, 0);
  }
  for (View* view : {&p.b, p.b_zero ? &*p.b_zero : nullptr}) {
    if (column && view != nullptr) insert_axis(*view, 1);
  }
  for (View* view : {&p.out, p.residual ? &*p.residual : nullptr}) {
    if (view == nullptr) continue;
    if (column) insert_axis(*view, view->shape.size());
    if (row) insert_axis(*view, view->shape.size() - 1);
  }
  const Shape batches(p.out.shape.begin(), p.out.shape.end() - 2);
  p.a = stacked(p.a, batches);
  p.b = stacked(p.b, batches);
  if (p.a_zero) p.a_zero = stacked(*p.a_zero, batches);
  if (p.b_zero) p.b_zero = stacked(*p.b_zero, batches);
  if (p.bias) {
    // Along the last axis that is left: the rows where the right side was a vector.
    if (column) insert_axis(*p.bias, 1);
    p.bias = broadcast(*p.bias, p.out.shape);
  }
  return p;
}

}  // namespace

ProductViews product_views(Lowering& lowering) {
  ProductViews p =
      lowering.op().kind == OpKind::kGemm ? gemm_views(lowering) : matmul_views(lowering);
  p.rows = p.a.shape[p.a.shape.size() - 2];
  p.inner = p.a.shape.back();
  p.columns = p.b.shape.back();
  return p;
}

}  // namespace modeld::opencl
