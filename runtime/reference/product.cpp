// Gemm and MatMul: a few rows of the result at a time, accumulated wide.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/multiply_add.h"
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

// Room for a block of rows of A' and of the result, and for one row of B.
template <typename Wide>
struct Scratch {
  explicit Scratch(const Product& product)
      : left(static_cast<size_t>(kBlock * product.inner)),
        piece(static_cast<size_t>(std::max({product.inner, product.columns, int64_t{1}}))) {
    for (auto& row : sum) row.resize(static_cast<size_t>(product.columns));
  }
  std::vector<Wide> left;  // kBlock factors for each inner index
  std::vector<Wide> piece;
  std::array<std::vector<Wide>, kBlock> sum;
};

// The same where B is stored as (columns x inner): each result is a sum along two rows.
template <typename Wide>
void multiply_transposed(const Product& product, const std::byte* b, int64_t count,
                         Scratch<Wide>& scratch) {
  for (int64_t column = 0; column < product.columns; ++column) {
    load(product.dtype, product.at(b, column * product.inner), scratch.piece.data(),
         static_cast<size_t>(product.inner));
    std::array<Wide, kBlock> totals{};
    for (int64_t k = 0; k < product.inner; ++k) {
      const Wide* left = scratch.left.data() + k * kBlock;
      const Wide right = scratch.piece[static_cast<size_t>(k)];
      for (size_t j = 0; j < kBlock; ++j) totals[j] += left[j] * right;
    }
    for (int64_t j = 0; j < count; ++j) {
      scratch.sum[static_cast<size_t>(j)][static_cast<size_t>(column)] =
          totals[static_cast<size_t>(j)];
    }
  }
}

// scratch.sum = rows [row, row + count) of the product.
template <typename Wide>
void multiply_rows(const Product& product, const std::byte* a, const std::byte* b, int64_t row,
                   int64_t count, Scratch<Wide>& scratch) {
  std::array<Wide*, kBlock> sums{};
  for (int64_t j = 0; j < count; ++j) {
    auto& sum = scratch.sum[static_cast<size_t>(j)];
    std::fill(sum.begin(), sum.end(), Wide{0});
    sums[static_cast<size_t>(j)] = sum.data();
    for (int64_t k = 0; k < product.inner; ++k) {
      const int64_t element = (row + j) * product.a_row + k * product.a_inner;
      load(product.dtype, product.at(a, element), scratch.left.data() + k * kBlock + j, 1);
    }
  }
  if (product.b_transposed) return multiply_transposed(product, b, count, scratch);
  for (int64_t k = 0; k < product.inner; ++k) {
    load(product.dtype, product.at(b, k * product.columns), scratch.piece.data(),
         static_cast<size_t>(product.columns));
    multiply_add(count, scratch.left.data() + k * kBlock, scratch.piece.data(), 1, sums.data(),
                 product.columns);
  }
}

// What is added to a row of the result: `factor` times an operand broadcast to it.
struct Addend {
  bool given = false;
  double factor = 1;
  int64_t row_stride = 0;
  int64_t column_stride = 0;  // 0 or 1

  static Addend broadcast(const KernelSpec& spec, size_t input, double factor) {
    if (!spec.has(input)) return {};
    const auto strides = broadcast_strides(spec.in(input).shape, spec.out().shape);
    return {true, factor, strides[0], strides[1]};
  }
};

// The stack of matrices in front of the last two axes, by broadcasting: element offsets of the
// result, of A and of B for each matrix.
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

// act(alpha * A'B' + factor * addend + residual), matrix by matrix.
struct Plan {
  Product product;
  StridedLoop<3> loop;
  double alpha = 1;
  Addend addend;
  Addend residual;
  RealFunction activation;
};

Plan plan_gemm(const KernelSpec& spec) {
  const Attributes& attributes = spec.attributes;
  const Shape& a = spec.in(0).shape;
  const Shape& out = spec.out().shape;
  const bool trans_a = attributes.get_int("trans_a") != 0;
  Product product;
  product.dtype = spec.out().dtype;
  product.rows = out[0];
  product.columns = out[1];
  product.inner = a[trans_a ? 0 : 1];
  product.a_row = trans_a ? 1 : a[1];
  product.a_inner = trans_a ? a[1] : 1;
  product.b_transposed = attributes.get_int("trans_b") != 0;
  return {product,
          StridedLoop<3>({}, {}),
          attributes.get_float("alpha"),
          Addend::broadcast(spec, 2, attributes.get_float("beta")),
          Addend::broadcast(spec, 3, 1),
          activation_function(attributes)};
}

