// Pools and resizing of pictures, channels last: every output position combines the channels of a
// few input positions.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/opencl/kernel_text.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/resize_tables.h"
#include "runtime/opencl/row_kernel.h"

namespace modeld::opencl {
namespace {

std::string text(int64_t value) {
  return "(" + std::to_string(value) + ")";
}

// A kernel over lanes of channels and rows of positions; inside, `c` is the first channel, `oy` and
// `ox` the output position, `b` the image.
class PictureKernel {
 public:
  PictureKernel(const Traits& traits, const View& out) : traits_(traits), out_(out) {
    width_ = traits.vector;
    const int64_t channels = out.shape[1];
    while (width_ > 4 && width_ > channels) width_ /= 2;
    if (width_ > channels) width_ = 1;
    lanes_ = (channels + width_ - 1) / width_;
    columns_per_item_ = traits.group == 1 ? out.shape[3] : 1;
    writer << fill(R"CL(const int lane = (int)get_global_id(0);
if (lane >= @lanes@) return;
const int c = min(lane * @width@, @last@);
const int oy = (int)get_global_id(1) % @rows@, b = (int)get_global_id(1) / @rows@;
for (int ox = (int)get_global_id(2) * @per@; ox < min(((int)get_global_id(2) + 1) * @per@, @columns@); ++ox) {
)CL",
                   {{"lanes", std::to_string(lanes_)},
                    {"width", std::to_string(width_)},
                    {"last", std::to_string(channels - width_)},
                    {"rows", std::to_string(out.shape[2])},
                    {"columns", std::to_string(out.shape[3])},
                    {"per", std::to_string(columns_per_item_)}});
  }

  uint32_t width() const { return width_; }
  std::string type() const { return type_name(Compute::kFloat, width_); }
  std::string at(const View& view, const std::string& y, const std::string& x) const {
    return "b * " + text(view.strides[0]) + " + (" + y + ") * " + text(view.strides[2]) + " + (" +
           x + ") * " + text(view.strides[3]) + " + c";
  }

  Launch finish(const std::string& value) && {
    writer << store(out_.dtype, writer.output(out_), at(out_, "oy", "ox"), value, Compute::kFloat,
                    width_)
           << "\n}\n";
    Launch launch = std::move(writer).finish();
    const auto group = static_cast<size_t>(std::min<int64_t>(traits_.group, lanes_));
    launch.local[0] = group;
    launch.global = {
        (static_cast<size_t>(lanes_) + group - 1) / group * group,
        static_cast<size_t>(out_.shape[0] * out_.shape[2]),
        static_cast<size_t>((out_.shape[3] + columns_per_item_ - 1) / columns_per_item_)};
    return launch;
  }

  KernelWriter writer;

