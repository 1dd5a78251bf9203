// Quantised data: QuantizeLinear and its inverse, products of integers, and the QLinear ops, which
// are an integer product between dequantising and quantising.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/compile/convolution_attributes.h"
#include "tools/compile/dtype_numbers.h"
#include "tools/compile/op_families.h"
#include "tools/compile/quantised.h"

namespace modeld::compile {

Result<TensorId> aligned_parameter(NodeImport& node, TensorId id, Shape shape, int64_t axis,
                                   int64_t block_size) {
  if (id == kNoTensor) return id;
  const Shape given = node.draft().shape(id);
  if (block_size == 0) {
    if (node.draft().type(id).elements() == 1 && given.size() <= 1) return node.reshape(id, {});
    if (given.size() != 1) {
      return node.refused("a scale or zero point is neither a scalar nor a list")
          .expecting("rank 0 or 1", to_string(given));
    }
    Shape wide(shape.size(), 1);
    MODELD_ASSIGN(axis, node.resolve_axis(axis, static_cast<int64_t>(shape.size())));
    wide[static_cast<size_t>(axis)] = given[0];
    return node.reshape(id, wide);
  }
  MODELD_ASSIGN(axis, node.resolve_axis(axis, static_cast<int64_t>(shape.size())));
  const auto at = static_cast<size_t>(axis);
  if (block_size < 1 || given.size() != shape.size() ||
      given[at] != (shape[at] + block_size - 1) / block_size) {
    return node.refused("blocks do not fit the data")
        .expecting(
            "one parameter per " + std::to_string(block_size) + " elements of " + to_string(shape),
            to_string(given));
  }
  Shape split = given;
  split.insert(split.begin() + axis + 1, 1);
  MODELD_ASSIGN(id, node.reshape(id, split));
  split[at + 1] = std::min(block_size, std::max<int64_t>(shape[at], 1));
  Attributes expand;
  expand.set("shape", split);
  MODELD_ASSIGN(id, node.emit(OpKind::kExpand, {id}, std::move(expand)));
  Shape merged = given;
  merged[at] *= split[at + 1];
  MODELD_ASSIGN(id, node.reshape(id, merged));
  if (merged[at] == shape[at]) return id;
  Attributes slice;
  slice.set("starts", std::vector<int64_t>(merged.size(), 0));
  slice.set("steps", std::vector<int64_t>(merged.size(), 1));
  merged[at] = shape[at];
  slice.set("sizes", merged);
  return node.emit(OpKind::kSlice, {id}, std::move(slice));
}

namespace {

Result<TensorId> convert(NodeImport& node, OpKind kind, TensorId id, TensorId scale, TensorId zero,
                         DType to) {
  std::vector<TensorId> inputs = {id, scale};
  if (zero != kNoTensor) inputs.push_back(zero);
  Attributes attributes;
  attributes.set("to", std::string(to_string(to)));
  return node.emit(kind, std::move(inputs), std::move(attributes));
}

}  // namespace

Result<TensorId> quantise(NodeImport& node, TensorId id, TensorId scale, TensorId zero, DType to) {
  return convert(node, OpKind::kQuantizeLinear, id, scale, zero, to);
}

Result<TensorId> dequantise(NodeImport& node, TensorId id, TensorId scale, TensorId zero,
                            DType to) {
  return convert(node, OpKind::kDequantizeLinear, id, scale, zero, to);
}

namespace {

// The only value of a scale or zero point, as a scalar.
Result<TensorId> one_value(NodeImport& node, size_t input) {
  if (!node.has_input(input)) return kNoTensor;
  if (node.draft().type(node.input(input)).elements() != 1) {
    return node.unsupported("a scale or zero point that is not one value");
  }
  return node.reshape(node.input(input), {});
}

}  // namespace

Result<TensorId> dequantised_input(NodeImport& node, const QuantisedInput& input) {
  MODELD_ASSIGN(const TensorId scale, one_value(node, input.scale));
  MODELD_ASSIGN(const TensorId zero, one_value(node, input.zero_point));
  return dequantise(node, node.input(input.value), scale, zero, DType::kFloat32);
}

Status quantised_output(NodeImport& node, TensorId id, const QuantisedInput& like) {
  MODELD_ASSIGN(const TensorId scale, one_value(node, like.scale));
  MODELD_ASSIGN(const TensorId zero, one_value(node, like.zero_point));
  const DType to = zero == kNoTensor ? DType::kUInt8 : node.draft().dtype(zero);
  MODELD_ASSIGN(const TensorId result, quantise(node, id, scale, zero, to));
  node.set_output(0, result);
  return {};
}

namespace {

Result<DType> dtype_attribute(NodeImport& node, std::string_view name, DType otherwise) {
  const int64_t number = node.attr_int(name, 0);
  return number == 0 ? Result<DType>(otherwise) : dtype_of(number);
}

Status quantize_linear(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  node.ignore_attr("saturate");  // float8 only
  const int64_t axis = node.attr_int("axis", 1);
  const int64_t block = node.attr_int("block_size", 0);
  TensorId x = node.input(0);
  MODELD_ASSIGN(TensorId scale, aligned_parameter(node, node.input(1), node.shape(0), axis, block));
  MODELD_ASSIGN(const TensorId zero,
                aligned_parameter(node, node.input(2), node.shape(0), axis, block));
  const DType zero_type = zero == kNoTensor ? DType::kUInt8 : node.draft().dtype(zero);
  MODELD_ASSIGN(const DType to, dtype_attribute(node, "output_dtype", zero_type));
  if (zero != kNoTensor && to != zero_type) {
    return node.refused("'output_dtype' differs from the zero point's type")
        .expecting(std::string(to_string(zero_type)), std::string(to_string(to)));
  }
  if (node.attr_int("precision", 0) != 0) {
    MODELD_ASSIGN(const DType precision, dtype_of(node.attr_int("precision", 0)));
    MODELD_ASSIGN(x, node.cast(x, precision));
    MODELD_ASSIGN(scale, node.cast(scale, precision));
  }
  MODELD_ASSIGN(const TensorId id, quantise(node, x, scale, zero, to));
  node.set_output(0, id);
  return {};
}

Status dequantize_linear(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  const int64_t axis = node.attr_int("axis", 1);
  const int64_t block = node.attr_int("block_size", 0);
  MODELD_ASSIGN(const TensorId scale,
                aligned_parameter(node, node.input(1), node.shape(0), axis, block));
  MODELD_ASSIGN(const TensorId zero,
                aligned_parameter(node, node.input(2), node.shape(0), axis, block));
  MODELD_ASSIGN(const DType to, dtype_attribute(node, "output_dtype", node.dtype(1)));
  MODELD_ASSIGN(const TensorId id, dequantise(node, node.input(0), scale, zero, to));
  node.set_output(0, id);
  return {};
}

// scale = (max - min) / 255 over the values and 0; a tensor of zeros has scale 1.
Status dynamic_quantize_linear(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < node.rank(0); ++i) axes.push_back(i);
  const TensorId x = node.input(0);
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(x, 0));
  std::array<TensorId, 2> ends{};
  for (size_t i = 0; i < 2; ++i) {
    MODELD_ASSIGN(TensorId end,
                  node.reduce(i == 0 ? OpKind::kReduceMin : OpKind::kReduceMax, x, axes));
    MODELD_ASSIGN(end, node.reshape(end, {}));
    MODELD_ASSIGN(ends[i], node.emit(i == 0 ? OpKind::kMin : OpKind::kMax, {end, zero}));
  }
  MODELD_ASSIGN(const TensorId steps, node.scalar_like(x, 255));
  MODELD_ASSIGN(const TensorId one, node.scalar_like(x, 1));
  MODELD_ASSIGN(const TensorId span, node.emit(OpKind::kSub, {ends[1], ends[0]}));
  MODELD_ASSIGN(const TensorId flat, node.emit(OpKind::kEqual, {span, zero}));
  MODELD_ASSIGN(const TensorId step, node.emit(OpKind::kDiv, {span, steps}));
  MODELD_ASSIGN(const TensorId scale, node.emit(OpKind::kWhere, {flat, one, step}));
  MODELD_ASSIGN(const TensorId negative, node.emit(OpKind::kNeg, {ends[0]}));
  // quantising -min with zero point 0 rounds and saturates as the zero point must
  MODELD_ASSIGN(const TensorId origin, quantise(node, negative, scale, kNoTensor, DType::kUInt8));
  MODELD_ASSIGN(const TensorId y, quantise(node, x, scale, origin, DType::kUInt8));
  node.set_output(0, y);
  node.set_output(1, scale);
  node.set_output(2, origin);
  return {};
}

