// Conv: a few output channels at a time, one piece of an output row after the other, so that sums
// stay in the nearest cache while all input channels and taps are added to them.
#include <algorithm>
#include <array>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/multiply_add.h"
#include "runtime/reference/wide.h"
#include "runtime/reference/window.h"

namespace modeld::reference {
namespace {

Shape spatial(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

// Output positions of a row that are summed together.
constexpr int64_t kTile = 256;

class Convolution final : public Kernel {
 public:
  explicit Convolution(const KernelSpec& spec)
      : dtype_(spec.in(0).dtype),
        window_(Window::of(spec.attributes, spatial(spec.in(1).shape), spatial(spec.out().shape),
                           spatial(spec.in(0).shape))),
        row_(window_.axes().back()),
        activation_(activation_function(spec.attributes)),
        has_bias_(spec.has(2)),
        has_residual_(spec.has(3)),
        batches_(spec.in(0).shape[0]),
        groups_(spec.attributes.get_int("group")),
        in_channels_(spec.in(0).shape[1] / groups_),
        out_channels_(spec.out().shape[1] / groups_),
        in_plane_(window_.strided_elements()),
        out_plane_(window_.dense_elements()),
        taps_(window_.taps()),
        input_(static_cast<size_t>(in_channels_ * in_plane_)),
        weights_(static_cast<size_t>(kBlock * in_channels_ * taps_)) {
    for (int64_t tap = 0; tap < row_.kernel; ++tap) {
      reaches_.push_back(Window::reach_of(row_, tap));
    }
  }

  void run(const KernelIo& io) override {
    for (int64_t n = 0; n < batches_; ++n) {
      for (int64_t g = 0; g < groups_; ++g) {
        const int64_t plane = (n * groups_ + g) * in_channels_;
        load(dtype_, io.inputs[0] + bytes(plane * in_plane_), input_.data(), input_.size());
        for (int64_t m = 0; m < out_channels_; m += kBlock) {
          run_block(io, n, g * out_channels_ + m, std::min(kBlock, out_channels_ - m));
        }
      }
    }
  }

 private:
  using Index = std::array<int64_t, kMaxRank>;

  int64_t bytes(int64_t elements) const { return elements * static_cast<int64_t>(size_of(dtype_)); }

  // Output channels [first, first + count) of one picture. Weights are (out, in / group, kernel).
  void run_block(const KernelIo& io, int64_t n, int64_t first, int64_t count) {
    const int64_t length = in_channels_ * taps_;
    load(dtype_, io.inputs[1] + bytes(first * length), weights_.data(),
         static_cast<size_t>(count * length));
    std::array<double, kBlock> bias{};
    if (has_bias_) {
      load(dtype_, io.inputs[2] + bytes(first), bias.data(), static_cast<size_t>(count));
    }
    Index position{};
    for (int64_t row = 0; row * row_.dense < out_plane_; ++row) {
      for (int64_t at = 0; at < row_.dense; at += kTile) {
        const int64_t stop = std::min(at + kTile, row_.dense);
        for (int64_t j = 0; j < count; ++j) {
          std::fill_n(sums_[static_cast<size_t>(j)].data(), stop - at,
                      bias[static_cast<size_t>(j)]);
        }
        add_taps(position, count, at, stop);
        finish(io, (n * groups_ * out_channels_ + first) * out_plane_ + row * row_.dense + at,
               count, stop - at);
      }
      advance(position, &Window::Axis::dense);
    }
  }

  // Moves to the next combination of all axes but the last; false after the last one.
  bool advance(Index& index, int64_t Window::Axis::*extent) const {
    const auto& axes = window_.axes();
    for (size_t axis = axes.size() - 1; axis-- > 0;) {
      if (++index[axis] < axes[axis].*extent) return true;
      index[axis] = 0;
    }
    return false;
  }

  // Adds every tap to output positions [at, stop) of the row at `position`.
  void add_taps(const Index& position, int64_t count, int64_t at, int64_t stop) {
    Index tap{};
    int64_t flat = 0;  // of the tap row's first tap
    do {
      const int64_t row = strided_row(position, tap);
      if (row >= 0) add_tap_row(row, flat, count, at, stop);
      flat += row_.kernel;
    } while (advance(tap, &Window::Axis::kernel));
  }

  // Flat number of the input row that `tap` sees from `position`; -1 in the padding.
  int64_t strided_row(const Index& position, const Index& tap) const {
    const auto& axes = window_.axes();
    int64_t row = 0;
    for (size_t axis = 0; axis + 1 < axes.size(); ++axis) {
      const Window::Axis& a = axes[axis];
      const int64_t at = position[axis] * a.stride + tap[axis] * a.dilation - a.pad;
      if (at < 0 || at >= a.strided) return -1;
      row = row * a.strided + at;
    }
    return row;
  }

  void add_tap_row(int64_t row, int64_t flat_tap, int64_t count, int64_t at, int64_t stop) {
    for (int64_t c = 0; c < in_channels_; ++c) {
      const double* in = input_.data() + c * in_plane_ + row * row_.strided;
      for (int64_t tap = 0; tap < row_.kernel; ++tap) {
        const Window::Reach& reach = reaches_[static_cast<size_t>(tap)];
        const int64_t low = std::max(at, reach.low);
        const int64_t high = std::min(stop, reach.high);
        if (low >= high) continue;
        std::array<double, kBlock> factors{};
        std::array<double*, kBlock> sums{};
        for (int64_t j = 0; j < count; ++j) {
          const auto k = static_cast<size_t>(j);
          factors[k] =
              weights_[static_cast<size_t>((j * in_channels_ + c) * taps_ + flat_tap + tap)];
          sums[k] = sums_[k].data() + (low - at);
        }
        multiply_add(count, factors.data(), in + low * row_.stride + reach.base, row_.stride,
                     sums.data(), high - low);
      }
    }
  }

  // Residual, activation and rounding of `length` positions from flat output element `start`.
  void finish(const KernelIo& io, int64_t start, int64_t count, int64_t length) {
    for (int64_t j = 0; j < count; ++j) {
      double* sum = sums_[static_cast<size_t>(j)].data();
      const int64_t offset = bytes(start + j * out_plane_);
      if (has_residual_) {
        std::array<double, kTile> residual;
        load(dtype_, io.inputs[3] + offset, residual.data(), static_cast<size_t>(length));
        for (int64_t i = 0; i < length; ++i) sum[i] += residual[static_cast<size_t>(i)];
      }
      for (int64_t i = 0; i < length; ++i) sum[i] = activation_(sum[i]);
      store(dtype_, sum, io.outputs[0] + offset, static_cast<size_t>(length));
    }
  }

  const DType dtype_;
  const Window window_;
  const Window::Axis row_;  // the last axis
  const RealFunction activation_;
  const bool has_bias_;
  const bool has_residual_;
  const int64_t batches_;
  const int64_t groups_;
  const int64_t in_channels_;   // of one group
  const int64_t out_channels_;  // of one group
  const int64_t in_plane_;      // elements
  const int64_t out_plane_;
  const int64_t taps_;
  std::vector<Window::Reach> reaches_;  // by tap of the last axis
  std::vector<double> input_;           // the channels of one group
  std::vector<double> weights_;         // of one block of output channels
  std::array<std::array<double, kTile>, kBlock> sums_;
};

}  // namespace

KernelPointer make_convolution_kernel(const KernelSpec& spec) {
  return std::make_unique<Convolution>(spec);
}

}  // namespace modeld::reference
