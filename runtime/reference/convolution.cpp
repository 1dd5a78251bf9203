// Conv and ConvTranspose: one output plane at a time, accumulated in double.
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

class Convolution final : public Kernel {
 public:
  explicit Convolution(const KernelSpec& spec)
      : transposed_(spec.kind == OpKind::kConvTranspose),
        dtype_(spec.in(0).dtype),
        window_(window_of(spec)),
        activation_(activation_function(spec.attributes)),
        batches_(spec.in(0).shape[0]),
        groups_(spec.attributes.get_int("group")),
        in_channels_(spec.in(0).shape[1] / groups_),
        out_channels_(spec.out().shape[1] / groups_),
        in_plane_(transposed_ ? window_.dense_elements() : window_.strided_elements()),
        out_plane_(transposed_ ? window_.strided_elements() : window_.dense_elements()),
        input_(static_cast<size_t>(in_channels_ * in_plane_)),
        weights_(static_cast<size_t>(window_.taps())),
        sum_(static_cast<size_t>(out_plane_)),
        residual_(spec.has(3) ? sum_.size() : 0) {}

  void run(const KernelIo& io) override {
    for (int64_t n = 0; n < batches_; ++n) {
      for (int64_t g = 0; g < groups_; ++g) run_group(io, n, g);
    }
  }

 private:
  static Window window_of(const KernelSpec& spec) {
    const Shape kernel = spatial(spec.in(1).shape);
    const Shape in = spatial(spec.in(0).shape);
    const Shape out = spatial(spec.out().shape);
    const bool transposed = spec.kind == OpKind::kConvTranspose;
    return transposed ? Window::of(spec.attributes, kernel, in, out)
                      : Window::of(spec.attributes, kernel, out, in);
  }

  int64_t bytes(int64_t elements) const { return elements * static_cast<int64_t>(size_of(dtype_)); }

  void run_group(const KernelIo& io, int64_t n, int64_t g) {
    const int64_t first_in = (n * groups_ + g) * in_channels_ * in_plane_;
    load(dtype_, io.inputs[0] + bytes(first_in), input_.data(), input_.size());
    for (int64_t m = 0; m < out_channels_; ++m) {
      start_plane(io, g * out_channels_ + m);
      for (int64_t c = 0; c < in_channels_; ++c) add_channel(io.inputs[1], g, m, c);
      finish_plane(io, (n * groups_ + g) * out_channels_ + m);
    }
  }

  void start_plane(const KernelIo& io, int64_t channel) {
    double bias = 0;
    const bool has_bias = io.inputs.size() > 2 && io.inputs[2] != nullptr;
    if (has_bias) load(dtype_, io.inputs[2] + bytes(channel), &bias, 1);
    std::fill(sum_.begin(), sum_.end(), bias);
  }

  // Weights are (out, in / group, kernel) of a Conv, (in, out / group, kernel) of a transposed one.
  int64_t weight_row(int64_t g, int64_t m, int64_t c) const {
    if (transposed_) return (g * in_channels_ + c) * out_channels_ + m;
    return (g * out_channels_ + m) * in_channels_ + c;
  }

  void add_channel(const std::byte* weights, int64_t g, int64_t m, int64_t c) {
    const auto taps = static_cast<int64_t>(weights_.size());
    load(dtype_, weights + bytes(weight_row(g, m, c) * taps), weights_.data(), weights_.size());
    const double* in = input_.data() + c * in_plane_;
    double* sum = sum_.data();
    const int64_t stride = window_.row_stride();
    window_.for_each_row([&](int64_t tap, int64_t dense, int64_t strided, int64_t count) {
      const double weight = weights_[static_cast<size_t>(tap)];
      if (transposed_) {
        scatter(weight, in + dense, sum + strided, stride, count);
      } else {
        gather(weight, in + strided, stride, sum + dense, count);
      }
    });
  }

  static void gather(double weight, const double* in, int64_t stride, double* sum, int64_t count) {
    if (stride == 1) {
      for (int64_t i = 0; i < count; ++i) sum[i] += weight * in[i];
    } else {
      for (int64_t i = 0; i < count; ++i) sum[i] += weight * in[i * stride];
    }
  }

  static void scatter(double weight, const double* in, double* sum, int64_t stride, int64_t count) {
    for (int64_t i = 0; i < count; ++i) sum[i * stride] += weight * in[i];
  }

  void finish_plane(const KernelIo& io, int64_t plane) {
    const int64_t offset = bytes(plane * out_plane_);
    if (!residual_.empty()) {
      load(dtype_, io.inputs[3] + offset, residual_.data(), residual_.size());
      for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += residual_[i];
    }
    for (double& value : sum_) value = activation_(value);
    store(dtype_, sum_.data(), io.outputs[0] + offset, sum_.size());
  }

  const bool transposed_;
  const DType dtype_;
  const Window window_;
  const RealFunction activation_;
  const int64_t batches_;
  const int64_t groups_;
  const int64_t in_channels_;   // of one group
  const int64_t out_channels_;  // of one group
  const int64_t in_plane_;      // elements
  const int64_t out_plane_;
  std::vector<double> input_;  // the channels of one group
  std::vector<double> weights_;
  std::vector<double> sum_;
  std::vector<double> residual_;
};

}  // namespace

KernelPointer make_convolution_kernel(const KernelSpec& spec) {
  return std::make_unique<Convolution>(spec);
}

}  // namespace modeld::reference
