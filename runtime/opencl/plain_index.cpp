// GatherElements, GatherND and the scatters. A run-time index outside its axis reads 0 or writes
// nothing and is counted. Updates take effect in C order: a work-item has all that may meet.
#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {
namespace {

std::string index_at(KernelWriter& writer, const View& indices, const std::string& at) {
  return load(indices.dtype, writer.input(indices), at, Compute::kSigned);
}

// A view of the data with coordinates of another view's shape, standing still along `axis`.
View without_axis(View view, size_t axis) {
  view.strides[axis] = 0;
  return view;
}

// How the variables `old` and `update` combine; rounded and wrapped as a tensor of `dtype` would.
std::string combined_update(const std::string& reduction, Compute compute, DType dtype) {
  const bool real = is_real(compute);
  const std::string type = type_name(compute);
  const auto wrapping = [&](const char* sign) {
    return real ? std::string("old ") + sign + " update"
                : "(" + type + ")((ulong)old " + sign + " (ulong)update)";
  };
  if (reduction == "add") return narrowed("(" + wrapping("+") + ")", compute, dtype);
  if (reduction == "mul") return narrowed("(" + wrapping("*") + ")", compute, dtype);
  // A NaN on either side wins.
  if (reduction == "max") return "((old != old || old > update) ? old : update)";
  if (reduction == "min") return "((old != old || old < update) ? old : update)";
  return "update";
}

// A statement that writes `update` (an element of the updates) to `target` in the output.
std::string write_update(Lowering& lowering, KernelWriter& writer, const View& out,
                         const std::string& update, const std::string& target) {
  const Op& op = lowering.op();
  const DType dtype = lowering.dtype(op.outputs[0]);
  const Compute compute = compute_of(dtype);
  const std::string to = writer.output(out);
  const std::string reduction = op.attributes.get_string("reduction");
  const std::string old =
      reduction == "none" || reduction.empty() ? "0" : load(out.dtype, to, target, compute);
  return fill("{ const @type@ update = @update@; const @type@ old = @old@;\n@store@ }\n",
              {{"type", type_name(compute)},
               {"update", update},
               {"old", old},
               {"store", store(out.dtype, to, target, combined_update(reduction, compute, dtype),
                               compute)}});
}

// Place of a tuple of indices: `i<k>` resolved one after the other, up to the first that is
// outside; the offset from the block's start in `place`.
void resolve_tuple(Lowering& lowering, KernelWriter& writer, const View& indices,
                   const std::string& first, const View& data, size_t batch_dims,
                   const std::string& counts_if) {
  const int64_t depth = indices.shape.back();
  const int64_t step = indices.strides.back();
  writer << "int inside = 1;\nlong place = 0;\n";
  for (int64_t k = 0; k < depth; ++k) {
    const size_t axis = batch_dims + static_cast<size_t>(k);
    writer << "if (inside) {\nlong index = "
           << index_at(writer, indices, first + " + " + text(k * step)) << ";\n"
           << resolve_index("index", data.shape[axis], "inside") << "place += index * "
           << text(data.strides[axis]) << ";\n}\n";
  }
  writer << "if (!inside && " << counts_if << ") " << count_fault(lowering, writer, Fault::kIndex)
         << "\n";
}

}  // namespace

