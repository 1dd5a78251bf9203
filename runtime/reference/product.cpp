// Gemm and MatMul: one row of the result at a time, accumulated wide.
#include <algorithm>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

// One matrix product (rows x inner) * (inner x columns). Strides in elements.
struct Product {
  DType dtype = DType::kFloat32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t inner = 0;
  int64_t a_row = 0;    // from one row of A' to the next
  int64_t a_inner = 0;  // along the inner axis
  bool b_transposed = false;

  const std::byte* at(const std::byte* base, int64_t element) const {
    return base + element * static_cast<int64_t>(size_of(dtype));
  }
};

// sum = row `row` of the product. `left` has room for a row of A', `piece` for one of B.
template <typename Wide>
void multiply_row(const Product& product, const std::byte* a, const std::byte* b, int64_t row,
                  std::vector<Wide>& left, std::vector<Wide>& piece, std::vector<Wide>& sum) {
  const auto inner = static_cast<size_t>(product.inner);
  const auto columns = static_cast<size_t>(product.columns);
  for (size_t k = 0; k < inner; ++k) {
    const int64_t element = row * product.a_row + static_cast<int64_t>(k) * product.a_inner;
    load(product.dtype, product.at(a, element), &left[k], 1);
  }
  std::fill(sum.begin(), sum.end(), Wide{0});
  if (product.b_transposed) {
    for (size_t j = 0; j < columns; ++j) {
      load(product.dtype, product.at(b, static_cast<int64_t>(j * inner)), piece.data(), inner);
      Wide total{0};
      for (size_t k = 0; k < inner; ++k) total += left[k] * piece[k];
      sum[j] = total;
    }
    return;
  }
  for (size_t k = 0; k < inner; ++k) {
    load(product.dtype, product.at(b, static_cast<int64_t>(k * columns)), piece.data(), columns);
    const Wide factor = left[k];
    for (size_t j = 0; j < columns; ++j) sum[j] += factor * piece[j];
  }
}

// What is added to a row of the result: `factor` times an operand broadcast to it.
struct Addend {
  bool given = false;
  double factor = 1;
  int64_t row_stride = 0;
  int64_t column_stride = 0;  // 0 or 1

  static Addend broadcast(const KernelSpec& spec, size_t input, const Shape& to) {
    if (!spec.has(input)) return {};
    const auto strides = broadcast_strides(spec.in(input).shape, to);
    return {true, 1, strides[0], strides[1]};
  }
};

template <typename Wide>
void add_row(const Product& product, const Addend& addend, const std::byte* from, int64_t row,
             std::vector<Wide>& piece, std::vector<Wide>& sum) {
  if (!addend.given) return;
  const std::byte* start = product.at(from, row * addend.row_stride);
  const size_t columns = sum.size();
  load(product.dtype, start, piece.data(), addend.column_stride == 0 ? 1 : columns);
  const auto factor = static_cast<Wide>(addend.factor);
  for (size_t j = 0; j < columns; ++j) {
    sum[j] += factor * piece[addend.column_stride == 0 ? 0 : j];
  }
}

// Rounds a finished row into the output; floats pass through the activation first.
void finish_row(DType dtype, const RealFunction& activation, std::vector<double>& sum,
                std::byte* to) {
  for (double& value : sum) value = activation(value);
  store(dtype, sum.data(), to, sum.size());
}
void finish_row(DType dtype, const RealFunction&, std::vector<uint64_t>& sum, std::byte* to) {
  store(dtype, sum.data(), to, sum.size());
}

// Integers of either sign share uint64_t: modulo 2^64 their products and sums are the same.
template <typename Wide>
struct Scratch {
  explicit Scratch(const Product& product)
      : left(static_cast<size_t>(product.inner)),
        piece(static_cast<size_t>(std::max({product.inner, product.columns, int64_t{1}}))),
        sum(static_cast<size_t>(product.columns)) {}
  std::vector<Wide> left;
  std::vector<Wide> piece;
  std::vector<Wide> sum;
};