// A zero point of a convolution's data must be one value; of its weights it may be one per channel.
Result<TensorId> weights_zero_point(NodeImport& node, size_t input, int64_t channels) {
  if (!node.has_input(input)) return kNoTensor;
  if (node.draft().type(node.input(input)).elements() == 1) return one_value(node, input);
  return node.reshape(node.input(input), {channels});
}

Result<TensorId> integer_convolution(NodeImport& node, size_t x, size_t w, size_t x_zero,
                                     size_t w_zero) {
  MODELD_ASSIGN(Attributes attributes, convolution_attributes(node, x, w));
  MODELD_ASSIGN(const TensorId data_zero, one_value(node, x_zero));
  MODELD_ASSIGN(const TensorId weight_zero, weights_zero_point(node, w_zero, node.shape(w)[0]));
  std::vector<TensorId> inputs = {node.input(x), node.input(w)};
  if (data_zero != kNoTensor || weight_zero != kNoTensor) inputs.push_back(data_zero);
  if (weight_zero != kNoTensor) inputs.push_back(weight_zero);
  return node.emit(OpKind::kConvInteger, std::move(inputs), std::move(attributes));
}

Status conv_integer(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 4));
  MODELD_ASSIGN(const TensorId id, integer_convolution(node, 0, 1, 2, 3));
  node.set_output(0, id);
  return {};
}

