// The shape and state contracts of layers (facts/source-contracts.md 2): small cases by hand.
#include "tests/reference/evaluate_support.h"

namespace modeld::test {
namespace {

Attributes::Map conv(Ints strides, Ints pads, Ints dilations, int64_t group) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", std::move(dilations)},
          {"group", group}};
}

Attributes::Map pool(Ints kernel, Ints strides, Ints pads, int64_t ceil_mode = 0) {
  const size_t axes = kernel.size();
  return {{"kernel_shape", std::move(kernel)},
          {"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", Ints(axes, 1)},
          {"ceil_mode", ceil_mode}};
}

TEST(ReferenceLayers, BatchNormUsesChannelAxisOne) {
  // (N, C, W) = (2, 2, 1): channel 0 has mean 1, variance 3; channel 1 mean 0, variance 0.
  expect_op(OpKind::kBatchNormalization,
            {f32({2, 2, 1}, {5, 2, 1, -2}), f32({2}, {1, 3}), f32({2}, {0, 10}), f32({2}, {1, 0}),
             f32({2}, {3, 0})},
            {2, 16, 0, 4}, {{"epsilon", 1.0}});
}

TEST(ReferenceLayers, LayerNormUsesThePopulationVarianceOfTheTail) {
  // Row 1, 3: mean 2, variance 1; epsilon 3 makes the deviation 2.
  expect_op(OpKind::kLayerNormalization,
            {f32({2, 2}, {1, 3, 5, 5}), f32({2}, {2, 4}), f32({2}, {10, 20})}, {9, 22, 10, 20},
            {{"axis", int64_t{1}}, {"epsilon", 3.0}});
}

TEST(ReferenceLayers, SoftmaxOverOneAxisIsStable) {
  expect_op(OpKind::kSoftmax, {f32({2, 2}, {1000, 0, 1000, 0})}, {0.5, 0.5, 0.5, 0.5},
            {{"axis", int64_t{0}}}, 1e-7);
  const double e = std::exp(1.0);
  expect_op(OpKind::kSoftmax, {f32({1, 2}, {1001, 1000})}, {e / (e + 1), 1 / (e + 1)},
            {{"axis", int64_t{1}}}, 1e-7);
}

TEST(ReferenceLayers, ConvWithAsymmetricPads) {
  // 1-D, kernel [1, 10, 100], one zero before, two behind.
  expect_op(OpKind::kConv, {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 3}, {1, 10, 100})},
            {210, 321, 32, 3}, conv({1}, {1, 2}, {1}, 1));
  // Stride 2 and dilation 2: taps at 0, 2 and at 2, 4.
  expect_op(OpKind::kConv, {f32({1, 1, 5}, {1, 2, 3, 4, 5}), f32({1, 1, 2}, {1, 10})}, {31, 53},
            conv({2}, {0, 0}, {2}, 1));
}

TEST(ReferenceLayers, ConvInTwoDimensions) {
  // 2x3 picture, kernel [[1,2],[3,4]] (cross-correlation), one column of zeros on the left.
  expect_op(OpKind::kConv, {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 1, 2, 2}, {1, 2, 3, 4})},
            {18, 37, 47}, conv({1, 1}, {0, 1, 0, 0}, {1, 1}, 1));
}

TEST(ReferenceLayers, ConvWeightsAreOutByInOverGroups) {
  // Two groups of one input channel, two outputs each; 1x1 kernels 1, 2, 3, 4; bias and residual.
  expect_op(OpKind::kConv,
            {f32({1, 2, 1}, {10, 100}), f32({4, 1, 1}, {1, 2, 3, 4}), f32({4}, {1, 1, 1, -500}),
             f32({1, 4, 1}, {0.5, 0, 0, 0})},
            {11.5, 21, 301, 0}, [] {
              auto attributes = conv({1}, {0, 0}, {1}, 2);
              attributes["activation"] = std::string("Relu");
              return attributes;
            }());
}

