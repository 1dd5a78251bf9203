// Resize: each output element is a weighted sum of input elements, the weights a product over the
// axes.
#include <algorithm>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/resize_taps.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

constexpr int64_t kMaxAxis = int64_t{1} << 24;

class Resize final : public Kernel {
 public:
  explicit Resize(const KernelSpec& spec)
      : dtype_(spec.in(0).dtype),
        extrapolation_(spec.attributes.get_float("extrapolation_value")),
        shape_(spec.out().shape),
        plans_(plan_resize(spec.attributes, spec.in(0).shape, shape_)),
        input_(static_cast<size_t>(spec.in(0).elements())),
        index_(shape_.size()) {
    count_ = static_cast<size_t>(spec.out().elements());
  }

  void run(const KernelIo& io) override {
    load(dtype_, io.inputs[0], input_.data(), input_.size());
    std::fill(index_.begin(), index_.end(), 0);
    double row[kChunk];
    for (size_t at = 0; at < count_; at += kChunk) {
      const size_t length = std::min(kChunk, count_ - at);
      for (size_t i = 0; i < length; ++i) {
        row[i] = outside() ? extrapolation_ : weighted_sum(0, 0);
        advance();
      }
      store(dtype_, row, io.outputs[0] + at * size_of(dtype_), length);
    }
  }

 private:
  bool outside() const {
    for (size_t axis = 0; axis < plans_.size(); ++axis) {
      if (plans_[axis].samples[index_[axis]].outside) return true;
    }
    return false;
  }

  double weighted_sum(size_t axis, int64_t flat) const {
    if (axis == plans_.size()) return input_[static_cast<size_t>(flat)];
    const ResizeAxisPlan& plan = plans_[axis];
    const ResizeSample& sample = plan.samples[index_[axis]];
    const int64_t base = flat * plan.extent;
    double sum = 0;
    for (const ResizeTap& tap : sample.taps) {
      // A tap without weight must not turn an infinity elsewhere into NaN.
      if (tap.weight != 0) sum += tap.weight * weighted_sum(axis + 1, base + tap.index);
    }
    return sum;
  }

  void advance() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      if (++index_[axis] < static_cast<size_t>(shape_[axis])) return;
      index_[axis] = 0;
    }
  }

  const DType dtype_;
  const double extrapolation_;
  const Shape shape_;
  std::vector<ResizeAxisPlan> plans_;
  std::vector<double> input_;
  std::vector<size_t> index_;
  size_t count_ = 0;
};

}  // namespace

Result<KernelPointer> make_resize_kernel(const KernelSpec& spec) {
  for (const int64_t extent : spec.out().shape) {
    if (extent <= kMaxAxis) continue;
    return Error(ErrorCode::kUnsupported, "reference: Resize")
        .expecting("axes of at most " + std::to_string(kMaxAxis), std::to_string(extent));
  }
  return KernelPointer(std::make_unique<Resize>(spec));
}

}  // namespace modeld::reference