Plan plan_matmul(const KernelSpec& spec) {
  Shape a = spec.in(0).shape;
  Shape b = spec.in(1).shape;
  Shape batches = spec.out().shape;
  // A left vector leaves its one row out of the output's shape, a right one its one column; the
  // bias runs over the last axis that is left.
  const bool column_result = b.size() == 1;
  if (a.size() > 1) batches.pop_back();
  if (b.size() > 1) batches.pop_back();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product product;
  product.dtype = spec.out().dtype;
  product.rows = a[a.size() - 2];
  product.columns = b.back();
  product.inner = a.back();
  product.a_row = a.back();
  product.a_inner = 1;
  return {product,
          batch_loop(a, b, batches, product.rows * product.columns),
          1,
          {spec.has(2), 1, column_result ? 1 : 0, column_result ? 0 : 1},
          {spec.has(3), 1, product.columns, 1},
          activation_function(spec.attributes)};
}

// Integers of either sign share uint64_t: modulo 2^64 their products and sums are the same.
template <typename Wide>
class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(Plan plan) : plan_(std::move(plan)), scratch_(plan_.product) {}

  void run(const KernelIo& io) override {
    plan_.loop.for_each_row([&](const StridedLoop<3>::Offsets& at) {
      const auto& stride = plan_.loop.row_strides();
      for (int64_t i = 0; i < plan_.loop.row_length(); ++i) {
        run_matrix(io, at[0] + i * stride[0], at[1] + i * stride[1], at[2] + i * stride[2]);
      }
    });
  }

 private:
  // One matrix whose result, A and B start at these elements.
  void run_matrix(const KernelIo& io, int64_t out, int64_t left, int64_t right) {
    const Product& product = plan_.product;
    for (int64_t row = 0; row < product.rows; row += kBlock) {
      const int64_t count = std::min(kBlock, product.rows - row);
      multiply_rows(product, product.at(io.inputs[0], left), product.at(io.inputs[1], right), row,
                    count, scratch_);
      for (int64_t j = 0; j < count; ++j) {
        finish_row(io, out, row + j, scratch_.sum[static_cast<size_t>(j)]);
      }
    }
  }

  void finish_row(const KernelIo& io, int64_t out, int64_t row, std::vector<Wide>& sum) {
    const Product& product = plan_.product;
    const auto alpha = static_cast<Wide>(plan_.alpha);
    for (Wide& value : sum) value *= alpha;
    if (plan_.addend.given) add_row(plan_.addend, io.inputs[2], row, sum);
    if (plan_.residual.given) add_row(plan_.residual, product.at(io.inputs[3], out), row, sum);
    if constexpr (std::is_same_v<Wide, double>) {
      for (double& value : sum) value = plan_.activation(value);
    }
    std::byte* to = io.outputs[0] +
                    (out + row * product.columns) * static_cast<int64_t>(size_of(product.dtype));
    store(product.dtype, sum.data(), to, sum.size());
  }

  void add_row(const Addend& addend, const std::byte* from, int64_t row, std::vector<Wide>& sum) {
    const Product& product = plan_.product;
    const bool one_value = addend.column_stride == 0;
    std::vector<Wide>& piece = scratch_.piece;
    load(product.dtype, product.at(from, row * addend.row_stride), piece.data(),
         one_value ? 1 : sum.size());
    const auto factor = static_cast<Wide>(addend.factor);
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += factor * piece[one_value ? 0 : j];
  }

  Plan plan_;
  Scratch<Wide> scratch_;
};

}  // namespace

KernelPointer make_product_kernel(const KernelSpec& spec) {
  Plan plan = spec.kind == OpKind::kGemm ? plan_gemm(spec) : plan_matmul(spec);
  if (domain_of(spec.in(0).dtype) == Domain::kReal) {
    return std::make_unique<ProductKernel<double>>(std::move(plan));
  }
  return std::make_unique<ProductKernel<uint64_t>>(std::move(plan));
}

}  // namespace modeld::reference
