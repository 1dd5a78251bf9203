// The heavy ops in their plainest form: one work-item per result, any element type, any rank. What
// the tuned families do not take ends here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/opencl/expressions.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/product_views.h"
#include "runtime/reference/resize_taps.h"

namespace modeld::opencl {
namespace {

std::string text(int64_t value) {
  return "(" + std::to_string(value) + ")";
}

std::string name(const char* prefix, size_t i) {
  return prefix + std::to_string(i);
}

// A kernel with one work-item per element of `shape`: coordinates c0, c1, ... and, for each view
// asked for, an index into it.
class PlainKernel {
 public:
  PlainKernel(Lowering& lowering, Shape shape) : lowering_(lowering), shape_(std::move(shape)) {
    const View counted{0, DType::kUInt8, 0, shape_, dense_strides(shape_, Layout::kPlain)};
    index_ = fits_int({&counted}) ? "int" : "long";
    count_ = counted.elements();
    writer << fill("@i@ r = (@i@)get_global_id(0);\nif (r >= @n@) return;\n",
                   {{"i", index_}, {"n", text(count_)}});
    for (size_t axis = shape_.size(); axis-- > 0;) {
      writer << fill("const @i@ @c@ = r % @n@; r /= @n@;\n",
                     {{"i", index_}, {"c", name("c", axis)}, {"n", text(shape_[axis])}});
    }
  }

  bool empty() const { return count_ == 0; }
  const std::string& index() const { return index_; }

  // Sum of coordinate times stride, over axes of the shape.
  std::string at(const View& view) const {
    std::string sum = "0";
    for (size_t axis = 0; axis < view.shape.size(); ++axis) {
      sum += " + " + name("c", axis) + " * " + text(view.strides[axis]);
    }
    return sum;
  }

  void add(std::string how) && {
    if (count_ == 0) return;
    Launch launch = std::move(writer).finish();
    const size_t group = 64;
    launch.local[0] = group;
    launch.global[0] = (static_cast<size_t>(count_) + group - 1) / group * group;
    lowering_.add(std::move(launch), std::move(how));
  }

  KernelWriter writer;

