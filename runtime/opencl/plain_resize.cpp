// Resize of any mode: tables of taps for every axis.
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"
#include "runtime/opencl/resize_tables.h"

namespace modeld::opencl {
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
    const ResizeTables tables = resize_tables(lowering, plans[axis]);
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