TEST(ReferenceLayers, ConvTransposeWeightsAreInByOutOverGroups) {
  // Two inputs, one output channel: weights (2, 1, 2); stride 2 leaves no overlap.
  auto attributes = conv({2}, {0, 0}, {1}, 1);
  attributes["output_padding"] = Ints{1};
  expect_op(OpKind::kConvTranspose,
            {f32({1, 2, 2}, {1, 2, 10, 20}), f32({2, 1, 2}, {1, 2, 3, 4}), f32({1}, {100})},
            {131, 142, 162, 184, 100}, attributes);
  // Two groups: each input channel feeds its own two outputs.
  auto grouped = conv({1}, {0, 0}, {1}, 2);
  grouped["output_padding"] = Ints{0};
  expect_op(OpKind::kConvTranspose, {f32({1, 2, 1}, {1, 10}), f32({2, 2, 1}, {1, 2, 3, 4})},
            {1, 2, 30, 40}, grouped);
}

TEST(ReferenceLayers, ConvTransposePadsCutTheResult) {
  auto attributes = conv({1}, {1, 0}, {1}, 1);
  attributes["output_padding"] = Ints{0};
  // Full result of [1, 2] and [1, 10, 100] is 1, 12, 120, 200.
  expect_op(OpKind::kConvTranspose, {f32({1, 1, 2}, {1, 2}), f32({1, 1, 3}, {1, 10, 100})},
            {12, 120, 200}, attributes);
}

TEST(ReferenceLayers, GemmWithEverything) {
  Attributes::Map attributes = {{"alpha", 2.0},
                                {"beta", 10.0},
                                {"trans_a", int64_t{1}},
                                {"trans_b", int64_t{1}},
                                {"activation", std::string("Clip")},
                                {"activation_alpha", -20.0},
                                {"activation_beta", 100.0}};
  // A' = [1 2], B' = [[3, -5], [4, -6]]: A'B' = [11, -17]; times 2; plus 10 * [1, 1]; plus R.
  expect_op(
      OpKind::kGemm,
      {f32({2, 1}, {1, 2}), f32({2, 2}, {3, 4, -5, -6}), f32({1}, {1}), f32({1, 2}, {1000, 1})},
      {100, -20}, attributes);
}

TEST(ReferenceLayers, MatMulBroadcastsAndTakesVectors) {
  const HostTensor stack = f32({2, 1, 2}, {1, 2, 3, 4});
  expect_op(OpKind::kMatMul, {stack, f32({2, 2}, {1, 10, 100, 1000})}, {201, 2010, 403, 4030});
  expect_op(OpKind::kMatMul, {f32({2}, {1, 2}), f32({2, 2}, {1, 10, 100, 1000}), f32({2}, {5, 6})},
            {206, 2016});
  expect_op(OpKind::kMatMul, {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 10}), f32({2}, {100, 200})},
            {121, 243});
  expect_op(OpKind::kMatMul, {f32({2}, {1, 2}), f32({2}, {3, 4})}, {11});
  expect_op(
      OpKind::kMatMul,
      {make_tensor(DType::kInt32, {1, 1}, {65536}), make_tensor(DType::kInt32, {1, 1}, {65536})},
      {0});
}

TEST(ReferenceLayers, PoolsPassNanAndIgnorePadding) {
  expect_op(OpKind::kMaxPool, {f32({1, 1, 4}, {kNan, 1, -5, -7})}, {kNan, kNan, 1, -5},
            pool({2}, {1}, {1, 0}));
  expect_op(OpKind::kMaxPool, {make_tensor(DType::kInt8, {1, 1, 2}, {-128, -100})}, {-128, -100},
            pool({2}, {1}, {1, 0}));
  expect_op(OpKind::kAveragePool, {f32({1, 1, 4}, {kNan, 1, 3, 5})}, {kNan, kNan, 2, 4},
            pool({2}, {1}, {1, 0}));
}

TEST(ReferenceLayers, AveragePoolCountsPaddingOnlyIfAsked) {
  const HostTensor x = f32({1, 1, 3}, {3, 6, 9});
  expect_op(OpKind::kAveragePool, {x}, {4.5, 6, 7.5}, pool({3}, {1}, {1, 1}));
  auto with_padding = pool({3}, {1}, {1, 1});
  with_padding["count_include_pad"] = int64_t{1};
  expect_op(OpKind::kAveragePool, {x}, {3, 6, 5}, with_padding);
  // ceil_mode: the last window has one element and no padding beyond it.
  auto ceiling = pool({2}, {2}, {0, 0}, 1);
  ceiling["count_include_pad"] = int64_t{1};
  expect_op(OpKind::kAveragePool, {x}, {4.5, 9}, ceiling);
}

