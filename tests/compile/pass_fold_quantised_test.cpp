#include "tools/compile/passes/fold_quantised.h"

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/dead_code.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;
using Ints = std::vector<int64_t>;

std::vector<double> counted(int64_t count, int64_t low, int64_t high) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(low + i * 37 % (high - low + 1)));
  }
  return values;
}

// Bytes "x" dequantised to "f" by one scale and zero point.
OnnxBuilder quantised_graph(const Shape& shape, DType dtype, double zero) {
  OnnxBuilder builder(18);
  builder.input("x", dtype, shape).output("y").floats("sx", {}, {0.05});
  builder.constant("zx", make_tensor(dtype, {}, {zero}));
  builder.node("DequantizeLinear", {"x", "sx", "zx"}, {"f"});
  return builder;
}

// Weights "w" of `dtype`, dequantised by one scale or one per entry of `axis`.
void add_weights(OnnxBuilder& builder, const Shape& shape, DType dtype, int64_t axis,
                 bool per_channel, bool zeros) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const bool is_signed = dtype == DType::kInt8;
  builder.constant(
      "wq", make_tensor(dtype, shape, counted(count, is_signed ? -127 : 0, is_signed ? 127 : 255)));
  const int64_t channels = per_channel ? shape[static_cast<size_t>(axis)] : 1;
  const Shape list = per_channel ? Shape{channels} : Shape{};
  std::vector<double> scales;
  for (int64_t i = 0; i < channels; ++i) scales.push_back(0.01 + 0.002 * static_cast<double>(i));
  builder.constant("sw", make_tensor(DType::kFloat32, list, scales));
  builder.constant("zw",
                   make_tensor(dtype, list,
                               zeros ? counted(channels, 3, 9)
                                     : std::vector<double>(static_cast<size_t>(channels), 0)));
  builder.node("DequantizeLinear", {"wq", "sw", "zw"}, {"w"}).with("axis", axis);
}

void add_quantise(OnnxBuilder& builder, const std::string& from, double scale, double zero) {
  builder.floats("sy", {}, {scale});
  builder.constant("zy", make_tensor(DType::kInt8, {}, {zero}));
  builder.node("QuantizeLinear", {from, "sy", "zy"}, {"y"});
}

// Sums are exact and scaled once: a float32 product is off by roundings, which a quotient at a tie
// may show as one step.
constexpr double kOneStep = 1.001;

TEST(FoldQuantised, ConvolutionWithBiasInEveryWayOfQuantising) {
  for (const bool per_channel : {false, true}) {
    for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
      OnnxBuilder builder = quantised_graph({1, 4, 6, 5}, DType::kUInt8, 7);
      add_weights(builder, {6, 2, 3, 3}, dtype, 0, per_channel, dtype == DType::kUInt8);
      builder.constant("b", seeded({6}, 3));
      builder.node("Conv", {"f", "w", "b"}, {"c"})
          .with("pads", Ints{1, 1, 1, 1})
          .with("group", int64_t{2});
      add_quantise(builder, "c", 0.3, -5);
      expect_pass(builder, {fold_quantised_products, remove_dead_code},
                  "DequantizeLinear Conv QuantizeLinear", "ConvInteger Cast Mul Add QuantizeLinear",
                  kOneStep);
    }
  }
}

TEST(FoldQuantised, TheFloatsThemselvesAgree) {
  OnnxBuilder builder = quantised_graph({2, 3, 9}, DType::kInt8, -4);
  add_weights(builder, {5, 3, 3}, DType::kInt8, 0, true, false);
  builder.node("Conv", {"f", "w"}, {"y"});
  expect_pass(builder, {fold_quantised_products, remove_dead_code}, "DequantizeLinear Conv",
              "ConvInteger Cast Mul", 1e-4);
}

