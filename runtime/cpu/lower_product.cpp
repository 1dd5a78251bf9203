// Gemm and MatMul of float32. With a constant right side: few rows by row_product(), more as a
// 1x1 convolution over "pixels" that are the rows. With two computed sides: oneDNN's matmul.
#include <algorithm>

#include "runtime/cpu/convolution.h"
#include "runtime/cpu/lowering.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/row_product.h"

namespace modeld::cpu {
namespace {

// out[batch][rows][columns] = act(alpha A B + bias + residual)
struct Product {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t columns = 1;
  bool trans_a = false;
  bool trans_b = false;
  TensorId a = kNoTensor;
  TensorId b = kNoTensor;
  TensorId bias = kNoTensor;
  TensorId residual = kNoTensor;
  TensorId out = kNoTensor;
  float alpha = 1;
  float beta = 1;
  std::optional<Activation> activation;

  int64_t b_inner_stride() const { return trans_b ? 1 : columns; }
  int64_t b_column_stride() const { return trans_b ? inner : 1; }
};

TensorId optional_input(const Op& op, size_t index) {
  return index < op.inputs.size() ? op.inputs[index] : kNoTensor;
}

Product product_of(const Lowering& lowering, const Op& op) {
  Product p;
  p.a = op.inputs[0];
  p.b = op.inputs[1];
  p.bias = optional_input(op, 2);
  p.residual = optional_input(op, 3);
  p.out = op.outputs[0];
  p.activation = fused_activation(op.attributes);
  const Shape& a = lowering.shape(p.a);
  const Shape& b = lowering.shape(p.b);
  if (op.kind == OpKind::kGemm) {
    p.trans_a = op.attributes.get_int("trans_a") != 0;
    p.trans_b = op.attributes.get_int("trans_b") != 0;
    p.alpha = static_cast<float>(op.attributes.get_float("alpha", 1));
    p.beta = static_cast<float>(op.attributes.get_float("beta", 1));
    p.rows = a[p.trans_a ? 1 : 0];
    p.inner = a[p.trans_a ? 0 : 1];
    p.columns = b[p.trans_b ? 0 : 1];
    return p;
  }
  p.inner = a.back();
  p.rows = a.size() < 2 ? 1 : a[a.size() - 2];
  p.columns = b.size() < 2 ? 1 : b.back();
  const int64_t out_matrix = std::max<int64_t>(p.rows * p.columns, 1);
  p.batch = lowering.type(p.out).elements() / out_matrix;
  return p;
}

bool has_work(const Product& p) {
  return p.batch > 0 && p.rows > 0 && p.inner > 0 && p.columns > 0;
}

// Bias as one number per column, already times beta; kNoValue if it is absent.
Result<bool> column_bias(Lowering& lowering, const Product& p, ValueId& value) {
  value = kNoValue;
  if (p.bias == kNoTensor || p.beta == 0) return true;
  const int64_t elements = lowering.type(p.bias).elements();
  const Shape& shape = lowering.shape(p.bias);
  const bool per_column = shape.empty() || shape.back() == elements;
  if (!per_column || (elements != p.columns && elements != 1)) return false;
  if (p.beta == 1 && elements == p.columns) {
    value = lowering.value(p.bias, Layout::kPlain);
    return true;
  }
  if (!lowering.is_constant(p.bias)) return false;
  const auto from = lowering.constant_floats(p.bias);
  AlignedBytes scaled(static_cast<size_t>(p.columns) * sizeof(float));
  auto* to = reinterpret_cast<float*>(scaled.data());
  for (size_t i = 0; i < static_cast<size_t>(p.columns); ++i) {
    to[i] = p.beta * from[elements == 1 ? 0 : i];
  }
  value = lowering.constant(std::move(scaled));
  return true;
}

// A in rows: transposed first where the op says so.
ValueId left_rows(Lowering& lowering, const Product& p) {
  const ValueId a = lowering.value(p.a, Layout::kPlain);
  if (!p.trans_a || p.rows == 1 || p.inner == 1) return a;
  const ValueId rows = lowering.temporary(static_cast<uint64_t>(p.rows * p.inner) * sizeof(float));
  lowering.add_copy(CopyPlan(sizeof(float), {{p.rows, 1, p.inner}, {p.inner, p.rows, 1}}),
                    "own: transpose", a, rows);
  return rows;
}

class RowProductStep final : public Step {
 public:
  RowProductStep(const Product& p, AlignedBytes packed, ValueId a, ValueId bias, ValueId residual,
                 ValueId out)
      : packed_(std::move(packed)),
        a_(a),
        bias_(bias),
        residual_(residual),
        out_(out),
        activation_(p.activation) {
    product_.rows = p.rows * p.batch;
    product_.inner = p.inner;
    product_.columns = p.columns;
    product_.packed = reinterpret_cast<const float*>(packed_.data());
  }