 private:
  Lowering& lowering_;
  Shape shape_;
  std::string index_;
  int64_t count_ = 0;
};

bool has(const Op& op, size_t input) {
  return input < op.inputs.size() && op.inputs[input] != kNoTensor;
}

// --- Convolutions ---

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

Window window_of(const Op& op, const Shape& weights) {
  return {{weights.begin() + 2, weights.end()},
          op.attributes.get_ints("strides"),
          op.attributes.get_ints("dilations"),
          op.attributes.get_ints("pads")};
}

// Loops over the taps of a window, with the input coordinate s<axis> of each that meets one.
void open_taps(KernelWriter& writer, const std::string& index, const Window& window,
               const Shape& in, bool transposed) {
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    writer << fill(
        "for (@i@ k@a@ = 0; k@a@ < @n@; ++k@a@) {\n",
        {{"i", index}, {"a", std::to_string(axis)}, {"n", std::to_string(window.kernel[axis])}});
    const std::string meeting = transposed ? "const @i@ t@a@ = c@c@ + @pad@ - k@a@ * @d@;\n"
                                             "if (t@a@ < 0 || t@a@ % @s@ != 0) continue;\n"
                                             "const @i@ s@a@ = t@a@ / @s@;\n"
                                           : "const @i@ s@a@ = c@c@ * @s@ + k@a@ * @d@ - @pad@;\n";
    writer << fill(meeting + "if (s@a@ < 0 || s@a@ >= @extent@) continue;\n",
                   {{"i", index},
                    {"a", std::to_string(axis)},
                    {"c", std::to_string(axis + 2)},
                    {"s", text(window.strides[axis])},
                    {"d", text(window.dilations[axis])},
                    {"pad", text(window.pads[axis])},
                    {"extent", text(in[axis + 2])}});
  }
}

void close_taps(KernelWriter& writer, size_t axes) {
  for (size_t i = 0; i < axes; ++i) writer << "}\n";
}

void plain_convolution(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool transposed = op.kind == OpKind::kConvTranspose;
  const View x = lowering.view(op.inputs[0]);
  const View w = lowering.view(op.inputs[1]);
  const std::optional<View> bias =
      has(op, 2) ? std::optional(lowering.view(op.inputs[2])) : std::nullopt;
  const std::optional<View> residual =
      has(op, 3) ? std::optional(lowering.view(op.inputs[3])) : std::nullopt;
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const int64_t groups = op.attributes.get_int("group", 1);
  const int64_t in_channels = x.shape[1] / groups;
  const int64_t out_channels = out.shape[1] / groups;
  const Window window = window_of(op, w.shape);
  const size_t axes = window.kernel.size();
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string from = writer.input(x);
  const std::string weights = writer.input(w);
  const std::string type = type_name(compute);
  writer << type << " v = 0;\n";
  open_taps(writer, kernel.index(), window, x.shape, transposed);
  std::string x_at = "c0 * " + text(x.strides[0]) + " + (c1 / " + text(out_channels) + " * " +
                     text(in_channels) + " + c) * " + text(x.strides[1]);
  // Weights are (out, in / group, ..), transposed (in, out / group, ..).
  std::string w_at = transposed ? "(c1 / " + text(out_channels) + " * " + text(in_channels) +
                                      " + c) * " + text(w.strides[0]) + " + c1 % " +
                                      text(out_channels) + " * " + text(w.strides[1])
                                : "c1 * " + text(w.strides[0]) + " + c * " + text(w.strides[1]);
  for (size_t axis = 0; axis < axes; ++axis) {
    x_at += " + " + name("s", axis) + " * " + text(x.strides[axis + 2]);
    w_at += " + " + name("k", axis) + " * " + text(w.strides[axis + 2]);
  }
  writer << fill("for (@i@ c = 0; c < @n@; ++c) v += @x@ * @w@;\n",
                 {{"i", kernel.index()},
                  {"n", std::to_string(in_channels)},
                  {"x", load(x.dtype, from, x_at, compute)},
                  {"w", load(w.dtype, weights, w_at, compute)}});
  close_taps(writer, axes);
  if (bias) {
    writer << "v += "
           << load(bias->dtype, writer.input(*bias), "c1 * " + text(bias->strides[0]), compute)
           << ";\n";
  }
  if (residual) {
    writer << "v += "
           << load(residual->dtype, writer.input(*residual), kernel.at(*residual), compute)
           << ";\n";
  }
  writer << type << " y = " << activation_expression(op.attributes, "v", compute, 1) << ";\n"
         << store(out.dtype, to, kernel.at(out), "y", compute) << "\n";
  std::move(kernel).add("plain convolution");
}

// --- Products ---

void plain_product(Lowering& lowering) {
  const Op& op = lowering.op();
  const ProductViews p = product_views(lowering);
  const Compute compute = compute_of(lowering.dtype(op.inputs[0]));
  PlainKernel kernel(lowering, p.out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const size_t rank = p.out.shape.size();
  // Indices of a and b without their own inner axis.
  View a = p.a;
  View b = p.b;
  a.strides[rank - 1] = 0;
  b.strides[rank - 2] = 0;
  const std::string to = writer.output(p.out);
  const std::string type = type_name(compute);
  writer << type << " v = 0;\n"
         << fill("for (@i@ k = 0; k < @n@; ++k) v += @a@ * @b@;\n",
                 {{"i", kernel.index()},
                  {"n", std::to_string(p.inner)},
                  {"a", load(p.a.dtype, writer.input(p.a),
                             kernel.at(a) + " + k * " + text(p.a.strides[rank - 1]), compute)},
                  {"b", load(p.b.dtype, writer.input(p.b),
                             kernel.at(b) + " + k * " + text(p.b.strides[rank - 2]), compute)}});
  // Integers: alpha and beta are 1.
  if (p.alpha != 1) writer << "v *= " << literal(p.alpha, compute) << ";\n";
  if (p.bias) {
    const std::string value =
        load(p.bias->dtype, writer.input(*p.bias), kernel.at(*p.bias), compute);
    writer << "v += " << (p.beta == 1 ? "" : literal(p.beta, compute) + " * ") << value << ";\n";
  }
  if (p.residual) {
    writer << "v += "
           << load(p.residual->dtype, writer.input(*p.residual), kernel.at(*p.residual), compute)
           << ";\n";
  }
  const std::string y =
      is_real(compute) ? activation_expression(op.attributes, "v", compute, 1) : "v";
  writer << type << " y = " << y << ";\n"
         << store(p.out.dtype, to, kernel.at(p.out), "y", compute) << "\n";
  std::move(kernel).add("plain product");
}

// --- Pools ---

void plain_pool(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool average = op.kind == OpKind::kAveragePool;
  const bool count_padding = op.attributes.get_int("count_include_pad", 0) != 0;
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const Window window{op.attributes.get_ints("kernel_shape"), op.attributes.get_ints("strides"),
                      op.attributes.get_ints("dilations"), op.attributes.get_ints("pads")};
  const size_t axes = window.kernel.size();
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string type = type_name(compute);
  if (average) {
    // With count_include_pad the padding counts, but not what a ceil_mode window reaches beyond.
    writer << type << " v = 0;\nint count = 1;\n";
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t reach = x.shape[axis + 2] + window.pads[axis] + window.pads[axes + axis];
      writer << fill(
          "{ int n = 0; for (int k = 0; k < @k@; ++k) { const int t = (int)c@c@ * @s@ + k * @d@; "
          "n += @inside@; } count *= n; }\n",
          {{"k", std::to_string(window.kernel[axis])},
           {"c", std::to_string(axis + 2)},
           {"s", text(window.strides[axis])},
           {"d", text(window.dilations[axis])},
           {"inside", count_padding ? "t < " + text(reach)
                                    : "t >= " + text(window.pads[axis]) + " && t < " +
                                          text(window.pads[axis] + x.shape[axis + 2])}});
    }
  } else if (is_real(compute)) {
    writer << type << " v = -INFINITY;\n";
  } else {
    writer << type << " v = " << (x.dtype == DType::kInt8 ? "-128" : "0") << ";\n";
  }
  open_taps(writer, kernel.index(), window, x.shape, false);
  std::string x_at = "c0 * " + text(x.strides[0]) + " + c1 * " + text(x.strides[1]);
  for (size_t axis = 0; axis < axes; ++axis) {
    x_at += " + " + name("s", axis) + " * " + text(x.strides[axis + 2]);
  }
  writer << "const " << type << " e = " << load(x.dtype, writer.input(x), x_at, compute) << ";\n"
         << (average ? "v += e;\n" : "v = (v != v || v > e) ? v : e;\n");
  close_taps(writer, axes);
  writer << store(out.dtype, to, kernel.at(out), average ? "v / (" + type + ")count" : "v", compute)
         << "\n";
  std::move(kernel).add("plain pool");
}

// --- Reductions ---

struct ReduceText {
  std::string start, combine, finish;
};

double extreme_of(DType dtype, bool largest) {
  switch (dtype) {
    case DType::kInt8:
      return largest ? 127 : -128;
    case DType::kInt16:
      return largest ? 32767 : -32768;
    case DType::kInt32:
      return largest ? 2147483647.0 : -2147483648.0;
    case DType::kUInt8:
      return largest ? 255 : 0;
    case DType::kUInt16:
      return largest ? 65535 : 0;
    case DType::kUInt32:
      return largest ? 4294967295.0 : 0;
    case DType::kBool:
      return largest ? 1 : 0;
    default:
      return 0;
  }
}

// The identity of Max (the least value) or Min in the element's type.
std::string identity_of_extreme(DType dtype, Compute compute, bool of_max) {
  if (is_real(compute)) return of_max ? "-INFINITY" : "INFINITY";
  if (dtype == DType::kInt64) return of_max ? "LONG_MIN" : "LONG_MAX";
  if (dtype == DType::kUInt64) return of_max ? "0" : "ULONG_MAX";
  return literal(extreme_of(dtype, !of_max), compute);
}

ReduceText reduce_text(OpKind kind, DType dtype, Compute compute, int64_t count) {
  const bool real = is_real(compute);
  const std::string n = "(" + type_name(compute) + ")" + text(count);
  switch (kind) {
    case OpKind::kReduceL1:
      return {"0",
              real ? "v += fabs(e);"
                   : (compute == Compute::kSigned ? "v += e < 0 ? (long)(0ul - (ulong)e) : e;"
                                                  : "v += e;"),
              "v"};
    case OpKind::kReduceL2:
      return {
          "0", "v += e * e;",
          real ? "sqrt(v)" : "(" + type_name(compute) + ")m_isqrt((" + type_name(compute) + ")v)"};
    case OpKind::kReduceMax:
      return {identity_of_extreme(dtype, compute, true), "v = (v != v || v > e) ? v : e;", "v"};
    case OpKind::kReduceMin:
      return {identity_of_extreme(dtype, compute, false), "v = (v != v || v < e) ? v : e;", "v"};
    case OpKind::kReduceMean:
      return {"0", "v += e;", real || count != 0 ? "v / " + n : "0"};
    case OpKind::kReduceProd:
      return {"1", "v *= e;", "v"};
    case OpKind::kReduceSumSquare:
      return {"0", "v += e * e;", "v"};
    default:
      return {"0", "v += e;", "v"};
  }
}

void plain_reduction(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  View out = lowering.define(op.outputs[0], Layout::kPlain);
  const std::vector<int64_t> axes = op.attributes.get_ints("axes");
  // The output with its reduced axes kept.
  Shape kept = x.shape;
  int64_t count = 1;
  for (const int64_t axis : axes) {
    count *= x.shape[static_cast<size_t>(axis)];
    kept[static_cast<size_t>(axis)] = 1;
  }
  out.shape = kept;
  out.strides = dense_strides(kept, Layout::kPlain);
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, kept);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  if (op.kind == OpKind::kReduceMean && !is_real(compute) && count == 0) {
    writer << "atomic_inc(&" << writer.flags(lowering.flags()) << "[1]);\n";
  }
  const ReduceText reduce = reduce_text(op.kind, x.dtype, compute, count);
  const std::string type = type_name(compute);
  writer << type << " v = " << reduce.start << ";\n";
  std::string x_at = kernel.at(x);
  for (const int64_t axis : axes) {
    const auto a = static_cast<size_t>(axis);
    writer << fill("for (@i@ @k@ = 0; @k@ < @n@; ++@k@)\n",
                   {{"i", kernel.index()}, {"k", name("k", a)}, {"n", text(x.shape[a])}});
    x_at += " + " + name("k", a) + " * " + text(x.strides[a]);
  }
  writer << "{ const " << type << " e = " << load(x.dtype, writer.input(x), x_at, compute) << "; "
         << reduce.combine << " }\n";
  writer << store(out.dtype, to, kernel.at(out), reduce.finish, compute) << "\n";
  std::move(kernel).add("plain reduction");
}

