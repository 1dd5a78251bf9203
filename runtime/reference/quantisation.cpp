// QuantizeLinear, DequantizeLinear, and products of quantised operands.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

// Data, scale and zero point of each row of the output; function(x, scale, zero).
template <typename Function>
KernelPointer scaled(const KernelSpec& spec, Function function) {
  const Shape& shape = spec.out().shape;
  const bool has_zero = spec.has(2);
  StridedLoop<4> loop(
      shape,
      {dense_strides(shape), dense_strides(shape), broadcast_strides(spec.in(1).shape, shape),
       has_zero ? broadcast_strides(spec.in(2).shape, shape) : Shape(shape.size(), 0)});
  const DType data = spec.in(0).dtype;
  const DType scale = spec.in(1).dtype;
  const DType zero = has_zero ? spec.in(2).dtype : data;
  const DType out = spec.out().dtype;
  return kernel_of([=](const KernelIo& io) mutable {
    const auto one = [](DType type, const std::byte* base, int64_t at) {
      double value;
      load(type, base + at * static_cast<int64_t>(size_of(type)), &value, 1);
      return value;
    };
    const auto& stride = loop.row_strides();
    loop.for_each_row([&](const StridedLoop<4>::Offsets& at) {
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        const double x = one(data, io.inputs[0], at[1] + i * stride[1]);
        const double factor = one(scale, io.inputs[1], at[2] + i * stride[2]);
        const double origin = has_zero ? one(zero, io.inputs[2], at[3] + i * stride[3]) : 0.0;
        const double result = function(x, factor, origin);
        const int64_t to = (at[0] + i * stride[0]) * static_cast<int64_t>(size_of(out));
        store(out, &result, io.outputs[0] + to, 1);
      }
    });
  });
}

double rounded_to(DType type, double value) {
  std::byte bytes[8];
  store(type, &value, bytes, 1);
  load(type, bytes, &value, 1);
  return value;
}

// The quotient is rounded to the wider of both operands' types, as floating-point division does;
// rounding it to an integer (ties to even) comes after.
KernelPointer quantize(const KernelSpec& spec) {
  const DType x = spec.in(0).dtype;
  const DType scale = spec.in(1).dtype;
  const DType quotient = !is_float(x) ? DType::kFloat64 : size_of(x) > size_of(scale) ? x : scale;
  return scaled(spec, [quotient](double value, double factor, double zero) {
    return std::nearbyint(rounded_to(quotient, value / factor)) + zero;
  });
}

KernelPointer dequantize(const KernelSpec& spec) {
  return scaled(spec, [](double x, double factor, double zero) { return (x - zero) * factor; });
}

// An operand minus its zero point, as Wide.
template <typename Wide>
class Centred {
 public:
  // `zero` broadcasts to the operand by these strides; null for none.
  Centred(const TensorType& type, const TensorType* zero, std::vector<int64_t> zero_strides)
      : dtype_(type.dtype),
        has_zero_(zero != nullptr),
        loop_(type.shape, {dense_strides(type.shape), std::move(zero_strides)}),
        values_(static_cast<size_t>(type.elements())),
        zeros_(zero == nullptr ? 0 : static_cast<size_t>(zero->elements())) {}

  const std::byte* read(const std::byte* operand, const std::byte* zero) {
    load(dtype_, operand, values_.data(), values_.size());
    if (has_zero_) {
      load(dtype_, zero, zeros_.data(), zeros_.size());
      loop_.for_each_row([&](const StridedLoop<2>::Offsets& at) {
        for (int64_t i = 0; i < loop_.row_length(); ++i) {
          const int64_t from = at[1] + i * loop_.row_strides()[1];
          values_[static_cast<size_t>(at[0] + i * loop_.row_strides()[0])] -=
              zeros_[static_cast<size_t>(from)];
        }
      });
    }
    return reinterpret_cast<const std::byte*>(values_.data());
  }

 private:
  const DType dtype_;
  const bool has_zero_;
  StridedLoop<2> loop_;
  std::vector<Wide> values_;
  std::vector<Wide> zeros_;
};

// The op on wide operands, then its result modulo 2^32.
template <typename Wide>
class IntegerProduct final : public Kernel {
 public:
  IntegerProduct(const KernelSpec& spec, OpKind wide_kind, DType wide,
                 std::vector<int64_t> left_strides, std::vector<int64_t> right_strides)
      : left_(spec.in(0), spec.has(2) ? &spec.in(2) : nullptr, std::move(left_strides)),
        right_(spec.in(1), spec.has(3) ? &spec.in(3) : nullptr, std::move(right_strides)),
        result_(static_cast<size_t>(spec.out().elements())),
        has_left_zero_(spec.has(2)),
        has_right_zero_(spec.has(3)) {
    const TensorType types[] = {{wide, spec.in(0).shape}, {wide, spec.in(1).shape}};
    const TensorType* const inputs[] = {&types[0], &types[1]};
    const TensorType outputs[] = {{wide, spec.out().shape}};
    const KernelSpec inner{wide_kind, spec.attributes, inputs, outputs};
    kernel_ =
        wide_kind == OpKind::kConv ? make_convolution_kernel(inner) : make_product_kernel(inner);
  }

  void run(const KernelIo& io) override {
    const std::byte* const inputs[] = {
        left_.read(io.inputs[0], has_left_zero_ ? io.inputs[2] : nullptr),
        right_.read(io.inputs[1], has_right_zero_ ? io.inputs[3] : nullptr)};
    std::byte* const outputs[] = {reinterpret_cast<std::byte*>(result_.data())};
    kernel_->run({inputs, outputs, io.flags});
    for (size_t i = 0; i < result_.size(); ++i) {
      const auto exact = static_cast<int64_t>(result_[i]);
      store(DType::kInt32, &exact, io.outputs[0] + i * sizeof(int32_t), 1);
    }
  }

 private:
  Centred<Wide> left_;
  Centred<Wide> right_;
  std::vector<Wide> result_;
  const bool has_left_zero_;
  const bool has_right_zero_;
  KernelPointer kernel_;
};

}  // namespace

KernelPointer make_quantisation_kernel(const KernelSpec& spec) {
  return spec.kind == OpKind::kQuantizeLinear ? quantize(spec) : dequantize(spec);
}

// Sums of products of bytes stay far below 2^53, so doubles hold them exactly.
KernelPointer make_integer_convolution_kernel(const KernelSpec& spec) {
  const Shape& weights = spec.in(1).shape;
  std::vector<int64_t> per_channel(weights.size(), 0);
  if (spec.has(3) && !spec.in(3).shape.empty()) per_channel[0] = 1;
  return std::make_unique<IntegerProduct<double>>(spec, OpKind::kConv, DType::kFloat64,
                                                  Shape(spec.in(0).shape.size(), 0),
                                                  std::move(per_channel));
}

KernelPointer make_integer_product_kernel(const KernelSpec& spec) {
  const auto strides = [&](size_t operand) {
    const Shape& shape = spec.in(operand).shape;
    return spec.has(operand + 2) ? broadcast_strides(spec.in(operand + 2).shape, shape)
                                 : Shape(shape.size(), 0);
  };
  return std::make_unique<IntegerProduct<int64_t>>(spec, OpKind::kMatMul, DType::kInt64, strides(0),
                                                   strides(1));
}

}  // namespace modeld::reference
