#include "runtime/opencl/element_loop.h"

#include <algorithm>

namespace modeld::opencl {
namespace {

// Work-items are this many, at least, where there is work: a processor's cores share them evenly.
constexpr int64_t kItemsWanted = 64;
// Scalars weigh less than vectors.
constexpr int64_t kScalarsPerVector = 16;

// Axes of a view from the outermost in memory to the innermost.
std::vector<size_t> memory_order(const View& view) {
  std::vector<size_t> order(view.shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return view.strides[a] > view.strides[b]; });
  return order;
}

}  // namespace

ElementLoop::ElementLoop(const Traits& traits, const std::vector<const View*>& views, bool vectors)
    : traits_(traits),
      axes_(merged_axes(views[0]->shape, views, memory_order(*views[0]))),
      index_(fits_int(views) ? "int" : "long"),
      views_(views.size()) {
  if (axes_.empty()) axes_.push_back({1, std::vector<int64_t>(views.size(), 1)});
  const LoopAxis& inner = axes_.back();
  vectors = vectors && inner.strides[0] == 1;
  for (const int64_t stride : inner.strides) vectors = vectors && (stride == 0 || stride == 1);
  if (!vectors) return;
  width_ = traits.vector;
  while (width_ > 1 && width_ > inner.extent) width_ /= 2;
  if (width_ == 2) width_ = 1;
}

std::string ElementLoop::offset_of(size_t view) const {
  std::string text;
  for (size_t axis = 0; axis + 1 < axes_.size(); ++axis) {
    const int64_t stride = axes_[axis].strides[view];
    if (stride != 0) text += "a" + std::to_string(axis) + " * (" + std::to_string(stride) + ") + ";
  }
  return text;
}

Launch ElementLoop::write(KernelWriter writer, const std::string& body) const {
  const LoopAxis& inner = axes_.back();
  const int64_t blocks = (inner.extent + width_ - 1) / width_;
  int64_t outer = 1;
  for (size_t axis = 0; axis + 1 < axes_.size(); ++axis) outer *= axes_[axis].extent;
  const int64_t total = blocks * outer;
  const int64_t most = traits_.vectors_per_item * (width_ == 1 ? kScalarsPerVector : 1);
  const int64_t per_item = std::clamp<int64_t>(total / kItemsWanted, 1, most);
  const int64_t items = (total + per_item - 1) / per_item;

  writer << fill(
      R"CL(const @idx@ first = (@idx@)get_global_id(0) * @per@;
const @idx@ last = min(first + @per@, (@idx@)@total@);
for (@idx@ t = first; t < last; ++t) {
)CL",
      {{"idx", index_}, {"per", std::to_string(per_item)}, {"total", std::to_string(total)}});
  std::string x = "t";
  if (axes_.size() > 1) {
    writer << index_ << " r = t / " << std::to_string(blocks) << ";\n";
    for (size_t axis = axes_.size() - 1; axis-- > 0;) {
      const std::string extent = std::to_string(axes_[axis].extent);
      writer << "const " << index_ << " a" << std::to_string(axis) << " = r";
      if (axis > 0) writer << " % " << extent << "; r /= " << extent;
      writer << ";\n";
    }
    x = blocks == 1 ? "0" : "t % " + std::to_string(blocks);
  }
  if (width_ > 1) {
    // The last vector of a row begins where it still fits: some elements are computed twice.
    x = fill("min((@idx@)((@x@) * @w@), (@idx@)@last@)",
             {{"idx", index_},
              {"x", x},
              {"w", std::to_string(width_)},
              {"last", std::to_string(inner.extent - width_)}});
  }
  writer << "const " << index_ << " x = " << x << ";\n";
  for (size_t k = 0; k < views_; ++k) {
    writer << "const " << index_ << " i" << std::to_string(k) << " = " << offset_of(k) << "x * ("
           << std::to_string(inner.strides[k]) << ");\n";
  }
  writer << body << "}\n";
  Launch launch = std::move(writer).finish();
  const auto group = static_cast<size_t>(std::min<int64_t>(traits_.group, items));
  launch.local[0] = group;
  launch.global[0] = (static_cast<size_t>(items) + group - 1) / group * group;
  return launch;
}

}  // namespace modeld::opencl