 private:
  const Traits& traits_;
  const View& out_;
  uint32_t width_ = 1;
  int64_t lanes_ = 1;
  int64_t columns_per_item_ = 1;
};

bool lower_pool(Lowering& lowering, const Op& op) {
  const bool average = op.kind == OpKind::kAveragePool;
  const bool count_padding = op.attributes.get_int("count_include_pad", 0) != 0;
  const auto kernel = op.attributes.get_ints("kernel_shape");
  const auto strides = op.attributes.get_ints("strides");
  const auto pads = op.attributes.get_ints("pads");
  const auto dilations = op.attributes.get_ints("dilations");
  const View x = lowering.dense(op.inputs[0], Layout::kChannelsLast);
  const View out = lowering.define(op.outputs[0], Layout::kChannelsLast);
  if (!loads_vectors(x.dtype) || !stores_vectors(out.dtype) || !fits_int({&x, &out})) return false;
  PictureKernel picture(lowering.traits(), out);
  KernelWriter& w = picture.writer;
  const std::string from = w.input(x);
  const std::string start = average ? "0.0f" : "-INFINITY";
  w << picture.type() << " v = (" << picture.type() << ")(" << start << ");\n";
  const char* const axis_names[] = {"y", "x"};
  for (size_t i = 0; i < 2; ++i) {
    // Taps [low, high) lie inside the input; `count` of them inside what is averaged.
    w << fill(
        R"CL(const int s@a@ = o@a@ * @stride@ - @pad@;
const int low@a@ = s@a@ >= 0 ? 0 : min(@k@, (-s@a@ + @d@ - 1) / @d@);
const int high@a@ = s@a@ >= @n@ ? low@a@ : max(low@a@, min(@k@, (@n@ - s@a@ + @d@ - 1) / @d@));
const int count@a@ = @count@;
)CL",
        {{"a", axis_names[i]},
         {"stride", text(strides[i])},
         {"pad", text(pads[i])},
         {"k", std::to_string(kernel[i])},
         {"d", std::to_string(dilations[i])},
         {"n", std::to_string(x.shape[i + 2])},
         {"count", count_padding ? fill("clamp((@room@ - s@a@ + @d@ - 1) / @d@, 0, @k@)",
                                        {{"room", std::to_string(x.shape[i + 2] + pads[2 + i])},
                                         {"a", axis_names[i]},
                                         {"d", std::to_string(dilations[i])},
                                         {"k", std::to_string(kernel[i])}})
                                 : fill("high@a@ - low@a@", {{"a", axis_names[i]}})}});
  }
  w << "for (int ty = lowy; ty < highy; ++ty)\nfor (int tx = lowx; tx < highx; ++tx) {\n"
    << "const " << picture.type() << " e = "
    << load(x.dtype, from,
            picture.at(x, "sy + ty * " + text(dilations[0]), "sx + tx * " + text(dilations[1])),
            Compute::kFloat, picture.width())
    << ";\nv = " << (average ? "v + e" : combined(Combine::kMax, "v", "e")) << ";\n}\n";
  lowering.add(std::move(picture).finish(average ? "v / (float)(county * countx)" : "v"),
               average ? "average pool" : "max pool");
  return true;
}

bool lower_resize(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const Shape& shape = lowering.shape(op.outputs[0]);
  if (in[0] != shape[0] || in[1] != shape[1]) return false;
  const auto plans = reference::plan_resize(op.attributes, in, shape);
  for (const auto& plan : plans) {
    for (const auto& sample : plan.samples) {
      if (sample.outside) return false;
    }
  }
  const View x = lowering.dense(op.inputs[0], Layout::kChannelsLast);
  const View out = lowering.define(op.outputs[0], Layout::kChannelsLast);
  if (!loads_vectors(x.dtype) || !stores_vectors(out.dtype) || !fits_int({&x, &out})) return false;
  const ResizeTables rows = resize_tables(lowering, plans[2]);
  const ResizeTables columns = resize_tables(lowering, plans[3]);
  PictureKernel picture(lowering.traits(), out);
  KernelWriter& w = picture.writer;
  const std::string from = w.input(x);
  w << fill(R"CL(@type@ v = (@type@)(0.0f);
for (int ty = 0; ty < @rows@; ++ty)
for (int tx = 0; tx < @columns@; ++tx) {
const int r = oy * @rows@ + ty, q = ox * @columns@ + tx;
const float weight = @wy@[r] * @wx@[q];
if (weight != 0.0f) v += weight * @value@;
}
)CL",
            {{"type", picture.type()},
             {"rows", std::to_string(rows.taps)},
             {"columns", std::to_string(columns.taps)},
             {"wy", w.input(rows.weights)},
             {"wx", w.input(columns.weights)},
             {"value",
              load(x.dtype, from,
                   picture.at(x, w.input(rows.indices) + "[r]", w.input(columns.indices) + "[q]"),
                   Compute::kFloat, picture.width())}});
  lowering.add(std::move(picture).finish("v"), "resize");
  return true;
}

}  // namespace

Result<bool> lower_window(Lowering& lowering) {
  const Op& op = lowering.op();
  // Places of the largest are the plain form's.
  const bool pool =
      op.kind == OpKind::kAveragePool || (op.kind == OpKind::kMaxPool && op.outputs.size() == 1);
  if (!pool && op.kind != OpKind::kResize) return false;
  const TensorId in = op.inputs[0];
  if (lowering.shape(in).size() != 4 || lowering.type(in).elements() == 0 ||
      lowering.type(op.outputs[0]).elements() == 0 || !is_float(lowering.dtype(in)) ||
      compute_of(lowering.dtype(in)) != Compute::kFloat) {
    return false;
  }
  return pool ? lower_pool(lowering, op) : lower_resize(lowering, op);
}

}  // namespace modeld::opencl
