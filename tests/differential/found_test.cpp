// What random cases found, each as a program of its own: a case id means another case once a
// generator changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/differential/fuzz_run.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Answer run_on(const char* backend, const ProgramBuilder& builder,
              const std::vector<std::vector<std::byte>>& inputs) {
  MemoryWeights weights = builder.weights();
  return run_program(backend, builder.program(), weights, inputs, 1);
}

std::vector<double> numbers(const ProgramBuilder& builder, const Answer& answer) {
  const Program& program = builder.program();
  return to_doubles(program.tensors[program.outputs[0]].type.dtype, answer.outputs[0]);
}

std::vector<double> counted(int64_t count, double factor) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(factor * static_cast<double>(i % 7 - 3));
  return values;
}

// Convolutions for which the library has no code of its own read their residual as if it lay in
// plain order (seen as graph/0x5ae574f6c6).
TEST(Found, ResidualOfAConvolutionByIm2col) {
  ProgramBuilder builder;
  const TensorType type{DType::kFloat32, {1, 12, 9, 1}};
  const TensorId x = builder.input("x", type);
  const TensorId w = builder.constant(make_tensor(DType::kFloat32, {4, 3, 3, 1}, counted(36, 0.3)));
  const TensorId r = builder.constant(make_tensor(DType::kFloat32, {1, 4, 8, 2}, counted(64, 1)));
  builder.output(builder.op(OpKind::kConv, {x, w, kNoTensor, r},
                            {{"strides", Ints{1, 1}},
                             {"pads", Ints{1, 1, 0, 0}},
                             {"dilations", Ints{1, 1}},
                             {"group", int64_t{4}},
                             {"activation", std::string("HardSwish")}}),
                 "y");
  const auto input = to_bytes(DType::kFloat32, counted(108, 0.5));
  const auto want = numbers(builder, run_on("reference", builder, {input}));
  const auto have = numbers(builder, run_on("cpu", builder, {input}));
  ASSERT_EQ(want.size(), have.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-5) << i;
}

// The library's Relu and Clip make a number of a NaN (Conv/0x3e1458e843).
TEST(Found, ActivationsOfAConvolutionKeepNan) {
  for (const char* activation : {"Relu", "Clip", "HardSwish", "LeakyRelu"}) {
    for (const int64_t channels : {1, 16}) {
      ProgramBuilder builder;
      const TensorId x = builder.input("x", {DType::kFloat32, {1, channels, 4, 4}});
      const TensorId w = builder.constant(make_tensor(DType::kFloat32, {16, channels, 1, 1},
                                                      std::vector<double>(16 * channels, 0.5)));
      Attributes::Map attributes = {{"strides", Ints{1, 1}},
                                    {"pads", Ints{0, 0, 0, 0}},
                                    {"dilations", Ints{1, 1}},
                                    {"group", int64_t{1}},
                                    {"activation", std::string(activation)}};
      if (activation == std::string("Clip")) {
        attributes["activation_alpha"] = -0.5;
        attributes["activation_beta"] = 1.5;
      } else if (activation == std::string("LeakyRelu")) {
        attributes["activation_alpha"] = 0.25;
      }
      builder.output(builder.op(OpKind::kConv, {x, w}, attributes), "y");
      std::vector<double> input(static_cast<size_t>(16 * channels), 1);
      input[5] = kNan;
      for (const char* backend : {"reference", "cpu"}) {
        const auto have =
            numbers(builder, run_on(backend, builder, {to_bytes(DType::kFloat32, input)}));
        EXPECT_TRUE(std::isnan(have[5])) << activation << " " << backend << ": " << have[5];
        EXPECT_FALSE(std::isnan(have[4])) << activation << " " << backend;
      }
    }
  }
}

// x/2 (1 + erf(x / sqrt 2)) of minus infinity is infinity times zero (Gelu/0xd54622b4b5).
TEST(Found, GeluOfInfinities) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {3}});
  builder.output(builder.op(OpKind::kGelu, {x}, {{"approximate", std::string("none")}}), "y");
  const auto input = to_bytes(DType::kFloat32, std::vector<double>{-kInfinity, kInfinity, kNan});
  for (const char* backend : {"reference", "cpu"}) {
    const auto have = numbers(builder, run_on(backend, builder, {input}));
    EXPECT_TRUE(std::isnan(have[0])) << backend;
    EXPECT_EQ(have[1], kInfinity) << backend;
    EXPECT_TRUE(std::isnan(have[2])) << backend;
  }
}

// Long integers and doubles were rounded to float32 first: twice in all, and not at all where the
// half type was an intermediate (Cast/0xa1e9677a76).
TEST(Found, CastsToHalvesRoundOnce) {
  struct Case {
    DType from;
    DType half;
    double value;
    double want;
  };
  // bfloat16 has 8 bits: 2^56 + 2^48 + 16 lies just above the middle of 2^56 and 2^56 + 2^49.
  // float16 has 11: 1 + 2^-11 + 2^-40 just above the middle of 1 and 1 + 2^-10.
  for (const Case& c : {Case{DType::kInt64, DType::kBFloat16, 0x1.01p56 + 16, 0x1.02p56},
                        Case{DType::kFloat64, DType::kFloat16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
                        Case{DType::kInt64, DType::kFloat16, 4099, 4100}}) {
    ProgramBuilder builder;
    const TensorId x = builder.input("x", {c.from, {1}});
    const TensorId half =
        builder.op(OpKind::kCast, {x}, {{"to", std::string(modeld::to_string(c.half))}});
    builder.output(builder.op(OpKind::kCast, {half}, {{"to", std::string("f32")}}), "y");
    const auto input = to_bytes(c.from, std::vector<double>{c.value});
    for (const char* backend : {"reference", "cpu"}) {
      EXPECT_EQ(numbers(builder, run_on(backend, builder, {input})), std::vector<double>{c.want})
          << backend;
    }
  }
}

// ONNX, operator Resize: of a single pixel the coordinate is 0 (Resize/0xdc00275187).
TEST(Found, PytorchHalfPixelOfOnePixelIsTheFirst) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {1, 1, 2}});
  builder.output(builder.op(OpKind::kResize, {x},
                            {{"mode", std::string("cubic")},
                             {"coordinate_transformation_mode", std::string("pytorch_half_pixel")},
                             {"scales", std::vector<double>{1, 1, 0.5}},
                             {"sizes", Ints{1, 1, 1}}}),
                 "y");
  const auto input = to_bytes(DType::kFloat32, std::vector<double>{3, 8});
  for (const char* backend : {"reference", "cpu"}) {
    EXPECT_EQ(numbers(builder, run_on(backend, builder, {input})), std::vector<double>{3});
  }
}

// A quotient of halves is rounded to a half before it is rounded to an integer: 0.1 as a half is
// below 0.1, 2.25 / 0.1 = 22.5055 becomes 22.5 and then 22, not 23. Other types stay as they were.
TEST(Found, QuotientsOfHalvesAreHalves) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<double> values;
    for (int i = -400; i < 400; ++i) values.push_back(i / 64.0);
    ProgramBuilder builder;
    const TensorId x = builder.input("x", {dtype, {800}});
    const TensorId scale = builder.constant(make_tensor(dtype, {}, {0.1}));
    builder.output(builder.op(OpKind::kQuantizeLinear, {x, scale}, {{"to", std::string("i8")}}),
                   "y");
    const auto input = to_bytes(dtype, values);
    EXPECT_EQ(numbers(builder, run_on("cpu", builder, {input})),
              numbers(builder, run_on("reference", builder, {input})));
  }
}

}  // namespace
}  // namespace modeld::test
