// Ops that move elements. Most are a view of memory there is; the rest copy.
#include <algorithm>

#include "runtime/opencl/lowering.h"

namespace modeld::opencl {
namespace {

void lower_reshape(Lowering& lowering, const Op& op) {
  const Shape& shape = lowering.shape(op.outputs[0]);
  View view;
  if (!reshape_view(lowering.view(op.inputs[0]), shape, view)) {
    view = lowering.dense(op.inputs[0], Layout::kPlain);
    view.shape = shape;
    view.strides = dense_strides(shape, Layout::kPlain);
  }
  lowering.define_view(op.outputs[0], std::move(view));
}

void lower_transpose(Lowering& lowering, const Op& op) {
  const View in = lowering.view(op.inputs[0]);
  const std::vector<int64_t> perm = op.attributes.get_ints("perm");
  View out = in;
  for (size_t i = 0; i < perm.size(); ++i) {
    out.shape[i] = in.shape[static_cast<size_t>(perm[i])];
    out.strides[i] = in.strides[static_cast<size_t>(perm[i])];
  }
  lowering.define_view(op.outputs[0], std::move(out));
}

View part_of(const View& whole, const Shape& shape, const std::vector<int64_t>& starts,
             const std::vector<int64_t>& steps) {
  View part = whole;
  part.shape = shape;
  if (part.elements() == 0) return part;
  for (size_t i = 0; i < shape.size(); ++i) {
    part.offset += starts[i] * whole.strides[i];
    part.strides[i] = whole.strides[i] * steps[i];
  }
  return part;
}

void lower_slice(Lowering& lowering, const Op& op) {
  lowering.define_view(op.outputs[0],
                       part_of(lowering.view(op.inputs[0]), lowering.shape(op.outputs[0]),
                               op.attributes.get_ints("starts"), op.attributes.get_ints("steps")));
}

void lower_split(Lowering& lowering, const Op& op) {
  const View whole = lowering.view(op.inputs[0]);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  std::vector<int64_t> starts(whole.shape.size(), 0);
  const std::vector<int64_t> steps(whole.shape.size(), 1);
  for (const TensorId out : op.outputs) {
    lowering.define_view(out, part_of(whole, lowering.shape(out), starts, steps));
    starts[axis] += lowering.shape(out)[axis];
  }
}

// Every input is computed or copied straight into its part of the output.
void lower_concat(Lowering& lowering, const Op& op) {
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  int64_t channels_last = 0;
  for (const TensorId in : op.inputs) {
    if (lowering.is_constant(in)) continue;
    const int64_t elements = lowering.type(in).elements();
    channels_last += lowering.layout_of(in) == Layout::kChannelsLast ? elements : -elements;
  }
  const Layout layout = channels_last > 0 ? Layout::kChannelsLast : Layout::kPlain;
  const View whole = lowering.define(op.outputs[0], layout);
  std::vector<int64_t> starts(whole.shape.size(), 0);
  const std::vector<int64_t> steps(whole.shape.size(), 1);
  for (const TensorId in : op.inputs) {
    lowering.compute_into(in, part_of(whole, lowering.shape(in), starts, steps));
    starts[axis] += lowering.shape(in)[axis];
  }
}

void lower_expand(Lowering& lowering, const Op& op) {
  lowering.define_view(op.outputs[0],
                       broadcast(lowering.view(op.inputs[0]), lowering.shape(op.outputs[0])));
}

// Each axis is two: the repetition and the input's own.
void lower_tile(Lowering& lowering, const Op& op) {
  View from = lowering.view(op.inputs[0]);
  const std::vector<int64_t> repeats = op.attributes.get_ints("repeats");
  View to = lowering.define(op.outputs[0], preferred_layout(from));
  const View in = from;
  const View out = to;
  for (View* view : {&from, &to}) {
    view->shape.clear();
    view->strides.clear();
  }
  for (size_t i = 0; i < repeats.size(); ++i) {
    for (View* view : {&from, &to}) {
      view->shape.push_back(repeats[i]);
      view->shape.push_back(in.shape[i]);
    }
    from.strides.push_back(0);
    from.strides.push_back(in.strides[i]);
    to.strides.push_back(in.shape[i] * out.strides[i]);
    to.strides.push_back(out.strides[i]);
  }
  lowering.add_copy(from, to, "tile");
}

std::string product_text(const std::string& name, int64_t factor) {
  return name + " * (" + std::to_string(factor) + ")";
}

// out[i] = in[source(i)], or the fill value; one work-item per element.
void lower_pad(Lowering& lowering, const Op& op) {
  const View from = lowering.view(op.inputs[0]);
  const View to = lowering.define(op.outputs[0], preferred_layout(from));
  const int64_t count = to.elements();
  if (count == 0) return;
  const std::string mode = op.attributes.get_string("mode");
  const std::vector<int64_t> pads = op.attributes.get_ints("pads");
  const std::string idx = fits_int({&from, &to}) ? "int" : "long";
  KernelWriter writer;
  const std::string out = writer.output(to);
  const std::string in = writer.input(from);
  writer << idx << " r = (" << idx << ")get_global_id(0);\n";
  writer << "if (r >= " << std::to_string(count) << ") return;\n";
  writer << idx << " from = 0, to = 0, at; int inside = 1;\n";
  // Innermost in memory first.
  std::vector<size_t> order = storage_order(to.shape.size(), preferred_layout(to));
  std::reverse(order.begin(), order.end());
  for (const size_t axis : order) {
    const std::string extent = std::to_string(from.shape[axis]);
    writer << fill("at = r % @out@; r /= @out@; to += @to@; at -= @before@;\n",
                   {{"out", std::to_string(to.shape[axis])},
                    {"to", product_text("at", to.strides[axis])},
                    {"before", std::to_string(pads[axis])}});
    if (mode == "constant") {
      writer << fill("inside &= at >= 0 && at < @n@;\n", {{"n", extent}});
    } else if (mode == "reflect") {
      writer << fill("at = at < 0 ? -at : (at >= @n@ ? 2 * (@n@ - 1) - at : at);\n",
                     {{"n", extent}});
    } else if (mode == "edge") {
      writer << fill("at = clamp(at, (@i@)0, (@i@)(@n@ - 1));\n", {{"n", extent}, {"i", idx}});
    } else {
      writer << fill("at = (at % @n@ + @n@) % @n@;\n", {{"n", extent}});
    }
    writer << "from += " << product_text("at", from.strides[axis]) << ";\n";
  }
  const Compute compute = compute_of(from.dtype);
  const double value = op.attributes.get_float("value");
  // The fill value is converted as a cast would.
  const std::string filled = is_real(compute) ? literal(value, compute)
                                              : converted(literal(value, Compute::kFloat),
                                                          Compute::kFloat, compute, from.dtype);
  writer << type_name(compute) << " v = " << filled << ";\n";
  writer << "if (inside) v = " << load(from.dtype, in, "from", compute) << ";\n";
  writer << store(to.dtype, out, "to", "v", compute) << "\n";
  Launch launch = std::move(writer).finish();
  const size_t group = 64;
  launch.local[0] = group;
  launch.global[0] = (static_cast<size_t>(count) + group - 1) / group * group;
  lowering.add(std::move(launch), "pad");
}

void lower_gather(Lowering& lowering, const Op& op) {
  const View from = lowering.view(op.inputs[0]);
  const View index = lowering.dense(op.inputs[1], Layout::kPlain);
  const View to = lowering.define(op.outputs[0], Layout::kPlain);
  const int64_t count = to.elements();
  if (count == 0) return;
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  int64_t inner = 1;
  for (size_t i = axis + 1; i < from.shape.size(); ++i) inner *= from.shape[i];
  const int64_t indices = index.elements();
  const std::string idx = fits_int({&from, &to}) ? "int" : "long";
  KernelWriter writer;
  const std::string out = writer.output(to);
  const std::string in = writer.input(from);
  const std::string at = writer.input(index);
  const std::string flags = writer.flags(lowering.flags());
  writer << fill(R"CL(const @idx@ e = (@idx@)get_global_id(0);
if (e >= @count@) return;
@idx@ r = e / @inner@;
const @idx@ k = r % @indices@;
const @idx@ outer = r / @indices@;
long chosen = (long)@at@[k];
if (chosen < 0) chosen += @extent@;
const int inside = chosen >= 0 && chosen < @extent@;
if (!inside && outer == 0 && e % @inner@ == 0) atomic_inc(&@flags@[0]);
@idx@ from = 0;
r = e % @inner@;
)CL",
                 {{"idx", idx},
                  {"count", std::to_string(count)},
                  {"inner", std::to_string(inner)},
                  {"indices", std::to_string(indices)},
                  {"extent", std::to_string(from.shape[axis])},
                  {"at", at},
                  {"flags", flags}});
  const auto step = [&](size_t i) {
    writer << fill("from += (r % @n@) * (@s@); r /= @n@;\n",
                   {{"n", std::to_string(from.shape[i])}, {"s", std::to_string(from.strides[i])}});
  };
  for (size_t i = from.shape.size(); i-- > axis + 1;) step(i);
  writer << "from += (" << idx << ")chosen * (" << std::to_string(from.strides[axis])
         << ");\nr = outer;\n";
  for (size_t i = axis; i-- > 0;) step(i);
  const Compute compute = compute_of(from.dtype);
  writer << type_name(compute)
         << " v = 0;\nif (inside) v = " << load(from.dtype, in, "from", compute) << ";\n"
         << store(to.dtype, out, "e", "v", compute) << "\n";
  Launch launch = std::move(writer).finish();
  const size_t group = 64;
  launch.local[0] = group;
  launch.global[0] = (static_cast<size_t>(count) + group - 1) / group * group;
  lowering.add(std::move(launch), "gather");
}

}  // namespace

Result<bool> lower_move(Lowering& lowering) {
  const Op& op = lowering.op();
  switch (op.kind) {
    case OpKind::kReshape:
      lower_reshape(lowering, op);
      return true;
    case OpKind::kTranspose:
      lower_transpose(lowering, op);
      return true;
    case OpKind::kSlice:
      lower_slice(lowering, op);
      return true;
    case OpKind::kSplit:
      lower_split(lowering, op);
      return true;
    case OpKind::kConcat:
      lower_concat(lowering, op);
      return true;
    case OpKind::kExpand:
      lower_expand(lowering, op);
      return true;
    case OpKind::kTile:
      lower_tile(lowering, op);
      return true;
    case OpKind::kPad:
      lower_pad(lowering, op);
      return true;
    case OpKind::kGather:
      lower_gather(lowering, op);
      return true;
    default:
      return false;
  }
}

}  // namespace modeld::opencl
