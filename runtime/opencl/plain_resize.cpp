// Resize of any mode: tables of taps for every axis.
#include <algorithm>
#include <cstring>

#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"
#include "runtime/reference/resize_taps.h"

namespace modeld::opencl {
namespace {

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

}  // namespace

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

}  // namespace modeld::opencl
