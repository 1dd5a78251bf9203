// TopK and NonMaxSuppression: what is chosen depends on the values. Both walk a list from the first
// to the last in order without sorting it: every step looks for what comes right after the one
// before.
#include <algorithm>
#include <utility>

#include "runtime/opencl/plain_kernel.h"
#include "runtime/opencl/plain_ops.h"

namespace modeld::opencl {
namespace {

// True if `a` comes before `b`: the larger (smaller) value, NaN above every number.
std::string comes_first(const std::string& a, const std::string& b, bool largest, bool real) {
  const std::string plain = a + (largest ? " > " : " < ") + b;
  if (!real) return "(" + plain + ")";
  const auto& [nan, number] = largest ? std::pair(a, b) : std::pair(b, a);
  return fill("((@a@ != @a@ || @b@ != @b@) ? (@nan@ != @nan@ && @number@ == @number@) : @plain@)",
              {{"a", a}, {"b", b}, {"nan", nan}, {"number", number}, {"plain", plain}});
}

// Finds, in `best` and `chosen` (-1: none), what follows `last` at place `at` (-1: the start); of
// equal values the lower place first. `wanted` says of `e` at `i` whether it counts at all.
std::string find_next(const std::string& type, const std::string& count, const std::string& element,
                      const std::string& wanted, bool largest, bool real) {
  return fill(
      R"CL(@type@ best = 0;
long chosen = -1;
for (long i = 0; i < @n@; ++i) {
  const @type@ e = @e@;
  if (!(@wanted@)) continue;
  if (at >= 0 && !(@after@ || (!@before@ && at < i))) continue;
  if (chosen < 0 || @better@) { best = e; chosen = i; }
}
)CL",
      {{"type", type},
       {"n", count},
       {"e", element},
       {"wanted", wanted},
       {"after", comes_first("last", "e", largest, real)},
       {"before", comes_first("e", "last", largest, real)},
       {"better", comes_first("e", "best", largest, real)}});
}

}  // namespace

void plain_top_k(Lowering& lowering) {
  const Op& op = lowering.op();
  const View x = lowering.view(op.inputs[0]);
  const View values = lowering.define(op.outputs[0], Layout::kPlain);
  const View places = lowering.define(op.outputs[1], Layout::kPlain);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  const bool largest = op.attributes.get_int("largest") != 0;
  Shape lines = x.shape;
  lines[axis] = values.shape[axis] == 0 ? 0 : 1;
  const Compute compute = compute_of(x.dtype);
  const std::string type = type_name(compute);
  PlainKernel kernel(lowering, lines);
  if (kernel.empty()) return;
  KernelWriter& writer = kernel.writer;
  const auto along = [&](const View& view, const std::string& k) {
    return kernel.at(view) + " + " + k + " * " + text(view.strides[axis]);
  };
  const std::string element = load(x.dtype, writer.input(x), along(x, "i"), compute);
  writer << type << " last = 0;\nlong at = -1;\nfor (long k = 0; k < " << text(values.shape[axis])
         << "; ++k) {\n"
         << find_next(type, text(x.shape[axis]), element, "1", largest, is_real(compute))
         << store(values.dtype, writer.output(values), along(values, "k"), "best", compute) << "\n"
         << store(DType::kInt64, writer.output(places), along(places, "k"), "chosen",
                  Compute::kSigned)
         << "\nlast = best;\nat = chosen;\n}\n";
  std::move(kernel).add("plain top k");
}

