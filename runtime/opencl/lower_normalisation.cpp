// Softmax, LogSoftmax, LayerNormalization and RMSNormalization along neighbouring elements.
#include <optional>

#include "runtime/opencl/lowering.h"
#include "runtime/opencl/row_kernel.h"

namespace modeld::opencl {
namespace {

bool knows(const View& view) {
  return loads_vectors(view.dtype) && compute_of(view.dtype) == Compute::kFloat;
}

std::string row_at(int64_t length, const std::string& k) {
  return "row * " + std::to_string(length) + " + " + k;
}

bool lower_softmax(Lowering& lowering, const Op& op) {
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const Layout layout = lowering.layout_of(op.inputs[0]);
  const Shape& shape = lowering.shape(op.inputs[0]);
  // Whether the axis lies innermost in that layout (extents of 1 behind it do not count).
  size_t innermost = 0;
  for (const size_t at : storage_order(shape.size(), layout)) {
    if (shape[at] != 1) innermost = at;
  }
  if (innermost != axis && shape[axis] != 1) return false;
  const View x = lowering.dense(op.inputs[0], layout);
  const View out = lowering.define(op.outputs[0], layout);
  if (!knows(x) || !stores_vectors(out.dtype) || !fits_int({&x})) return false;
  const int64_t length = shape[axis];
  const int64_t rows = x.elements() / length;
  RowKernel kernel(lowering.traits(), rows, length);
  const std::string from = kernel.writer.input(x);
  const std::string to = kernel.writer.output(out);
  const auto element = [&](const std::string& k, uint32_t width) {
    return load(x.dtype, from, row_at(length, k), Compute::kFloat, width);
  };
  kernel.reduce("most", Combine::kMax, element);
  kernel.reduce("sum", Combine::kSum, [&](const std::string& k, uint32_t width) {
    return "exp(" + element(k, width) + " - most)";
  });
  // The difference from the largest is kept, never taken back from a logarithm.
  const bool logarithm = op.kind == OpKind::kLogSoftmax;
  kernel.writer << "const float rest = " << (logarithm ? "log(sum)" : "1.0f / sum") << ";\n";
  kernel.each([&](const std::string& k, uint32_t width) {
    const std::string e = element(k, width);
    return store(out.dtype, to, row_at(length, k),
                 logarithm ? e + " - most - rest" : "exp(" + e + " - most) * rest", Compute::kFloat,
                 width);
  });
  lowering.add(std::move(kernel).finish(), logarithm ? "log softmax rows" : "softmax rows");
  return true;
}

bool lower_layer_norm(Lowering& lowering, const Op& op) {
  const Shape& shape = lowering.shape(op.inputs[0]);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  int64_t rows = 1;
  int64_t length = 1;
  for (size_t i = 0; i < shape.size(); ++i) (i < axis ? rows : length) *= shape[i];
  const bool centred = op.kind == OpKind::kLayerNormalization;
  const View x = lowering.dense(op.inputs[0], Layout::kPlain);
  const auto parameter = [&](size_t input) {
    const bool given = input < op.inputs.size() && op.inputs[input] != kNoTensor;
    return given ? std::optional(lowering.dense(op.inputs[input], Layout::kPlain)) : std::nullopt;
  };
  const std::optional<View> scale = parameter(1);
  const std::optional<View> bias = parameter(2);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  if (!knows(x) || (scale && !knows(*scale)) || (bias && !knows(*bias))) return false;
  if (!stores_vectors(out.dtype)) return false;
  if (!fits_int({&x})) return false;
  RowKernel kernel(lowering.traits(), rows, length);
  const std::string from = kernel.writer.input(x);
  const std::string factors = scale ? kernel.writer.input(*scale) : "";
  const std::string addends = bias ? kernel.writer.input(*bias) : "";
  const std::string to = kernel.writer.output(out);
  const std::string n = literal(static_cast<double>(length), Compute::kFloat);
  const auto element = [&](const std::string& k, uint32_t width) {
    return load(x.dtype, from, row_at(length, k), Compute::kFloat, width);
  };
  if (centred) {
    kernel.reduce("sum", Combine::kSum, element);
    kernel.writer << "const float mean = sum / " << n << ";\n";
  }
  const auto difference = [&](const std::string& k, uint32_t width) {
    return centred ? "(" + element(k, width) + " - mean)" : element(k, width);
  };
  kernel.reduce("squares", Combine::kSum, [&](const std::string& k, uint32_t width) {
    return difference(k, width) + " * " + difference(k, width);
  });
  kernel.writer << "const float factor = 1.0f / sqrt(squares / " << n << " + "
                << literal(op.attributes.get_float("epsilon"), Compute::kFloat) << ");\n";
  kernel.each([&](const std::string& k, uint32_t width) {
    std::string y = difference(k, width) + " * factor";
    if (scale) y += " * " + load(scale->dtype, factors, k, Compute::kFloat, width);
    if (bias) y += " + " + load(bias->dtype, addends, k, Compute::kFloat, width);
    return store(out.dtype, to, row_at(length, k), y, Compute::kFloat, width);
  });
  lowering.add(std::move(kernel).finish(), centred ? "layer norm rows" : "rms norm rows");
  return true;
}

}  // namespace

Result<bool> lower_normalisation(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool softmax = op.kind == OpKind::kSoftmax || op.kind == OpKind::kLogSoftmax;
  const bool norm = op.kind == OpKind::kLayerNormalization || op.kind == OpKind::kRmsNormalization;
  if (!softmax && !norm) return false;
  if (lowering.type(op.inputs[0]).elements() == 0) return false;
  if (compute_of(lowering.dtype(op.inputs[0])) != Compute::kFloat) return false;
  return softmax ? lower_softmax(lowering, op) : lower_layer_norm(lowering, op);
}

}  // namespace modeld::opencl