void plain_arg(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const bool last = op.attributes.get_int("select_last_index") != 0;
  Shape kept = x.shape;
  kept[axis] = 1;
  out.shape = kept;
  out.strides = dense_strides(kept, Layout::kPlain);
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, kept);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string from = writer.input(x);
  // A NaN is chosen over every number.
  writer << fill(
      R"CL(
long chosen = 0;
@type@ best = @first@;
for (@i@ k = 1; k < @n@; ++k) {
  const @type@ e = @element@;
  const int take = best != best ? (@last@ && e != e)
                 : (e != e ? 1 : (e == best ? @last@ : e @sign@ best));
  if (take) { best = e; chosen = k; }
}
)CL",
      {{"type", type_name(compute)},
       {"first", load(x.dtype, from, kernel.at(x), compute)},
       {"i", kernel.index()},
       {"n", text(x.shape[axis])},
       {"element", load(x.dtype, from, kernel.at(x) + " + k * " + text(x.strides[axis]), compute)},
       {"last", last ? "1" : "0"},
       {"sign", op.kind == OpKind::kArgMax ? ">" : "<"}});
  writer << store(DType::kInt64, to, kernel.at(out), "chosen", Compute::kSigned) << "\n";
  std::move(kernel).add("plain arg");
}

// --- Softmax and LayerNormalization: a work-item per row ---