// Two kernels: every class of every batch selects for itself, then the rows are put together.
void plain_non_max_suppression(Lowering& lowering) {
  const Op& op = lowering.op();
  const View boxes = lowering.view(op.inputs[0]);
  const View scores = lowering.view(op.inputs[1]);
  const View out = lowering.define(op.outputs[0], Layout::kPlain);
  if (out.elements() == 0) return;
  const Shape& shape = scores.shape;
  const int64_t most = std::min(op.attributes.get_int("max_output"), shape[2]);
  const View selected = lowering.temporary(DType::kInt32, {shape[0], shape[1], most});
  const View counts = lowering.temporary(DType::kInt32, {shape[0], shape[1]});
  const auto scalar = [&](KernelWriter& writer, size_t input, const std::string& absent) {
    if (!has(op, input)) return absent;
    const View view = lowering.view(op.inputs[input]);
    return load(view.dtype, writer.input(view), "0", Compute::kFloat);
  };
  {
    PlainKernel kernel(lowering, {shape[0], shape[1]});
    KernelWriter& writer = kernel.writer;
    // Areas as the reference has them, where the device can.
    const std::string real = lowering.traits().has_double ? "double" : "float";
    const std::string iou = scalar(writer, 2, "0");
    const std::string least = scalar(writer, 3, "0");
    const std::string from = writer.input(boxes);
    const auto corner = [&](const std::string& box, int k) {
      return "(" + real + ")" +
             load(boxes.dtype, from,
                  "c0 * " + text(boxes.strides[0]) + " + " + box + " * " + text(boxes.strides[1]) +
                      " + " + text(k * boxes.strides[2]),
                  Compute::kFloat);
    };
    // Either two opposite corners (y, x, y, x) in any order, or centre and size (x, y, width,
    // height).
    const bool by_centre = op.attributes.get_int("center_point_box") != 0;
    const auto side = [&](const std::string& name, const std::string& box, int axis) {
      const std::string n = name + std::to_string(axis);
      const std::string low = by_centre ? "p - q / 2" : "fmin(p, q)";
      const std::string high = by_centre ? "p + q / 2" : "fmax(p, q)";
      return fill(
          "@real@ @n@l, @n@h; { const @real@ p = @p@, q = @q@; @n@l = @low@; @n@h = @high@; }\n",
          {{"real", real},
           {"n", n},
           {"p", corner(box, by_centre ? 1 - axis : axis)},
           {"q", corner(box, by_centre ? 3 - axis : axis + 2)},
           {"low", low},
           {"high", high}});
    };
    const std::string list =
        writer.output(selected) + "[(c0 * " + text(shape[1]) + " + c1) * " + text(most) + " + ";
    writer << "const float least = " << least << ";\nconst " << real << " limit = " << iou
           << ";\nint kept = 0;\nfloat last = 0;\nlong at = -1;\nwhile (kept < " << text(most)
           << ") {\n"
           << find_next("float", text(shape[2]),
                        load(scores.dtype, writer.input(scores),
                             kernel.at(View{scores.root,
                                            scores.dtype,
                                            0,
                                            {1, 1},
                                            {scores.strides[0], scores.strides[1]}}) +
                                 " + i * " + text(scores.strides[2]),
                             Compute::kFloat),
                        has(op, 3) ? "e > least" : "1", true, true)
           << "if (chosen < 0) break;\nlast = best;\nat = chosen;\n"
           << side("a", "chosen", 0) << side("a", "chosen", 1)
           << "int covered = 0;\nfor (int k = 0; k < kept && !covered; ++k) {\nconst int other = "
           << list << "k];\n"
           << side("b", "other", 0) << side("b", "other", 1)
           << fill(R"CL(const @real@ h = fmin(a0h, b0h) - fmax(a0l, b0l);
const @real@ w = fmin(a1h, b1h) - fmax(a1l, b1l);
const @real@ both = h > 0 && w > 0 ? h * w : 0;
const @real@ all = (a0h - a0l) * (a1h - a1l) + (b0h - b0l) * (b1h - b1l) - both;
covered = (both > 0 && all > 0 ? both / all : 0) > limit;
}
if (!covered) @list@kept++] = (int)chosen;
}
)CL",
                   {{"real", real}, {"list", list}})
           << writer.output(counts) << "[c0 * " << text(shape[1]) << " + c1] = kept;\n";
    std::move(kernel).add("plain non-max suppression");
  }
  PlainKernel kernel(lowering, {out.shape[0]});
  KernelWriter& writer = kernel.writer;
  const std::string to = writer.output(out);
  writer << fill(R"CL(
long batch = -1, group = -1, box = -1;
int before = 0;
for (int k = 0; k < @lists@; ++k) {
  const int count = @counts@[k];
  if (c0 >= before && c0 < before + count) {
    batch = k / @classes@;
    group = k % @classes@;
    box = @selected@[k * @most@ + (int)c0 - before];
  }
  before += count;
}
@to@[c0 * 3] = batch;
@to@[c0 * 3 + 1] = group;
@to@[c0 * 3 + 2] = box;
)CL",
                 {{"lists", text(shape[0] * shape[1])},
                  {"counts", writer.input(counts)},
                  {"classes", text(shape[1])},
                  {"selected", writer.input(selected)},
                  {"most", text(most)},
                  {"to", to}});
  std::move(kernel).add("rows of non-max suppression");
}

}  // namespace modeld::opencl