  void run(const RunContext& context) override {
    RowProduct product = product_;
    product.a = context.at<float>(a_);
    product.bias = bias_ == kNoValue ? nullptr : context.at<float>(bias_);
    product.residual = residual_ == kNoValue ? nullptr : context.at<float>(residual_);
    product.out = context.at<float>(out_);
    const int64_t blocks = (product.columns + kRowProductColumns - 1) / kRowProductColumns;
    const Share share = share_of(blocks, context.part, context.parts);
    row_product(product, share.begin, share.end);
    if (!activation_) return;
    const int64_t begin = share.begin * kRowProductColumns;
    const int64_t end = std::min(share.end * kRowProductColumns, product.columns);
    if (end <= begin) return;
    for (int64_t row = 0; row < product.rows; ++row) {
      float* out = product.out + row * product.columns + begin;
      apply(*activation_, out, out, static_cast<size_t>(end - begin));
    }
  }

 private:
  RowProduct product_;
  AlignedBytes packed_;
  ValueId a_, bias_, residual_, out_;
  std::optional<Activation> activation_;
};

Result<bool> lower_few_rows(Lowering& lowering, const Product& p, ValueId a, ValueId bias,
                            ValueId residual) {
  constexpr int64_t kWorthSharing = 200'000;  // weights: a few microseconds of reading
  AlignedBytes packed = pack_columns(lowering.constant_floats(p.b).data(), p.inner, p.columns,
                                     p.b_inner_stride(), p.b_column_stride());
  if (packed.size() == 0) return Error(ErrorCode::kExhausted, "not enough memory for weights");
  auto* weights = reinterpret_cast<float*>(packed.data());
  for (size_t i = 0; p.alpha != 1 && i < packed.size() / sizeof(float); ++i) weights[i] *= p.alpha;
  const ValueId out = lowering.define(p.out, Layout::kPlain);
  std::vector<ValueId> reads = {a};
  if (bias != kNoValue) reads.push_back(bias);
  if (residual != kNoValue) reads.push_back(residual);
  Lowering::StepOptions options;
  options.parallel = p.inner * p.columns >= kWorthSharing;
  lowering.add(std::make_unique<RowProductStep>(p, std::move(packed), a, bias, residual, out),
               "own: row product", std::move(reads), {out}, std::move(options));
  return true;
}

Result<bool> lower_as_convolution(Lowering& lowering, const Product& p, ValueId a, ValueId bias,
                                  ValueId residual) {
  std::vector<float> scaled;
  ConvolutionSpec spec;
  spec.in_channels = p.inner;
  spec.out_channels = p.columns;
  spec.in = {p.batch * p.rows, 1};
  spec.out = spec.in;
  spec.kernel = {1, 1};
  spec.strides = {1, 1};
  spec.dilations = {1, 1};
  spec.pads_begin = {0, 0};
  spec.weight_strides = {p.b_column_stride(), p.b_inner_stride(), 1, 1};
  const auto weights = lowering.constant_floats(p.b);
  spec.weights = weights.data();
  if (p.alpha != 1) {
    scaled.assign(weights.begin(), weights.end());
    for (float& weight : scaled) weight *= p.alpha;
    spec.weights = scaled.data();
  }
  spec.source = a;
  spec.bias = bias;
  spec.residual = residual;
  spec.activation = p.activation;
  spec.destination = lowering.define(p.out, Layout::kPlain);
  if (add_convolution(lowering, spec).ok()) return true;
  lowering.forget(p.out);
  return false;
}

Result<bool> lower_constant_right(Lowering& lowering, const Product& p) {
  if (lowering.type(p.b).elements() != p.inner * p.columns) return false;  // a stack of matrices
  ValueId bias = kNoValue;
  MODELD_ASSIGN(const bool plain_bias, column_bias(lowering, p, bias));
  if (!plain_bias) return false;
  const ValueId a = left_rows(lowering, p);
  const ValueId residual =
      p.residual == kNoTensor ? kNoValue : lowering.value(p.residual, Layout::kPlain);
  if (p.batch * p.rows <= kRowProductRows) {
    return lower_few_rows(lowering, p, a, bias, residual);
  }
  return lower_as_convolution(lowering, p, a, bias, residual);
}

using dnnl::memory;

// Extents and strides of one side of a batched product, [batch, rows, columns] after flattening
// the leading axes; false if they cannot be flattened (one broadcasts in the middle).
bool flatten_batch(const Shape& shape, int64_t batch, int64_t& stride) {
  int64_t own = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) own *= shape[i];
  const int64_t matrix = shape[shape.size() - 1] * shape[shape.size() - 2];
  stride = own == 1 ? 0 : matrix;
  return own == 1 || own == batch;
}

class MatmulStep final : public Step {
 public:
  MatmulStep(std::vector<OneDnnCall> calls, std::vector<Share> shares, int64_t matrix, ValueId out,
             std::optional<Activation> activation)
      : calls_(std::move(calls)),
        shares_(std::move(shares)),
        matrix_(matrix),
        out_(out),
        activation_(activation) {}