void plain_softmax(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  Shape rows = x.shape;
  rows[axis] = 1;
  if (x.elements() == 0) return;
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, rows);
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string e =
      load(x.dtype, writer.input(x), kernel.at(x) + " + k * " + text(x.strides[axis]), compute);
  writer << fill(
      R"CL(
@type@ most = -INFINITY;
for (@i@ k = 0; k < @n@; ++k) { const @type@ e = @e@; most = (most != most || most > e) ? most : e; }
@type@ sum = 0;
for (@i@ k = 0; k < @n@; ++k) sum += exp(@e@ - most);
for (@i@ k = 0; k < @n@; ++k) { const @type@ y = exp(@e@ - most) / sum; @store@ }
)CL",
      {{"type", type_name(compute)},
       {"i", kernel.index()},
       {"n", text(x.shape[axis])},
       {"e", e},
       {"store",
        store(out.dtype, to, kernel.at(out) + " + k * " + text(out.strides[axis]), "y", compute)}});
  std::move(kernel).add("plain softmax");
}

void plain_layer_norm(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.dense(op.inputs[0], Layout::kPlain);
  const View scale = lowering.dense(op.inputs[1], Layout::kPlain);
  const std::optional<View> bias =
      has(op, 2) ? std::optional(lowering.dense(op.inputs[2], Layout::kPlain)) : std::nullopt;
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  int64_t rows = 1;
  int64_t length = 1;
  for (size_t i = 0; i < x.shape.size(); ++i) (i < axis ? rows : length) *= x.shape[i];
  if (x.elements() == 0) return;
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, {rows});
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string at = "c0 * " + text(length) + " + k";
  writer << fill(
      R"CL(
@type@ sum = 0, squares = 0;
for (@i@ k = 0; k < @n@; ++k) sum += @e@;
const @type@ mean = sum / (@type@)@n@;
for (@i@ k = 0; k < @n@; ++k) { const @type@ d = @e@ - mean; squares += d * d; }
const @type@ deviation = sqrt(squares / (@type@)@n@ + @epsilon@);
for (@i@ k = 0; k < @n@; ++k) { const @type@ y = (@e@ - mean) / deviation * @scale@@bias@; @store@ }
)CL",
      {{"type", type_name(compute)},
       {"i", kernel.index()},
       {"n", text(length)},
       {"e", load(x.dtype, writer.input(x), at, compute)},
       {"epsilon", literal(op.attributes.get_float("epsilon"), compute)},
       {"scale", load(scale.dtype, writer.input(scale), "k", compute)},
       {"bias", bias ? " + " + load(bias->dtype, writer.input(*bias), "k", compute) : ""},
       {"store", store(out.dtype, to, at, "y", compute)}});
  std::move(kernel).add("plain layer norm");
}

