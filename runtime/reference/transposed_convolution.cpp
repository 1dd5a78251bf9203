// ConvTranspose: every input element scatters the kernel into one output plane at a time.
#include <algorithm>
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

class TransposedConvolution final : public Kernel {
 public:
  explicit TransposedConvolution(const KernelSpec& spec)
      : dtype_(spec.in(0).dtype),
        window_(Window::of(spec.attributes, spatial(spec.in(1).shape), spatial(spec.in(0).shape),
                           spatial(spec.out().shape))),
        activation_(activation_function(spec.attributes)),
        has_bias_(spec.has(2)),
        batches_(spec.in(0).shape[0]),
        groups_(spec.attributes.get_int("group")),
        in_channels_(spec.in(0).shape[1] / groups_),
        out_channels_(spec.out().shape[1] / groups_),
        input_(static_cast<size_t>(in_channels_ * window_.dense_elements())),
        weights_(static_cast<size_t>(window_.taps())),
        sum_(static_cast<size_t>(window_.strided_elements())) {}

  void run(const KernelIo& io) override {
    for (int64_t n = 0; n < batches_; ++n) {
      for (int64_t g = 0; g < groups_; ++g) run_group(io, n, g);
    }
  }

 private:
  size_t bytes(size_t elements) const { return elements * size_of(dtype_); }

  void run_group(const KernelIo& io, int64_t n, int64_t g) {
    const auto group = static_cast<size_t>(n * groups_ + g);
    load(dtype_, io.inputs[0] + bytes(group * input_.size()), input_.data(), input_.size());
    for (int64_t m = 0; m < out_channels_; ++m) {
      double bias = 0;
      const auto channel = static_cast<size_t>(g * out_channels_ + m);
      if (has_bias_) load(dtype_, io.inputs[2] + bytes(channel), &bias, 1);
      std::fill(sum_.begin(), sum_.end(), bias);
      for (int64_t c = 0; c < in_channels_; ++c) add_channel(io.inputs[1], g, m, c);
      for (double& value : sum_) value = activation_(value);
      const size_t plane = group * static_cast<size_t>(out_channels_) + static_cast<size_t>(m);
      store(dtype_, sum_.data(), io.outputs[0] + bytes(plane * sum_.size()), sum_.size());
    }
  }

  // Weights are (in, out / group, kernel).
  void add_channel(const std::byte* weights, int64_t g, int64_t m, int64_t c) {
    const auto row = static_cast<size_t>((g * in_channels_ + c) * out_channels_ + m);
    load(dtype_, weights + bytes(row * weights_.size()), weights_.data(), weights_.size());
    const double* in = input_.data() + c * window_.dense_elements();
    double* sum = sum_.data();
    const int64_t stride = window_.row_stride();
    window_.for_each_row([&](int64_t tap, int64_t dense, int64_t strided, int64_t count) {
      const double weight = weights_[static_cast<size_t>(tap)];
      for (int64_t i = 0; i < count; ++i) sum[strided + i * stride] += weight * in[dense + i];
    });
  }

  const DType dtype_;
  const Window window_;
  const RealFunction activation_;
  const bool has_bias_;
  const int64_t batches_;
  const int64_t groups_;
  const int64_t in_channels_;   // of one group
  const int64_t out_channels_;  // of one group
  std::vector<double> input_;   // the channels of one group
  std::vector<double> weights_;
  std::vector<double> sum_;
};

}  // namespace

KernelPointer make_transposed_convolution_kernel(const KernelSpec& spec) {
  return std::make_unique<TransposedConvolution>(spec);
}

}  // namespace modeld::reference
