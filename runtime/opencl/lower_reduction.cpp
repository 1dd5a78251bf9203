// Reduce* of floats: along neighbouring elements by rows, else every result by a loop over what it
// reduces, neighbouring results as vectors.
#include <optional>

#include "runtime/opencl/element_loop.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/row_kernel.h"

namespace modeld::opencl {
namespace {

struct Recipe {
  Combine combine;
  std::string element;  // of e
  std::string finish;   // of v
};

std::optional<Recipe> recipe_of(OpKind kind, int64_t count) {
  const std::string n = literal(static_cast<double>(count), Compute::kFloat);
  switch (kind) {
    case OpKind::kReduceL1:
      return Recipe{Combine::kSum, "fabs(@e@)", "v"};
    case OpKind::kReduceL2:
      return Recipe{Combine::kSum, "(@e@ * @e@)", "sqrt(v)"};
    case OpKind::kReduceMax:
      return Recipe{Combine::kMax, "@e@", "v"};
    case OpKind::kReduceMin:
      return Recipe{Combine::kMin, "@e@", "v"};
    case OpKind::kReduceMean:
      return Recipe{Combine::kSum, "@e@", "v / " + n};
    case OpKind::kReduceProd:
      return Recipe{Combine::kProduct, "@e@", "v"};
    case OpKind::kReduceSum:
      return Recipe{Combine::kSum, "@e@", "v"};
    case OpKind::kReduceSumSquare:
      return Recipe{Combine::kSum, "(@e@ * @e@)", "v"};
    default:
      return std::nullopt;
  }
}

// The reduced part of the input, and the kept part.
View with_axes(const View& view, const std::vector<bool>& reduced, bool want) {
  View part = view;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] != want) part.shape[i] = 1;
  }
  return part;
}

std::vector<size_t> all_axes(const View& view) {
  std::vector<size_t> order(view.shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

void by_rows(Lowering& lowering, const View& x, const View& kept, const View& out, int64_t length,
             const Recipe& recipe) {
  RowKernel kernel(lowering.traits(), kept.elements(), length);
  const std::string from = kernel.writer.input(x);
  const std::string to = kernel.writer.output(out);
  // Rows in the order of the output's coordinates.
  std::string start = "0";
  std::string rest = "row";
  std::string target = "0";
  for (size_t axis = kept.shape.size(); axis-- > 0;) {
    if (kept.shape[axis] == 1) continue;
    const std::string c = "(" + rest + " % " + std::to_string(kept.shape[axis]) + ")";
    start += " + " + c + " * (" + std::to_string(kept.strides[axis]) + ")";
    target += " + " + c + " * (" + std::to_string(out.strides[axis]) + ")";
    rest = "(" + rest + " / " + std::to_string(kept.shape[axis]) + ")";
  }
  kernel.writer << "const int from = " << start << ";\n";
  kernel.reduce("v", recipe.combine, [&](const std::string& k, uint32_t width) {
    return fill(recipe.element,
                {{"e", load(x.dtype, from, "from + " + k, Compute::kFloat, width)}});
  });
  kernel.once(store(out.dtype, to, target, recipe.finish, Compute::kFloat));
  lowering.add(std::move(kernel).finish(), "reduction rows");
}

void by_results(Lowering& lowering, const View& x, const View& kept, const View& out,
                const std::vector<LoopAxis>& reduced, const Recipe& recipe) {
  const ElementLoop loop(lowering.traits(), {&out, &kept},
                         loads_vectors(x.dtype) && stores_vectors(out.dtype));
  const uint32_t width = loop.width();
  KernelWriter writer;
  const std::string to = writer.output(out);
  const std::string from = writer.input(x);
  const std::string type = type_name(Compute::kFloat, width);
  std::string body = type + " v = (" + type + ")(" + identity(recipe.combine) + ");\n";
  std::string at = "i1";
  for (size_t i = 0; i < reduced.size(); ++i) {
    const std::string k = "k" + std::to_string(i);
    body += fill("for (int @k@ = 0; @k@ < @n@; ++@k@)\n",
                 {{"k", k}, {"n", std::to_string(reduced[i].extent)}});
    at += " + " + k + " * (" + std::to_string(reduced[i].strides[0]) + ")";
  }
  body += "{ const " + type + " x = " + load(x.dtype, from, at, Compute::kFloat, width) +
          "; const " + type + " e = " + fill(recipe.element, {{"e", "x"}}) +
          "; v = " + combined(recipe.combine, "v", "e") + "; }\n";
  body += "const " + type + " y = " + recipe.finish + ";\n";
  body += store(out.dtype, to, "i0", "y", Compute::kFloat, width) + "\n";
  // The element's name in the loop is x as well: keep them apart.
  lowering.add(loop.write(std::move(writer), "{\n" + body + "}\n"), "reduction");
}

}  // namespace

Result<bool> lower_reduction(Lowering& lowering) {
  const Op& op = lowering.op();
  if (!recipe_of(op.kind, 1)) return false;
  const TensorId in = op.inputs[0];
  if (compute_of(lowering.dtype(in)) != Compute::kFloat) return false;
  if (lowering.type(in).elements() == 0) return false;
  const View x = lowering.view(in);
  const Layout layout = preferred_layout(x);
  const bool same_rank = lowering.shape(op.outputs[0]).size() == x.shape.size();
  View out = lowering.define(op.outputs[0], same_rank ? layout : Layout::kPlain);
  if (x.dtype == DType::kBFloat16 || out.dtype == DType::kBFloat16 || !fits_int({&x, &out})) {
    return false;
  }
  std::vector<bool> is_reduced(x.shape.size(), false);
  int64_t count = 1;
  for (const int64_t axis : op.attributes.get_ints("axes")) {
    is_reduced[static_cast<size_t>(axis)] = true;
    count *= x.shape[static_cast<size_t>(axis)];
  }
  const Recipe recipe = *recipe_of(op.kind, count);
  const View kept = with_axes(x, is_reduced, false);
  if (!same_rank) {
    out.shape = kept.shape;
    out.strides = dense_strides(kept.shape, Layout::kPlain);
  }
  const View part = with_axes(x, is_reduced, true);
  const std::vector<LoopAxis> reduced = merged_axes(part.shape, {&part}, all_axes(part));
  if (reduced.size() == 1 && reduced[0].strides[0] == 1 && reduced[0].extent > 1) {
    by_rows(lowering, x, kept, out, reduced[0].extent, recipe);
  } else {
    by_results(lowering, x, kept, out, reduced, recipe);
  }
  return true;
}

}  // namespace modeld::opencl