TEST(FoldQuantised, ProductsOfMatrices) {
  OnnxBuilder matmul = quantised_graph({2, 3, 8}, DType::kInt8, 3);
  add_weights(matmul, {8, 5}, DType::kInt8, 1, true, true);
  matmul.node("MatMul", {"f", "w"}, {"y"});
  expect_pass(matmul, {fold_quantised_products, remove_dead_code}, "DequantizeLinear MatMul",
              "MatMulInteger Cast Mul", 1e-4);
  OnnxBuilder gemm = quantised_graph({3, 8}, DType::kUInt8, 100);
  add_weights(gemm, {5, 8}, DType::kInt8, 0, true, false);
  gemm.constant("b", seeded({5}, 3));
  gemm.node("Gemm", {"f", "w", "b"}, {"y"}).with("transB", int64_t{1});
  expect_pass(gemm, {fold_quantised_products, remove_dead_code}, "DequantizeLinear Gemm",
              "MatMulInteger Cast Mul Add", 1e-4);
}

TEST(FoldQuantised, LeavesAloneFloatWeightsAndScalesAlongOtherAxes) {
  OnnxBuilder floats = quantised_graph({1, 4, 6, 5}, DType::kUInt8, 7);
  floats.constant("w", seeded({6, 4, 3, 3}, 1));
  floats.node("Conv", {"f", "w"}, {"y"});
  expect_untouched(floats, fold_quantised_products, "DequantizeLinear Conv");
  OnnxBuilder inner = quantised_graph({2, 3, 8}, DType::kInt8, 3);
  add_weights(inner, {8, 5}, DType::kInt8, 0, true, false);
  inner.node("MatMul", {"f", "w"}, {"y"});
  expect_untouched(inner, fold_quantised_products, "DequantizeLinear MatMul");
  OnnxBuilder wide = quantised_graph({2, 3, 8}, DType::kInt16, 3);
  add_weights(wide, {8, 5}, DType::kInt8, 1, true, false);
  wide.node("MatMul", {"f", "w"}, {"y"});
  expect_untouched(wide, fold_quantised_products, "DequantizeLinear MatMul");
}

TEST(SinkDequantise, MovesAreOfIntegersAndPairsGo) {
  OnnxBuilder builder = quantised_graph({2, 3, 4}, DType::kInt8, 3);
  builder.ints("shape", {6, 4});
  builder.node("Reshape", {"f", "shape"}, {"r"});
  builder.node("Transpose", {"r"}, {"t"});
  add_quantise(builder, "t", 0.05, 3);
  expect_pass(builder, {sink_dequantise, remove_dead_code},
              "DequantizeLinear Reshape Transpose QuantizeLinear", "Reshape Transpose", 0);
}

TEST(SinkDequantise, PartsOfAConcatAreQuantisedAlone) {
  OnnxBuilder builder = quantised_graph({2, 3, 4}, DType::kInt8, 3);
  builder.input("z", DType::kInt8, {2, 5, 4}).floats("sz", {}, {0.02});
  builder.node("DequantizeLinear", {"z", "sz"}, {"g"});
  builder.node("Concat", {"f", "g"}, {"c"}).with("axis", int64_t{1});
  add_quantise(builder, "c", 0.05, 3);
  expect_pass(builder, {sink_dequantise, remove_dead_code},
              "DequantizeLinear DequantizeLinear Concat QuantizeLinear",
              "DequantizeLinear QuantizeLinear Concat", 0);
}

TEST(SinkDequantise, LeavesAloneOtherScalesAndScalesPerChannel) {
  OnnxBuilder other = quantised_graph({2, 3}, DType::kInt8, 3);
  add_quantise(other, "f", 0.04, 3);
  expect_untouched(other, sink_dequantise, "DequantizeLinear QuantizeLinear");
  OnnxBuilder channels(18);
  channels.input("x", DType::kInt8, {2, 3}).output("y");
  channels.floats("s", {3}, {0.1, 0.2, 0.3});
  channels.node("DequantizeLinear", {"x", "s"}, {"f"}).with("axis", int64_t{1});
  channels.node("Transpose", {"f"}, {"y"});
  expect_untouched(channels, sink_dequantise, "DequantizeLinear Transpose");
  OnnxBuilder shared = quantised_graph({2, 3}, DType::kInt8, 3);
  shared.node("Transpose", {"f"}, {"y"}).named("t");
  shared.output("f");
  expect_untouched(shared, sink_dequantise, "DequantizeLinear Transpose");
}

}  // namespace
}  // namespace modeld::compile
