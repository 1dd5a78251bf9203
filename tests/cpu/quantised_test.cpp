// Integers and recurrent ops: which code runs them. What they compute is compared with the
// reference in tests/conformance.
#include "tests/cpu/differential.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

HostTensor seeded(const TensorType& type) {
  HostTensor tensor{type, std::vector<std::byte>(type.bytes())};
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<std::byte>(i * 37 % 251);
  }
  return tensor;
}

Attributes::Map convolution(int64_t group) {
  return {{"strides", Ints{1, 1}},
          {"pads", Ints{1, 1, 1, 1}},
          {"dilations", Ints{1, 1}},
          {"group", group}};
}

TEST(CpuInteger, ConvolutionsWithConstantWeights) {
  for (const int64_t group : {1, 4}) {
    ProgramBuilder builder;
    const TensorId x = builder.input("x", {DType::kUInt8, {2, 4, 20, 20}});
    const TensorId w = builder.constant(seeded({DType::kInt8, {8, 4 / group, 3, 3}}));
    const TensorId zero = builder.constant(DType::kUInt8, {}, {7});
    const TensorId zeros = builder.constant(DType::kInt8, {8}, {1, -2, 3, -4, 5, -6, 7, -128});
    builder.output(builder.op(OpKind::kConvInteger, {x, w, zero, zeros}, convolution(group)), "y");
    expect_same_as_reference(builder, 0, 0);
    EXPECT_NE(lowering_of(builder).find("own: integer convolution"), std::string::npos);
  }
}

// The library's sums where they are exact: VNNI, weights that are signed bytes, sums below 2^24.
// The padding of a zero point adds nothing either.
TEST(CpuInteger, ConvolutionsByTheLibrary) {
  for (const DType source : {DType::kUInt8, DType::kInt8}) {
    for (const int64_t group : {1, 4, 16}) {
      for (const int64_t extent : {1, 9}) {
        ProgramBuilder builder;
        const TensorId x = builder.input("x", {source, {2, 16, extent, 20}});
        const TensorId w = builder.constant(seeded({DType::kInt8, {32, 16 / group, 3, 3}}));
        const TensorId zero = builder.constant(source, {}, {11});
        builder.output(builder.op(OpKind::kConvInteger, {x, w, zero}, convolution(group)), "y");
        builder.output(builder.op(OpKind::kConvInteger, {x, w}, convolution(group)), "z");
        expect_same_as_reference(builder, 0, 0);
      }
    }
  }
}

TEST(CpuInteger, ProductsByTheLibrary) {
  for (const DType source : {DType::kUInt8, DType::kInt8}) {
    for (const int64_t rows : {1, 37}) {
      ProgramBuilder builder;
      const TensorId x = builder.input("x", {source, {2, rows, 100}});
      const TensorId w = builder.constant(seeded({DType::kInt8, {100, 33}}));
      const TensorId zero = builder.constant(source, {}, {100});
      builder.output(builder.op(OpKind::kMatMulInteger, {x, w, zero}), "y");
      expect_same_as_reference(builder, 0, 0);
    }
  }
}

// One channel's sum of magnitudes may pass 2^24, beyond which some of its code rounds.
TEST(CpuInteger, SumsThatTheLibraryWouldRoundAreOurs) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kUInt8, {1, 3000}});
  HostTensor most{{DType::kInt8, {3000, 2}}, std::vector<std::byte>(6000, std::byte{127})};
  const TensorId zero = builder.constant(DType::kUInt8, {}, {255});
  builder.output(builder.op(OpKind::kMatMulInteger, {x, builder.constant(most), zero}), "y");
  expect_same_as_reference(builder, 0, 0);
  EXPECT_NE(lowering_of(builder).find("own: integer product"), std::string::npos);
}

TEST(CpuInteger, ProductsWithConstantRightSides) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kInt8, {3, 5, 200}});
  const TensorId w = builder.constant(seeded({DType::kUInt8, {200, 33}}));
  builder.output(builder.op(OpKind::kMatMulInteger, {x, w}), "y");
  expect_same_as_reference(builder, 0, 0);
  EXPECT_NE(lowering_of(builder).find("own: integer product"), std::string::npos);
}

TEST(CpuInteger, SumsBeyondInt32Wrap) {
  ProgramBuilder builder;
  const int64_t inner = 600'000;  // seeded bytes are 0..15: the sum passes 2^31
  const TensorId x = builder.input("x", {DType::kUInt8, {1, inner}});
  HostTensor ones{{DType::kUInt8, {inner, 1}}, std::vector<std::byte>(600'000, std::byte{255})};
  builder.output(builder.op(OpKind::kMatMulInteger, {x, builder.constant(ones)}), "y");
  expect_same_as_reference(builder, 0, 0);
}

TEST(CpuQuantised, LinearBothWays) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {2, 3, 40}});
  const TensorId scale = builder.constant(DType::kFloat32, {3, 1}, {0.1, 0.02, 0.003});
  const TensorId zero = builder.constant(DType::kInt8, {}, {-3});
  const TensorId q =
      builder.op(OpKind::kQuantizeLinear, {x, scale, zero}, {{"to", std::string("i8")}});
  builder.output(
      builder.op(OpKind::kDequantizeLinear, {q, scale, zero}, {{"to", std::string("f32")}}), "y");
  expect_same_as_reference(builder, 0, 0);
  const std::string lowering = lowering_of(builder);
  EXPECT_NE(lowering.find("own: quantise"), std::string::npos) << lowering;
  EXPECT_NE(lowering.find("own: dequantise"), std::string::npos) << lowering;
}

TEST(CpuRecurrent, ConstantWeights) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {9, 2, 30}});
  const auto weights = [&](Shape shape) {
    std::vector<double> values(static_cast<size_t>(TensorType{DType::kFloat32, shape}.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(i * 7919 % 101) / 200 - 0.25;
    }
    return builder.constant(make_tensor(DType::kFloat32, std::move(shape), values));
  };
  const auto outputs = builder.ops(
      OpKind::kLstm, {x, weights({2, 4 * 70, 30}), weights({2, 4 * 70, 70}), weights({2, 8 * 70})},
      {{"direction", std::string("bidirectional")},
       {"activations", std::string("Sigmoid,Tanh,Tanh,Sigmoid,Tanh,Tanh")},
       {"activation_alpha", std::vector<double>(6, 0.0)},
       {"activation_beta", std::vector<double>(6, 0.0)},
       {"input_forget", int64_t{0}}});
  builder.output(outputs[0], "y");
  builder.output(outputs[2], "cell");
  expect_same_as_reference(builder);
  EXPECT_NE(lowering_of(builder).find("own: recurrent"), std::string::npos);
}

}  // namespace
}  // namespace modeld::test
