// Gemm and MatMul by register tiles (tile_kernel.h): a constant right side is packed when
// recording, a computed one read where it lies.
#include <utility>

#include "runtime/opencl/lowering.h"
#include "runtime/opencl/product_views.h"
#include "runtime/opencl/tile_kernel.h"

namespace modeld::opencl {
namespace {

bool knows(const View& view) {
  return view.dtype == DType::kFloat32 || view.dtype == DType::kFloat16;
}

// The stack in front of the matrices as one axis.
struct Stack {
  int64_t count = 1;
  int64_t a = 0, b = 0, out = 0;  // strides
};

std::optional<Stack> stack_of(const ProductViews& p) {
  const auto front = [](const View& view) {
    View part = view;
    part.shape.resize(view.shape.size() - 2);
    part.strides.resize(part.shape.size());
    return part;
  };
  const View a = front(p.a);
  const View b = front(p.b);
  const View out = front(p.out);
  std::vector<size_t> order(a.shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::vector<LoopAxis> axes = merged_axes(out.shape, {&a, &b, &out}, order);
  if (axes.size() > 1) return std::nullopt;
  if (axes.empty()) return Stack{};
  return Stack{axes[0].extent, axes[0].strides[0], axes[0].strides[1], axes[0].strides[2]};
}

// Bias along the columns alone, the same for all rows.
bool is_column_bias(const View& bias) {
  for (size_t i = 0; i + 1 < bias.shape.size(); ++i) {
    if (bias.shape[i] != 1 && bias.strides[i] != 0) return false;
  }
  return bias.shape.back() == 1 || bias.strides.back() == 0 || bias.strides.back() == 1;
}

// What the tile kernel has in common for both kinds of right side; nothing if it does not fit.
std::optional<TileSpec> spec_of(const Lowering& lowering, const ProductViews& p) {
  if (p.out.elements() == 0 || p.inner == 0) return std::nullopt;
  for (const View* view : {&p.a, &p.b, &p.out}) {
    if (!knows(*view) || !fits_int({view})) return std::nullopt;
  }
  if (p.bias && (!knows(*p.bias) || !is_column_bias(*p.bias))) return std::nullopt;
  if (p.residual && (!knows(*p.residual) || p.residual->strides != p.out.strides)) {
    return std::nullopt;
  }
  const size_t rank = p.a.shape.size();
  TileSpec spec;
  spec.columns.positions = spec.columns.extent = p.rows;
  spec.channels = p.inner;
  spec.out_channels = p.columns;
  spec.in = p.a;
  spec.in_column = p.a.strides[rank - 2];
  spec.in_channel = p.a.strides[rank - 1];
  spec.out = p.out;
  spec.out_column = p.columns;
  spec.bias = p.bias;
  spec.bias_is_scalar =
      p.bias && p.columns > 1 && (p.bias->strides.back() == 0 || p.bias->shape.back() == 1);
  spec.residual = p.residual;
  spec.alpha = p.alpha;
  spec.beta = p.beta;
  spec.attributes = &lowering.op().attributes;
  return spec;
}

bool is_constant_matrix(const Lowering& lowering) {
  const TensorId b = lowering.op().inputs[1];
  return lowering.is_constant(b) && lowering.shape(b).size() == 2;
}

bool lower_constant(Lowering& lowering, const ProductViews& p, TileSpec spec) {
  const Op& op = lowering.op();
  // All rows of the stack are rows of one matrix.
  View rows;
  const size_t rank = p.a.shape.size();
  const int64_t count = p.out.elements() / p.columns;
  if (rank > 2) {
    if (!reshape_view(p.a, {count, p.inner}, rows)) {
      rows = lowering.temporary(p.a.dtype, p.a.shape);
      lowering.add_copy(p.a, rows, "copy");
      rows.shape = {count, p.inner};
      rows.strides = {p.inner, 1};
    }
    spec.in = rows;
    spec.in_column = rows.strides[0];
    spec.in_channel = rows.strides[1];
    spec.columns.positions = spec.columns.extent = count;
  }
  const TileShape shape = tile_shape(lowering.traits(), spec.out_channels, count);
  const std::vector<float> weights = lowering.constant_floats(op.inputs[1]);
  const bool turned = op.kind == OpKind::kGemm && op.attributes.get_int("trans_b") != 0;
  const int64_t inner_stride = turned ? 1 : p.columns;
  const int64_t column_stride = turned ? p.inner : 1;
  spec.weights = lowering.constant(
      pack_tiles(spec, shape, [&](int64_t, int64_t, int64_t, int64_t c, int64_t n) {
        return weights[static_cast<size_t>(c * inner_stride + n * column_stride)];
      }));
  lowering.add(tile_kernel(lowering, spec, shape), "product tile");
  return true;
}

bool lower_computed(Lowering& lowering, const ProductViews& p, TileSpec spec) {
  View b = p.b;
  const size_t rank = b.shape.size();
  if (p.columns > 1 && b.strides[rank - 1] != 1) {
    // Neighbours must lie along the columns: turned once, here.
    b = lowering.temporary(p.b.dtype, p.b.shape);
    lowering.add_copy(p.b, b, "turn");
  }
  ProductViews with = p;
  with.b = b;
  const auto stack = stack_of(with);
  if (!stack) return false;
  const TileShape shape = tile_shape(lowering.traits(), spec.out_channels, p.rows);
  spec.batch = stack->count;
  spec.in_batch = stack->a;
  spec.out_batch = stack->out;
  spec.packed = false;
  spec.weights = b;
  spec.weights_row = b.strides[rank - 2];
  spec.weights_batch = stack->b;
  lowering.add(tile_kernel(lowering, spec, shape), "product tile, computed");
  return true;
}

View turned(View matrix) {
  const size_t rank = matrix.shape.size();
  std::swap(matrix.shape[rank - 2], matrix.shape[rank - 1]);
  std::swap(matrix.strides[rank - 2], matrix.strides[rank - 1]);
  return matrix;
}

// The right side would have to be turned and the left one is much smaller: b' a' is computed
// instead, turning a, and the output is seen through its transpose.
bool is_better_swapped(const Lowering& lowering, const ProductViews& p) {
  constexpr int64_t kMuchSmaller = 4;
  const size_t rank = p.b.shape.size();
  return !p.bias && !p.residual && p.rows > 1 && p.columns > 1 && p.b.strides[rank - 1] != 1 &&
         p.a.elements() * kMuchSmaller <= p.b.elements() &&
         lowering.shape(lowering.op().outputs[0]).size() == rank;
}

ProductViews swapped(const ProductViews& p) {
  ProductViews q = p;
  q.a = turned(p.b);
  q.b = turned(p.a);
  q.out.strides[q.out.strides.size() - 2] = 1;
  q.out.strides[q.out.strides.size() - 1] = p.rows;
  q.out = turned(q.out);
  q.rows = p.columns;
  q.columns = p.rows;
  return q;
}

}  // namespace

Result<bool> lower_product(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kGemm && op.kind != OpKind::kMatMul) return false;
  if (!is_float(lowering.dtype(op.inputs[0]))) return false;
  const ProductViews p = product_views(lowering);
  const auto spec = spec_of(lowering, p);
  if (!spec) return false;
  if (is_constant_matrix(lowering)) return lower_constant(lowering, p, *spec);
  if (is_better_swapped(lowering, p)) {
    const ProductViews q = swapped(p);
    const auto other = spec_of(lowering, q);
    if (other && lower_computed(lowering, q, *other)) {
      lowering.define_view(op.outputs[0], turned(q.out));
      return true;
    }
  }
  return lower_computed(lowering, p, *spec);
}

}  // namespace modeld::opencl
