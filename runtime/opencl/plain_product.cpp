// Gemm, MatMul and MatMulInteger.
#include "runtime/opencl/expressions.h"
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"
#include "runtime/opencl/product_views.h"

namespace modeld::opencl {

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

// As ConvInteger; zero points broadcast to their operands.
void plain_integer_product(Lowering& lowering) {
  const ProductViews p = product_views(lowering);
  PlainKernel kernel(lowering, p.out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const size_t rank = p.out.shape.size();
  const std::string to = writer.output(p.out);
  // An operand minus its zero point; `inner` is the operand's axis of the sum.
  const auto centred = [&](const View& operand, const std::optional<View>& zero, size_t inner) {
    const auto element = [&](View view) {
      const std::string step = " + k * " + text(view.strides[inner]);
      view.strides[inner] = 0;
      return load(view.dtype, writer.input(view), kernel.at(view) + step, Compute::kSigned);
    };
    return zero ? "(" + element(operand) + " - " + element(*zero) + ")" : element(operand);
  };
  writer << "long v = 0;\n"
         << fill("for (@i@ k = 0; k < @n@; ++k) v += @a@ * @b@;\n",
                 {{"i", kernel.index()},
                  {"n", std::to_string(p.inner)},
                  {"a", centred(p.a, p.a_zero, rank - 1)},
                  {"b", centred(p.b, p.b_zero, rank - 2)}})
         << store(p.out.dtype, to, kernel.at(p.out), "v", Compute::kSigned) << "\n";
  std::move(kernel).add("plain integer product");
}

}  // namespace modeld::opencl