  void run(const RunContext& context) override {
    calls_[context.part].execute(context);
    if (!activation_) return;
    const Share share = shares_[context.part];
    float* out = context.at<float>(out_) + share.begin * matrix_;
    apply(*activation_, out, out, static_cast<size_t>((share.end - share.begin) * matrix_));
  }

 private:
  std::vector<OneDnnCall> calls_;
  std::vector<Share> shares_;
  int64_t matrix_;
  ValueId out_;
  std::optional<Activation> activation_;
};

struct MatmulValues {
  ValueId a, b, bias, residual, out, scratch;
  int64_t a_stride, b_stride;
};

OneDnnCall make_matmul(Lowering& lowering, const Product& p, MatmulValues& v, Share share) {
  constexpr auto kFloat = memory::data_type::f32;
  const int64_t count = share.end - share.begin;
  const auto desc = [&](int64_t batch_stride, int64_t rows, int64_t columns, int64_t row_stride,
                        int64_t column_stride) {
    const int64_t batch = batch_stride == 0 ? 1 : count;
    return memory::desc(
        {batch, rows, columns}, kFloat,
        {batch_stride == 0 ? rows * columns : batch_stride, row_stride, column_stride});
  };
  const memory::desc a = desc(v.a_stride, p.rows, p.inner, p.inner, 1);
  const memory::desc b = desc(v.b_stride, p.inner, p.columns, p.columns, 1);
  const memory::desc out = desc(p.rows * p.columns, p.rows, p.columns, p.columns, 1);
  memory::desc bias;
  if (v.bias != kNoValue) bias = {{1, 1, p.columns}, kFloat, memory::format_tag::abc};
  dnnl::primitive_attr attributes;
  dnnl::post_ops post_ops;
  if (v.residual != kNoValue) post_ops.append_binary(dnnl::algorithm::binary_add, out);
  attributes.set_post_ops(post_ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, bias, out), attributes,
                                            onednn_engine());
  std::vector<OneDnnCall::Impl::Argument> arguments;
  const auto add = [&](int index, const memory::desc& given, ValueId value, int64_t elements) {
    arguments.push_back({index, memory(given, onednn_engine(), nullptr), value,
                         static_cast<uint64_t>(elements) * sizeof(float)});
  };
  const int64_t matrix = p.rows * p.columns;
  add(DNNL_ARG_SRC, a, v.a, share.begin * v.a_stride);
  add(DNNL_ARG_WEIGHTS, b, v.b, share.begin * v.b_stride);
  add(DNNL_ARG_DST, out, v.out, share.begin * matrix);
  if (v.bias != kNoValue) add(DNNL_ARG_BIAS, bias, v.bias, 0);
  if (v.residual != kNoValue) {
    add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, out, v.residual, share.begin * matrix);
  }
  const size_t scratch = chosen.scratchpad_desc().get_size();
  v.scratch = scratch > 0 ? lowering.temporary(scratch) : kNoValue;
  if (scratch > 0) add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), v.scratch, 0);
  return OneDnnCall(std::make_unique<OneDnnCall::Impl>(dnnl::matmul(chosen), std::move(arguments)));
}