// Per row of the left side: a column; per column of the right side: as it is.
Result<TensorId> matrix_parameter(NodeImport& node, size_t input, bool left) {
  if (!node.has_input(input)) return kNoTensor;
  const TensorId id = node.input(input);
  const Shape& shape = node.shape(input);
  if (shape.size() > 1) return id;
  if (node.draft().type(id).elements() == 1) return node.reshape(id, {});
  return left ? node.reshape(id, {shape[0], 1}) : Result<TensorId>(id);
}

Result<TensorId> integer_product(NodeImport& node, size_t a, size_t b, size_t a_zero,
                                 size_t b_zero) {
  MODELD_ASSIGN(const TensorId left, matrix_parameter(node, a_zero, true));
  MODELD_ASSIGN(const TensorId right, matrix_parameter(node, b_zero, false));
  std::vector<TensorId> inputs = {node.input(a), node.input(b)};
  if (left != kNoTensor || right != kNoTensor) inputs.push_back(left);
  if (right != kNoTensor) inputs.push_back(right);
  return node.emit(OpKind::kMatMulInteger, std::move(inputs));
}

Status matmul_integer(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 4));
  MODELD_ASSIGN(const TensorId id, integer_product(node, 0, 1, 2, 3));
  node.set_output(0, id);
  return {};
}

// Sums of products become floats by both scales, then what the result's scale makes of them.
Status requantise(NodeImport& node, TensorId sums, TensorId factor, const QuantisedInput& like) {
  MODELD_ASSIGN(TensorId id, node.cast(sums, node.draft().dtype(factor)));
  MODELD_ASSIGN(id, node.emit(OpKind::kMul, {id, factor}));
  return quantised_output(node, id, like);
}

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, [B]
Status qlinear_conv(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(8, 9));
  MODELD_ASSIGN(TensorId sums, integer_convolution(node, 0, 3, 2, 5));
  const Shape shape = node.draft().shape(sums);
  if (node.has_input(8)) {
    MODELD_ASSIGN(const TensorId bias, aligned_parameter(node, node.input(8), shape, 1));
    MODELD_ASSIGN(sums, node.emit(OpKind::kAdd, {sums, bias}));
  }
  MODELD_ASSIGN(const TensorId x_scale, one_value(node, 1));
  MODELD_ASSIGN(const TensorId w_scale, aligned_parameter(node, node.input(4), shape, 1));
  MODELD_ASSIGN(const TensorId factor, node.emit(OpKind::kMul, {x_scale, w_scale}));
  return requantise(node, sums, factor, {0, 6, 7});
}

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
Status qlinear_matmul(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(8, 8));
  MODELD_ASSIGN(const TensorId sums, integer_product(node, 0, 3, 2, 5));
  MODELD_ASSIGN(const TensorId a_scale, matrix_parameter(node, 1, true));
  MODELD_ASSIGN(const TensorId b_scale, matrix_parameter(node, 4, false));
  MODELD_ASSIGN(const TensorId factor, node.emit(OpKind::kMul, {a_scale, b_scale}));
  return requantise(node, sums, factor, {0, 6, 7});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
});

}  // namespace

std::span<const ImporterRow> quantised_importers() {
  return kImporters;
}

}  // namespace modeld::compile