TEST(ReferenceLayers, Reductions) {
  const HostTensor x = f32({2, 3}, {1, -2, 3, -4, 5, -6});
  const auto over = [](Ints axes) {
    return Attributes::Map{{"axes", std::move(axes)}, {"keepdims", int64_t{0}}};
  };
  expect_op(OpKind::kReduceSum, {x}, {2, -5}, over({1}));
  expect_op(OpKind::kReduceSum, {x}, {-3, 3, -3}, over({0}));
  expect_op(OpKind::kReduceMean, {x}, {-0.5}, over({0, 1}));
  expect_op(OpKind::kReduceL1, {x}, {6, 15}, over({1}));
  expect_op(OpKind::kReduceL2, {f32({2}, {3, -4})}, {5}, over({0}));
  expect_op(OpKind::kReduceProd, {x}, {-4, -10, -18}, over({0}));
  expect_op(OpKind::kReduceSumSquare, {x}, {14, 77}, over({1}));
  expect_op(OpKind::kReduceMax, {f32({2, 2}, {1, kNan, 2, 3})}, {kNan, 3}, over({1}));
  expect_op(OpKind::kReduceMin, {x}, {-2, -6}, over({1}));
  expect_op(OpKind::kReduceMax, {f32({0, 2}, {})}, {-kInf, -kInf}, over({0}));
  expect_op(OpKind::kReduceMean, {f32({0, 1}, {})}, {kNan}, over({0}));
  expect_op(OpKind::kReduceMean, {make_tensor(DType::kInt32, {2}, {-4, 1})}, {-1}, over({0}));
  // Found by tests/fuzz/onnx_fuzz.cpp: 3037000500 squared is beyond 63 bits and reads as negative.
  expect_op(OpKind::kReduceL2, {make_tensor(DType::kInt64, {1}, {3037000500})}, {0}, over({0}));
  expect_op(OpKind::kReduceL2, {make_tensor(DType::kInt64, {2}, {-3, 4})}, {5}, over({0}));
  // Outer and inner axis reduced, the middle one kept.
  expect_op(OpKind::kReduceSum, {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {14, 22}, over({0, 2}));
}

TEST(ReferenceLayers, ArgMaxTiesAndNan) {
  const auto arg = [](int64_t axis, int64_t last) {
    return Attributes::Map{{"axis", axis}, {"keepdims", int64_t{0}}, {"select_last_index", last}};
  };
  const HostTensor x = f32({2, 3}, {2, 2, 1, 1, 5, 5});
  expect_op(OpKind::kArgMax, {x}, {0, 1}, arg(1, 0));
  expect_op(OpKind::kArgMax, {x}, {1, 2}, arg(1, 1));
  expect_op(OpKind::kArgMin, {x}, {1, 0, 0}, arg(0, 0));
  expect_op(OpKind::kArgMax, {f32({3}, {1, kNan, 9})}, {1}, arg(0, 0));
}

TEST(ReferenceLayers, ResizeNearestAndLinear) {
  const auto resize = [](const std::string& mode, const std::string& coordinates, double scale,
                         int64_t size) {
    return Attributes::Map{{"mode", mode},
                           {"coordinate_transformation_mode", coordinates},
                           {"nearest_mode", std::string("round_prefer_floor")},
                           {"scales", Floats{scale}},
                           {"sizes", Ints{size}}};
  };
  const HostTensor x = f32({2}, {0, 8});
  expect_op(OpKind::kResize, {x}, {0, 0, 8, 8}, resize("nearest", "half_pixel", 2, 4));
  // half_pixel doubles: sources -0.25, 0.25, 0.75, 1.25, clamped.
  expect_op(OpKind::kResize, {x}, {0, 2, 6, 8}, resize("linear", "half_pixel", 2, 4));
  expect_op(OpKind::kResize, {f32({2}, {0, 9})}, {0, 3, 6, 9},
            resize("linear", "align_corners", 2, 4));
  expect_op(OpKind::kResize, {x}, {0, 4, 8, 8}, resize("linear", "asymmetric", 2, 4));
  // Cubic with a = -0.75 at source 0.5 of [0, 8] between clamped neighbours: symmetric, so 4.
  expect_op(
      OpKind::kResize, {f32({4}, {0, 0, 8, 8})}, {4},
      [&] {
        auto attributes = resize("cubic", "half_pixel", 0.25, 1);
        return attributes;
      }(),
      1e-6);
}

}  // namespace
}  // namespace modeld::test