template <typename Wide>
KernelPointer gemm_kernel(const KernelSpec& spec) {
  const Shape& a = spec.in(0).shape;
  const bool trans_a = spec.attributes.get_int("trans_a") != 0;
  const bool trans_b = spec.attributes.get_int("trans_b") != 0;
  const Shape& out = spec.out().shape;
  const Product product{spec.out().dtype,   out[0], out[1], a[trans_a ? 0 : 1], trans_a ? 1 : a[1],
                        trans_a ? a[1] : 1, trans_b};
  const auto alpha = static_cast<Wide>(spec.attributes.get_float("alpha"));
  Addend c = Addend::broadcast(spec, 2, out);
  c.factor = spec.attributes.get_float("beta");
  const Addend residual = Addend::broadcast(spec, 3, out);
  const RealFunction activation = activation_function(spec.attributes);
  return kernel_of([=, scratch = Scratch<Wide>(product)](const KernelIo& io) mutable {
    for (int64_t row = 0; row < product.rows; ++row) {
      multiply_row(product, io.inputs[0], io.inputs[1], row, scratch.left, scratch.piece,
                   scratch.sum);
      for (Wide& value : scratch.sum) value *= alpha;
      if (c.given) add_row(product, c, io.inputs[2], row, scratch.piece, scratch.sum);
      if (residual.given) add_row(product, residual, io.inputs[3], row, scratch.piece, scratch.sum);
      std::byte* to = io.outputs[0] + row * product.columns * int64_t(size_of(product.dtype));
      finish_row(product.dtype, activation, scratch.sum, to);
    }
  });
}

// The stack of matrices in front: offsets of A and B per matrix, by broadcasting.
StridedLoop<3> batch_loop(const Shape& a, const Shape& b, const Shape& batches, int64_t out_step) {
  const auto scaled = [](std::vector<int64_t> strides, int64_t by) {
    for (int64_t& stride : strides) stride *= by;
    return strides;
  };
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const int64_t a_step = a[a.size() - 2] * a.back();
  const int64_t b_step = b[b.size() - 2] * b.back();
  return {batches,
          {scaled(dense_strides(batches), out_step),
           scaled(broadcast_strides(batch_a, batches), a_step),
           scaled(broadcast_strides(batch_b, batches), b_step)}};
}

template <typename Wide>
KernelPointer matmul_kernel(const KernelSpec& spec) {
  Shape a = spec.in(0).shape;
  Shape b = spec.in(1).shape;
  Shape batches = spec.out().shape;
  if (a.size() > 1) batches.pop_back();
  if (b.size() > 1) batches.pop_back();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const Product product{spec.out().dtype, a[a.size() - 2], b.back(), a.back(), a.back(), 1, false};
  auto loop = batch_loop(a, b, batches, product.rows * product.columns);
  // A left vector leaves its one row out of the output's shape, a right one its one column; bias
  // runs over the last axis that is left.
  const bool column_result = spec.in(1).shape.size() == 1;
  const Addend bias{spec.has(2), 1, column_result ? 1 : 0, column_result ? 0 : 1};
  const Addend residual{spec.has(3), 1, product.columns, 1};
  const RealFunction activation = activation_function(spec.attributes);
  const auto size = static_cast<int64_t>(size_of(product.dtype));
  return kernel_of([=, scratch = Scratch<Wide>(product)](const KernelIo& io) mutable {
    const auto one_row = [&](int64_t row, int64_t out, int64_t left, int64_t right) {
      multiply_row(product, io.inputs[0] + left * size, io.inputs[1] + right * size, row,
                   scratch.left, scratch.piece, scratch.sum);
      if (bias.given) add_row(product, bias, io.inputs[2], row, scratch.piece, scratch.sum);
      if (residual.given) {
        add_row(product, residual, io.inputs[3] + out * size, row, scratch.piece, scratch.sum);
      }
      std::byte* to = io.outputs[0] + (out + row * product.columns) * size;
      finish_row(product.dtype, activation, scratch.sum, to);
    };
    const auto one_matrix = [&](int64_t out, int64_t left, int64_t right) {
      for (int64_t row = 0; row < product.rows; ++row) one_row(row, out, left, right);
    };
    loop.for_each_row([&](const StridedLoop<3>::Offsets& at) {
      const auto& stride = loop.row_strides();
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        one_matrix(at[0] + i * stride[0], at[1] + i * stride[1], at[2] + i * stride[2]);
      }
    });
  });
}

template <typename Wide>
KernelPointer product_kernel(const KernelSpec& spec) {
  return spec.kind == OpKind::kGemm ? gemm_kernel<Wide>(spec) : matmul_kernel<Wide>(spec);
}

}  // namespace

KernelPointer make_product_kernel(const KernelSpec& spec) {
  return domain_of(spec.in(0).dtype) == Domain::kReal ? product_kernel<double>(spec)
                                                      : product_kernel<uint64_t>(spec);
}

}  // namespace modeld::reference
