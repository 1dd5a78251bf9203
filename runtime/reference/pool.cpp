// MaxPool and AveragePool, plane by plane. Double holds every element of their types exactly.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/wide.h"
#include "runtime/reference/window.h"

namespace modeld::reference {
namespace {

Shape spatial(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

// How many elements each output position averages. With count_include_pad the padding counts, but
// not what a ceil_mode window reaches beyond it.
std::vector<double> counts_of(const KernelSpec& spec) {
  const Shape in = spatial(spec.in(0).shape);
  const Shape out = spatial(spec.out().shape);
  const auto kernel = spec.attributes.get_ints("kernel_shape");
  Attributes attributes = spec.attributes;
  Shape extent = in;
  if (spec.attributes.get_int("count_include_pad") != 0) {
    const auto pads = spec.attributes.get_ints("pads");
    for (size_t i = 0; i < extent.size(); ++i) extent[i] += pads[i] + pads[extent.size() + i];
    attributes.set("pads", std::vector<int64_t>(pads.size(), 0));
  }
  const Window window = Window::of(attributes, kernel, out, extent);
  std::vector<double> counts(static_cast<size_t>(window.dense_elements()), 0);
  window.for_each_row([&](int64_t, int64_t dense, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) counts[static_cast<size_t>(dense + i)] += 1;
  });
  return counts;
}

class Pool final : public Kernel {
 public:
  explicit Pool(const KernelSpec& spec)
      : average_(spec.kind == OpKind::kAveragePool),
        dtype_(spec.in(0).dtype),
        window_(Window::of(spec.attributes, spec.attributes.get_ints("kernel_shape"),
                           spatial(spec.out().shape), spatial(spec.in(0).shape))),
        planes_(static_cast<size_t>(spec.in(0).shape[0] * spec.in(0).shape[1])),
        input_(static_cast<size_t>(window_.strided_elements())),
        result_(static_cast<size_t>(window_.dense_elements())) {
    if (average_) counts_ = counts_of(spec);
    if (spec.outputs.size() > 1) {
      places_.resize(result_.size());
      numbering_ = numbering_of(spec);
    }
  }

  void run(const KernelIo& io) override {
    const size_t size = size_of(dtype_);
    for (size_t plane = 0; plane < planes_; ++plane) {
      load(dtype_, io.inputs[0] + plane * input_.size() * size, input_.data(), input_.size());
      if (average_) {
        run_average();
      } else {
        run_max();
      }
      store(dtype_, result_.data(), io.outputs[0] + plane * result_.size() * size, result_.size());
      if (places_.empty()) continue;
      for (int64_t& place : places_) {
        const auto at = static_cast<size_t>(std::max<int64_t>(place, 0));
        place = static_cast<int64_t>(plane * input_.size()) + numbering_[at];
      }
      store(DType::kInt64, places_.data(), io.outputs[1] + plane * places_.size() * sizeof(int64_t),
            places_.size());
    }
  }

 private:
  // What the indices call each element of a plane: its place in C order, or in Fortran order.
  static std::vector<int64_t> numbering_of(const KernelSpec& spec) {
    const Shape shape = spatial(spec.in(0).shape);
    const bool columns = spec.attributes.get_string("indices") == "column_major";
    std::vector<int64_t> numbers;
    std::vector<int64_t> index(shape.size(), 0);
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t number = 0;
      for (size_t i = shape.size(); columns && i-- > 0;) number = number * shape[i] + index[i];
      numbers.push_back(columns ? number : flat);
      for (size_t i = shape.size(); i-- > 0;) {
        if (++index[i] < shape[i]) break;
        index[i] = 0;
      }
    }
    return numbers;
  }

  void run_max() {
    std::fill(result_.begin(), result_.end(), -std::numeric_limits<double>::infinity());
    std::fill(places_.begin(), places_.end(), -1);
    const int64_t stride = window_.row_stride();
    window_.for_each_row([&](int64_t, int64_t dense, int64_t strided, int64_t count) {
      double* out = result_.data() + dense;
      const double* in = input_.data() + strided;
      if (!places_.empty()) note_places(out, dense, strided, count);
      for (int64_t i = 0; i < count; ++i) out[i] = larger(out[i], in[i * stride]);
    });
  }

  // Where a tap replaces the largest so far; of equal elements the first stays.
  void note_places(const double* best, int64_t dense, int64_t strided, int64_t count) {
    const int64_t stride = window_.row_stride();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = strided + i * stride;
      const double x = input_[static_cast<size_t>(at)];
      int64_t& place = places_[static_cast<size_t>(dense + i)];
      if (place < 0 || x > best[i] || (std::isnan(x) && !std::isnan(best[i]))) place = at;
    }
  }

  void run_average() {
    std::fill(result_.begin(), result_.end(), 0.0);
    const int64_t stride = window_.row_stride();
    window_.for_each_row([&](int64_t, int64_t dense, int64_t strided, int64_t count) {
      double* out = result_.data() + dense;
      const double* in = input_.data() + strided;
      for (int64_t i = 0; i < count; ++i) out[i] += in[i * stride];
    });
    for (size_t i = 0; i < result_.size(); ++i) result_[i] /= counts_[i];
  }

  const bool average_;
  const DType dtype_;
  const Window window_;
  const size_t planes_;
  std::vector<double> input_;
  std::vector<double> result_;
  std::vector<double> counts_;
  std::vector<int64_t> places_;     // of the largest elements; empty unless asked for
  std::vector<int64_t> numbering_;  // of a plane's elements
};

}  // namespace

KernelPointer make_pool_kernel(const KernelSpec& spec) {
  return std::make_unique<Pool>(spec);
}

}  // namespace modeld::reference