void plain_gather_elements(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View indices = lowering.view(op.inputs[1]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  writer << "int inside = 1;\nlong index = " << index_at(writer, indices, kernel.at(indices))
         << ";\n"
         << resolve_index("index", x.shape[axis], "inside") << "if (!inside) "
         << count_fault(lowering, writer, Fault::kIndex) << "\n";
  const std::string from = kernel.at(without_axis(x, axis)) + " + index * " + text(x.strides[axis]);
  // Data without elements has nothing to read.
  const std::string value =
      x.elements() == 0 ? "0"
                        : "inside ? " + load(x.dtype, writer.input(x), from, compute) + " : 0";
  writer << "const " << type_name(compute) << " v = " << value << ";\n"
         << store(out.dtype, to, kernel.at(out), "v", compute) << "\n";
  std::move(kernel).add("plain gather elements");
}

void plain_gather_nd(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View indices = lowering.view(op.inputs[1]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  const auto batch_dims = static_cast<size_t>(op.attributes.get_int("batch_dims"));
  const size_t tuple_axes = indices.shape.size() - 1;
  const auto depth = static_cast<size_t>(indices.shape.back());
  const Compute compute = compute_of(x.dtype);
  PlainKernel kernel(lowering, out.shape);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  std::string tuple = "0";
  std::string from = "place";
  std::string first_of_block = "1";
  for (size_t axis = 0; axis < tuple_axes; ++axis) {
    tuple += " + " + name("c", axis) + " * " + text(indices.strides[axis]);
    if (axis < batch_dims) from += " + " + name("c", axis) + " * " + text(x.strides[axis]);
  }
  for (size_t axis = batch_dims + depth; axis < x.shape.size(); ++axis) {
    const std::string c = name("c", tuple_axes + axis - batch_dims - depth);
    from += " + " + c + " * " + text(x.strides[axis]);
    first_of_block += " && " + c + " == 0";
  }
  resolve_tuple(lowering, writer, indices, tuple, x, batch_dims, first_of_block);
  const std::string value =
      x.elements() == 0 ? "0"
                        : "inside ? " + load(x.dtype, writer.input(x), from, compute) + " : 0";
  writer << "const " << type_name(compute) << " v = " << value << ";\n"
         << store(out.dtype, to, kernel.at(out), "v", compute) << "\n";
  std::move(kernel).add("plain gather nd");
}

// Updates of other lines never meet: a work-item goes along one line.
void plain_scatter_elements(Lowering& lowering) {
  const Op& op = lowering.op();
  const View indices = lowering.view(op.inputs[1]);
  const View updates = lowering.view(op.inputs[2]);
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  lowering.add_copy(x, out, "copy");
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  if (indices.elements() == 0) return;
  Shape lines = indices.shape;
  lines[axis] = 1;
  PlainKernel kernel(lowering, lines);
  KernelWriter& writer = kernel.writer;
  const auto along = [&](const View& view) {
    return kernel.at(without_axis(view, axis)) + " + k * " + text(view.strides[axis]);
  };
  const std::string update = load(updates.dtype, writer.input(updates), along(updates),
                                  compute_of(lowering.dtype(op.outputs[0])));
  const std::string target =
      kernel.at(without_axis(out, axis)) + " + index * " + text(out.strides[axis]);
  writer << "for (" << kernel.index() << " k = 0; k < " << text(indices.shape[axis])
         << "; ++k) {\nint inside = 1;\nlong index = " << index_at(writer, indices, along(indices))
         << ";\n"
         << resolve_index("index", out.shape[axis], "inside") << "if (!inside) { "
         << count_fault(lowering, writer, Fault::kIndex) << " continue; }\n";
  if (out.elements() > 0) writer << write_update(lowering, writer, out, update, target);
  writer << "}\n";
  std::move(kernel).add("plain scatter elements");
}

// A work-item has one element of every block.
void plain_scatter_nd(Lowering& lowering) {
  const Op& op = lowering.op();
  const View indices = lowering.view(op.inputs[1]);
  const View updates = lowering.dense(op.inputs[2], Layout::kPlain);
  const View x = lowering.view(op.inputs[0]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  lowering.add_copy(x, out, "copy");
  if (indices.elements() == 0 && indices.shape.back() != 0) return;
  const auto depth = static_cast<size_t>(indices.shape.back());
  int64_t tuples = 1;
  for (size_t i = 0; i + 1 < indices.shape.size(); ++i) tuples *= indices.shape[i];
  int64_t block = 1;
  for (size_t axis = depth; axis < out.shape.size(); ++axis) block *= out.shape[axis];
  PlainKernel kernel(lowering, {tuples == 0 ? 0 : block});
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  writer << "for (long tuple = 0; tuple < " << text(tuples) << "; ++tuple) {\n";
  std::string first = "0";
  std::string rest = "tuple";
  for (size_t axis = indices.shape.size() - 1; axis-- > 0;) {
    first +=
        " + (" + rest + " % " + text(indices.shape[axis]) + ") * " + text(indices.strides[axis]);
    rest = "(" + rest + " / " + text(indices.shape[axis]) + ")";
  }
  resolve_tuple(lowering, writer, indices, first, out, 0, "c0 == 0");
  const std::string update =
      load(updates.dtype, writer.input(updates), "tuple * " + text(block) + " + c0",
           compute_of(lowering.dtype(op.outputs[0])));
  writer << "if (!inside) continue;\n"
         << write_update(lowering, writer, out, update, "place + c0") << "}\n";
  std::move(kernel).add("plain scatter nd");
}

}  // namespace modeld::opencl