// --- Resize ---

// Tables of one axis: which elements a coordinate reads and with what weight.
struct AxisTables {
  size_t taps = 1;
  View indices;  // i32[out][taps]; index -1 in the first tap: outside
  View weights;  // f32[out][taps]
};

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

AxisTables tables_of(Lowering& lowering, const reference::ResizeAxisPlan& plan) {
  AxisTables tables;
  for (const auto& sample : plan.samples) tables.taps = std::max(tables.taps, sample.taps.size());
  std::vector<int32_t> indices;
  std::vector<float> weights;
  for (const auto& sample : plan.samples) {
    for (size_t i = 0; i < tables.taps; ++i) {
      const bool used = i < sample.taps.size();
      indices.push_back(sample.outside ? -1
                                       : static_cast<int32_t>(used ? sample.taps[i].index : 0));
      weights.push_back(used ? static_cast<float>(sample.taps[i].weight) : 0.0f);
    }
  }
  const auto extent = static_cast<int64_t>(plan.samples.size());
  const Shape shape{extent, static_cast<int64_t>(tables.taps)};
  tables.indices = lowering.constant(DType::kInt32, shape, bytes_of(indices));
  tables.weights = lowering.constant(DType::kFloat32, shape, bytes_of(weights));
  return tables;
}

void plain_resize(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto plans = reference::plan_resize(op.attributes, x.shape, out.shape);
  const Compute compute = is_real(compute_of(x.dtype)) ? compute_of(x.dtype) : Compute::kFloat;
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string type = type_name(compute);
  std::string loops;
  std::string outside = "0";
  std::string weight = "1";
  std::string from = "0";
  for (size_t axis = 0; axis < plans.size(); ++axis) {
    const std::string c = name("c", axis);
    if (x.shape[axis] == 1 && out.shape[axis] == 1) continue;
    const AxisTables tables = tables_of(lowering, plans[axis]);
    const std::string indices = writer.input(tables.indices);
    const std::string row = c + " * " + std::to_string(tables.taps);
    const std::string k = name("k", axis);
    outside += " || " + indices + "[" + row + "] < 0";
    loops += fill("for (int @k@ = 0; @k@ < @n@; ++@k@)\n",
                  {{"k", k}, {"n", std::to_string(tables.taps)}});
    weight += " * (" + type + ")" + writer.input(tables.weights) + "[" + row + " + " + k + "]";
    from += " + " + indices + "[" + row + " + " + k + "] * " + text(x.strides[axis]);
  }
  // A tap without weight must not turn an infinity elsewhere into NaN.
  writer << type << " v = 0;\n"
         << "if (" << outside
         << ") {\n v = " << literal(op.attributes.get_float("extrapolation_value"), compute)
         << ";\n} else {\n"
         << loops << "{ const " << type << " w = " << weight << "; if (w != 0) v += w * "
         << load(x.dtype, writer.input(x), from, compute) << "; }\n}\n"
         << store(out.dtype, to, kernel.at(out), "v", compute) << "\n";
  std::move(kernel).add("plain resize");
}

}  // namespace

Result<bool> lower_plainly(Lowering& lowering) {
  switch (lowering.op().kind) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
      plain_convolution(lowering);
      return true;
    case OpKind::kGemm:
    case OpKind::kMatMul:
      plain_product(lowering);
      return true;
    case OpKind::kAveragePool:
    case OpKind::kMaxPool:
      plain_pool(lowering);
      return true;
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
      plain_reduction(lowering);
      return true;
    case OpKind::kArgMax:
    case OpKind::kArgMin:
      plain_arg(lowering);
      return true;
    case OpKind::kSoftmax:
      plain_softmax(lowering);
      return true;
    case OpKind::kLayerNormalization:
      plain_layer_norm(lowering);
      return true;
    case OpKind::kResize:
      plain_resize(lowering);
      return true;
    default:
      return false;
  }
}

}  // namespace modeld::opencl
