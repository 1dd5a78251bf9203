// Conv, ConvTranspose and ConvInteger.
#include "runtime/opencl/expressions.h"
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {

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
  const Window window = window_of(op, {w.shape.begin() + 2, w.shape.end()});
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

// Sums of (x - its zero point) (w - its zero point), modulo 2^32; padding adds nothing.
void plain_integer_convolution(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View w = lowering.view(op.inputs[1]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const int64_t groups = op.attributes.get_int("group", 1);
  const int64_t in_channels = x.shape[1] / groups;
  const int64_t out_channels = out.shape[1] / groups;
  const Window window = window_of(op, {w.shape.begin() + 2, w.shape.end()});
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  // One value, or of the weights one for every output channel.
  const auto zero = [&](size_t input, const std::string& channel) {
    if (!has(op, input)) return std::string("0");
    const View view = lowering.view(op.inputs[input]);
    const std::string at = view.elements() == 1 ? "0" : channel + " * " + text(view.strides[0]);
    return load(view.dtype, writer.input(view), at, Compute::kSigned);
  };
  writer << "const long x_zero = " << zero(2, "0") << ", w_zero = " << zero(3, "c1")
         << ";\nlong v = 0;\n";
  open_taps(writer, kernel.index(), window, x.shape, false);
  std::string x_at = "c0 * " + text(x.strides[0]) + " + (c1 / " + text(out_channels) + " * " +
                     text(in_channels) + " + c) * " + text(x.strides[1]);
  std::string w_at = "c1 * " + text(w.strides[0]) + " + c * " + text(w.strides[1]);
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    x_at += " + " + name("s", axis) + " * " + text(x.strides[axis + 2]);
    w_at += " + " + name("k", axis) + " * " + text(w.strides[axis + 2]);
  }
  writer << fill("for (@i@ c = 0; c < @n@; ++c) v += (@x@ - x_zero) * (@w@ - w_zero);\n",
                 {{"i", kernel.index()},
                  {"n", std::to_string(in_channels)},
                  {"x", load(x.dtype, writer.input(x), x_at, Compute::kSigned)},
                  {"w", load(w.dtype, writer.input(w), w_at, Compute::kSigned)}});
  close_taps(writer, window.kernel.size());
  writer << store(out.dtype, to, kernel.at(out), "v", Compute::kSigned) << "\n";
  std::move(kernel).add("plain integer convolution");
}

}  // namespace modeld::opencl
