// AveragePool and MaxPool.
#include <optional>

#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {

namespace {

// What the indices call the element a tap meets, within its plane: its place in C order, or in
// Fortran order.
std::string place_of(const Op& op, const Shape& in) {
  const bool columns = op.attributes.get_string("indices") == "column_major";
  const size_t axes = in.size() - 2;
  std::string place = "0L";
  for (size_t i = 0; i < axes; ++i) {
    const size_t axis = columns ? axes - 1 - i : i;
    place = "(" + place + " * " + text(in[axis + 2]) + " + " + name("s", axis) + ")";
  }
  return place;
}

}  // namespace

void plain_pool(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool average = op.kind == OpKind::kAveragePool;
  const bool count_padding = op.attributes.get_int("count_include_pad", 0) != 0;
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  std::optional<View> places;
  if (op.outputs.size() > 1) places = lowering.define(op.outputs[1], Layout::kPlain);
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
  if (places) writer << "long place = -1;\n";
  open_taps(writer, kernel.index(), window, x.shape, false);
  std::string x_at = "c0 * " + text(x.strides[0]) + " + c1 * " + text(x.strides[1]);
  for (size_t axis = 0; axis < axes; ++axis) {
    x_at += " + " + name("s", axis) + " * " + text(x.strides[axis + 2]);
  }
  writer << "const " << type << " e = " << load(x.dtype, writer.input(x), x_at, compute) << ";\n";
  // Of equal elements the first stays.
  if (places) {
    writer << "if (place < 0 || e > v || (e != e && v == v)) place = " << place_of(op, x.shape)
           << ";\n";
  }
  writer << (average ? "v += e;\n" : "v = (v != v || v > e) ? v : e;\n");
  close_taps(writer, axes);
  writer << store(out.dtype, to, kernel.at(out), average ? "v / (" + type + ")count" : "v", compute)
         << "\n";
  if (places) {
    // A window of padding alone has the first.
    int64_t plane = 1;
    for (size_t axis = 0; axis < axes; ++axis) plane *= x.shape[axis + 2];
    writer << store(DType::kInt64, writer.output(*places), kernel.at(*places),
                    "(c0 * " + text(x.shape[1]) + " + (long)c1) * " + text(plane) +
                        " + max(place, 0L)",
                    Compute::kSigned)
           << "\n";
  }
  std::move(kernel).add("plain pool");
}

}  // namespace modeld::opencl
