// Softmax, LogSoftmax, LayerNormalization and RMSNormalization: a work-item per row.
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {

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
  // The difference from the largest is kept, never taken back from a logarithm.
  const bool logarithm = op.kind == OpKind::kLogSoftmax;
  writer << fill(
      R"CL(
@type@ most = -INFINITY;
for (@i@ k = 0; k < @n@; ++k) { const @type@ e = @e@; most = (most != most || most > e) ? most : e; }
@type@ sum = 0;
for (@i@ k = 0; k < @n@; ++k) sum += exp(@e@ - most);
for (@i@ k = 0; k < @n@; ++k) { const @type@ y = @y@; @store@ }
)CL",
      {{"type", type_name(compute)},
       {"i", kernel.index()},
       {"n", text(x.shape[axis])},
       {"e", e},
       {"y", logarithm ? e + " - most - log(sum)" : "exp(" + e + " - most) / sum"},
       {"store",
        store(out.dtype, to, kernel.at(out) + " + k * " + text(out.strides[axis]), "y", compute)}});
  std::move(kernel).add(logarithm ? "plain log softmax" : "plain softmax");
}

void plain_layer_norm(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.dense(op.inputs[0], Layout::kPlain);
  const bool centred = op.kind == OpKind::kLayerNormalization;
  std::optional<View> scale;
  std::optional<View> bias;
  if (has(op, 1)) scale = lowering.dense(op.inputs[1], Layout::kPlain);
  if (has(op, 2)) bias = lowering.dense(op.inputs[2], Layout::kPlain);
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
  const std::string e = load(x.dtype, writer.input(x), at, compute);
  const std::string mean = centred
                               ? fill(
                                     "@type@ sum = 0;\nfor (@i@ k = 0; k < @n@; ++k) sum += @e@;\n"
                                     "const @type@ mean = sum / (@type@)@n@;",
                                     {{"type", type_name(compute)},
                                      {"i", kernel.index()},
                                      {"n", text(length)},
                                      {"e", e}})
                               : "const " + type_name(compute) + " mean = 0;";
  writer << fill(
      R"CL(
@type@ squares = 0;
@mean@
for (@i@ k = 0; k < @n@; ++k) { const @type@ d = @e@ - mean; squares += d * d; }
const @type@ deviation = sqrt(squares / (@type@)@n@ + @epsilon@);
for (@i@ k = 0; k < @n@; ++k) { const @type@ y = (@e@ - mean) / deviation@scale@@bias@; @store@ }
)CL",
      {{"type", type_name(compute)},
       {"i", kernel.index()},
       {"n", text(length)},
       {"mean", mean},
       {"e", e},
       {"epsilon", literal(op.attributes.get_float("epsilon"), compute)},
       {"scale", scale ? " * " + load(scale->dtype, writer.input(*scale), "k", compute) : ""},
       {"bias", bias ? " + " + load(bias->dtype, writer.input(*bias), "k", compute) : ""},
       {"store", store(out.dtype, to, at, "y", compute)}});
  std::move(kernel).add(centred ? "plain layer norm" : "plain rms norm");
}

}  // namespace modeld::opencl
