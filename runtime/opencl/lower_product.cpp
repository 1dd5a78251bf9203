// Gemm and MatMul by register tiles (tile_kernel.h): a constant right side is packed when
// recording, a computed one read where it lies.
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

}  // namespace

Result<bool> lower_product(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kGemm && op.kind != OpKind::kMatMul) return false;
  if (!is_float(lowering.dtype(op.inputs[0]))) return false;
  const ProductViews p = product_views(lowering);
  const auto spec = spec_of(lowering, p);
  if (!spec) return false;
  return is_constant_matrix(lowering) ? lower_constant(lowering, p, *spec)
                                      : lower_computed(lowering, p, *spec);
}

}  // namespace modeld::opencl
