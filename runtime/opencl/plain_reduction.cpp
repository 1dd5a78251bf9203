// Reduce*, CumSum, ArgMax and ArgMin.
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {
namespace {

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

// The op's output as a view of the input's rank: the axes that were reduced kept with extent 1.
View define_reduced(Lowering& lowering, const View& x, const std::vector<int64_t>& axes) {
  View out = lowering.define(lowering.op().outputs[0], Layout::kPlain);
  out.shape = x.shape;
  for (const int64_t axis : axes) out.shape[static_cast<size_t>(axis)] = 1;
  out.strides = dense_strides(out.shape, Layout::kPlain);
  return out;
}

// Loops over the reduced axes, and the element of the input they stand at.
struct ReducedLoops {
  std::string open;
  std::string at;
};
ReducedLoops loops_over(const PlainKernel& kernel, const View& x,
                        const std::vector<int64_t>& axes) {
  ReducedLoops loops{"", kernel.at(x)};
  for (const int64_t axis : axes) {
    const auto a = static_cast<size_t>(axis);
    loops.open += fill("for (@i@ @k@ = 0; @k@ < @n@; ++@k@)\n",
                       {{"i", kernel.index()}, {"k", name("k", a)}, {"n", text(x.shape[a])}});
    loops.at += " + " + name("k", a) + " * " + text(x.strides[a]);
  }
  return loops;
}

}  // namespace

void plain_reduction(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const std::vector<int64_t> axes = op.attributes.get_ints("axes");
  const View out = define_reduced(lowering, x, axes);
  int64_t count = 1;
  for (const int64_t axis : axes) count *= x.shape[static_cast<size_t>(axis)];
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  if (op.kind == OpKind::kReduceMean && !is_real(compute) && count == 0) {
    writer << count_fault(lowering, writer, Fault::kDivision) << "\n";
  }
  const ReduceText reduce = reduce_text(op.kind, x.dtype, compute, count);
  const std::string type = type_name(compute);
  writer << type << " v = " << reduce.start << ";\n";
  const ReducedLoops loops = loops_over(kernel, x, axes);
  writer << loops.open;
  writer << "{ const " << type << " e = " << load(x.dtype, writer.input(x), loops.at, compute)
         << "; " << reduce.combine << " }\n";
  writer << store(out.dtype, to, kernel.at(out), reduce.finish, compute) << "\n";
  std::move(kernel).add("plain reduction");
}

// log(sum(exp(x))) with the largest element taken out of the sum, so that it neither overflows nor
// loses everything.
void plain_log_sum_exp(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const std::vector<int64_t> axes = op.attributes.get_ints("axes");
  const View out = define_reduced(lowering, x, axes);
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const ReducedLoops loops = loops_over(kernel, x, axes);
  writer << fill(
      R"CL(
@type@ most = -INFINITY, sum = 0;
@loops@{ const @type@ e = @e@; most = (most != most || most > e) ? most : e; }
const @type@ taken = isinf(most) ? 0 : most;
@loops@{ sum += exp(@e@ - taken); }
)CL",
      {{"type", type_name(compute)},
       {"loops", loops.open},
       {"e", load(x.dtype, writer.input(x), loops.at, compute)}});
  writer << store(out.dtype, to, kernel.at(out), "log(sum) + taken", compute) << "\n";
  std::move(kernel).add("plain log sum exp");
}

// A work-item per line along the axis.
void plain_cumulative_sum(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const bool reverse = op.attributes.get_int("reverse") != 0;
  const bool exclusive = op.attributes.get_int("exclusive") != 0;
  Shape lines = x.shape;
  lines[axis] = x.shape[axis] == 0 ? 0 : 1;
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, lines);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  const std::string next =
      compute == Compute::kSigned ? "(long)((ulong)total + (ulong)e)" : "total + e";
  writer << fill(
      R"CL(
@type@ total = 0;
for (@i@ i = 0; i < @n@; ++i) {
  const @i@ k = @k@;
  const @type@ e = @e@;
  const @type@ next = @next@;
  @store@
  total = next;
}
)CL",
      {{"type", type_name(compute)},
       {"i", kernel.index()},
       {"n", text(x.shape[axis])},
       {"k", reverse ? text(x.shape[axis]) + " - 1 - i" : "i"},
       {"e",
        load(x.dtype, writer.input(x), kernel.at(x) + " + k * " + text(x.strides[axis]), compute)},
       {"next", next},
       {"store", store(out.dtype, to, kernel.at(out) + " + k * " + text(out.strides[axis]),
                       exclusive ? "total" : "next", compute)}});
  std::move(kernel).add("plain cumulative sum");
}

void plain_arg(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const bool last = op.attributes.get_int("select_last_index") != 0;
  const View out = define_reduced(lowering, x, {op.attributes.get_int("axis")});
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
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

}  // namespace modeld::opencl
