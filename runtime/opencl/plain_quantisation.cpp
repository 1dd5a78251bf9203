// QuantizeLinear and DequantizeLinear.
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {
namespace {

// Element of an input, broadcast to the output's shape; zero where the input is left out.
std::string element(Lowering& lowering, PlainKernel& kernel, size_t input, const Shape& shape,
                    Compute compute) {
  const Op& op = lowering.op();
  if (!has(op, input)) return "0";
  const View view = broadcast(lowering.view(op.inputs[input]), shape);
  return load(view.dtype, kernel.writer.input(view), kernel.at(view), compute);
}

// The quotient as floating-point division of the wider of both types rounds it. Rounding to float
// first changes no quotient of halves: 24 bits are twice 11 and 2 more.
std::string quotient(DType x, DType scale) {
  const DType wider = size_of(x) > size_of(scale) ? x : scale;
  if (!is_float(x) || wider == DType::kFloat64) return "x / s";
  return narrowed("m_divide(x, s)", Compute::kFloat, wider);
}

}  // namespace

Status plain_quantize(Lowering& lowering) {
  const Op& op = lowering.op();
  const DType x = lowering.dtype(op.inputs[0]);
  const DType scale = lowering.dtype(op.inputs[1]);
  const bool wide = !is_float(x) || x == DType::kFloat64 || scale == DType::kFloat64;
  if (wide && !lowering.traits().has_double) {
    return Error(ErrorCode::kUnsupported, "quotients of integers")
        .expecting("a device with cl_khr_fp64", "none");
  }
  const Compute compute = wide ? Compute::kDouble : Compute::kFloat;
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return {};
  const std::string to = kernel.writer.output(out);
  kernel.writer << fill(
      R"CL(
const @type@ x = @x@, s = @s@, zero = @zero@;
const @type@ v = rint(@quotient@) + zero;
)CL",
      {{"type", type_name(compute)},
       {"x", element(lowering, kernel, 0, out.shape, compute)},
       {"s", element(lowering, kernel, 1, out.shape, compute)},
       {"zero", element(lowering, kernel, 2, out.shape, compute)},
       {"quotient", quotient(x, scale)}});
  kernel.writer << store(out.dtype, to, kernel.at(out), "v", compute) << "\n";
  std::move(kernel).add("plain quantise");
  return {};
}

void plain_dequantize(Lowering& lowering) {
  const Op& op = lowering.op();
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  // Differences of 16-bit integers are exact in float32, those of 32 bits are not.
  const bool wide = lowering.traits().has_double &&
                    (lowering.dtype(op.inputs[0]) == DType::kInt32 || out.dtype == DType::kFloat64);
  const Compute compute = wide ? Compute::kDouble : Compute::kFloat;
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  const std::string to = kernel.writer.output(out);
  kernel.writer << fill("const @type@ v = (@type@)(@x@ - @zero@) * @s@;\n",
                        {{"type", type_name(compute)},
                         {"x", element(lowering, kernel, 0, out.shape, Compute::kSigned)},
                         {"zero", element(lowering, kernel, 2, out.shape, Compute::kSigned)},
                         {"s", element(lowering, kernel, 1, out.shape, compute)}});
  // Where 16-bit floats are stored wider, what is read back is still the rounded value.
  kernel.writer << store(out.dtype, to, kernel.at(out),
                         narrowed("v", compute, lowering.dtype(op.outputs[0])), compute)
                << "\n";
  std::move(kernel).add("plain dequantise");
}

}  // namespace modeld::opencl