Result<bool> lower_computed_right(Lowering& lowering, const Product& p) {
  constexpr int64_t kWorthSharing = 400'000;  // multiply-adds
  const Shape& a = lowering.shape(p.a);
  const Shape& b = lowering.shape(p.b);
  if (a.size() < 2 || b.size() < 2 || p.trans_a || p.trans_b || p.alpha != 1) return false;
  MatmulValues v{};
  if (!flatten_batch(a, p.batch, v.a_stride) || !flatten_batch(b, p.batch, v.b_stride)) {
    return false;
  }
  MODELD_ASSIGN(const bool plain_bias, column_bias(lowering, p, v.bias));
  if (!plain_bias) return false;
  v.a = lowering.value(p.a, Layout::kPlain);
  v.b = lowering.value(p.b, Layout::kPlain);
  v.residual = p.residual == kNoTensor ? kNoValue : lowering.value(p.residual, Layout::kPlain);
  v.out = lowering.define(p.out, Layout::kPlain);
  const int64_t work = p.batch * p.rows * p.inner * p.columns;
  const bool parallel = work >= kWorthSharing && p.batch >= lowering.members();
  const unsigned parts = parallel ? lowering.members() : 1;
  std::vector<OneDnnCall> calls;
  std::vector<Share> shares;
  std::vector<ValueId> writes = {v.out};
  const Status made = onednn_try([&] {
    for (unsigned part = 0; part < parts; ++part) {
      shares.push_back(share_of(p.batch, part, parts));
      calls.push_back(make_matmul(lowering, p, v, shares.back()));
      if (v.scratch != kNoValue) writes.push_back(v.scratch);
    }
  });
  if (!made.ok()) {
    lowering.forget(p.out);
    return false;
  }
  std::vector<ValueId> reads = {v.a, v.b};
  if (v.bias != kNoValue) reads.push_back(v.bias);
  if (v.residual != kNoValue) reads.push_back(v.residual);
  Lowering::StepOptions options;
  options.parallel = parts > 1;
  lowering.add(std::make_unique<MatmulStep>(std::move(calls), std::move(shares), p.rows * p.columns,
                                            v.out, p.activation),
               "oneDNN matmul", std::move(reads), std::move(writes), std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_product(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kGemm && op.kind != OpKind::kMatMul) return false;
  if (lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  const Product p = product_of(lowering, op);
  if (!has_work(p)) return false;
  if (lowering.is_constant(p.b)) {
    MODELD_ASSIGN(const bool done, lower_constant_right(lowering, p));
    if (done) return true;
  }
  return lower_computed_right(lowering, p);
}

}  // namespace modeld::cpu
