// The contracts of layers that people get wrong (numbers by hand), on every backend.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/backend_suite.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr DType kF32 = DType::kFloat32;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostTensor f32(Shape shape, std::initializer_list<double> values) {
  return make_tensor(kF32, std::move(shape), values);
}
HostTensor i64(Shape shape, std::initializer_list<double> values) {
  return make_tensor(DType::kInt64, std::move(shape), values);
}

class LayerContract : public Conformance {
 protected:
  // Every output of one op whose inputs are all fed; `constants` (positions) are weights instead.
  std::vector<Floats> answers(OpKind kind, const std::vector<HostTensor>& inputs,
                              const Attributes::Map& attributes = {}, const Ints& constants = {}) {
    ProgramBuilder builder;
    std::vector<TensorId> ids;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool constant =
          std::find(constants.begin(), constants.end(), static_cast<int64_t>(i)) != constants.end();
      ids.push_back(constant ? builder.constant(inputs[i])
                             : builder.input("in" + std::to_string(i), inputs[i].type));
    }
    const auto outputs = builder.ops(kind, ids, attributes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      builder.output(outputs[i], "out" + std::to_string(i));
    }
    const auto capture = record(builder);
    for (const Slot& slot : capture->inputs()) {
      stage(*capture, slot.name, inputs[std::stoul(slot.name.substr(2))].bytes);
    }
    report_ = run(*capture);
    std::vector<Floats> results;
    for (const Slot& slot : capture->outputs()) results.push_back(output_of(*capture, slot.name));
    return results;
  }

  // The first output, exactly (with the sign of zero) or within `tolerance`.
  void expect(OpKind kind, const std::vector<HostTensor>& inputs, const Floats& want,
              const Attributes::Map& attributes = {}, double tolerance = 0) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const Floats have = answers(kind, inputs, attributes)[0];
    ASSERT_EQ(have.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(have[i])) << "element " << i << ": " << have[i];
      } else if (tolerance == 0 || std::isinf(want[i])) {
        EXPECT_EQ(have[i], want[i]) << "element " << i;
        EXPECT_EQ(std::signbit(have[i]), std::signbit(want[i])) << "sign of element " << i;
      } else {
        EXPECT_NEAR(have[i], want[i], tolerance) << "element " << i;
      }
    }
  }

  ReplayReport report_;
};

Attributes::Map convolution(Ints pads, Ints strides = {1}) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", Ints{1}},
          {"group", int64_t{1}}};
}

TEST_P(LayerContract, BatchNormAxisIsOneAndStatisticsAreGiven) {
  // Channel 0: mean 1, variance 3; channel 1: mean 0, variance 0; epsilon 1.
  expect(OpKind::kBatchNormalization,
         {f32({2, 2, 1}, {5, 2, 1, -2}), f32({2}, {1, 3}), f32({2}, {0, 10}), f32({2}, {1, 0}),
          f32({2}, {3, 0})},
         {2, 16, 0, 4}, {{"epsilon", 1.0}}, 1e-6);
}

TEST_P(LayerContract, ConvTransposeWeightLayoutAndOutputPadding) {
  // Two channels in, one out: weights (in, out, k) = [[1, 2]], [[10, 20]]; stride 2, one more
  // element at the end.
  auto attributes = convolution({0, 0}, {2});
  attributes["output_padding"] = Ints{1};
  expect(OpKind::kConvTranspose, {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2, 1, 2}, {1, 2, 10, 20})},
         {31, 62, 42, 84, 0}, attributes);
}

TEST_P(LayerContract, AsymmetricPads) {
  expect(OpKind::kConv, {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 3}, {1, 10, 100})},
         {210, 321, 32, 3}, convolution({1, 2}));
}

Attributes::Map lstm() {
  return {{"direction", std::string("forward")},
          {"activations", std::string("Sigmoid,Tanh,Tanh")},
          {"activation_alpha", Floats(3, 0.0)},
          {"activation_beta", Floats(3, 0.0)},
          {"input_forget", int64_t{0}}};
}

TEST_P(LayerContract, LstmGatesAreInputOutputForgetCell) {
  // i = 1, o = 0.5, f = 1, c~ = tanh(atanh 0.5) = 0.5; the cell starts at 2.
  const std::vector<HostTensor> inputs = {f32({1, 1, 1}, {1}),
                                          f32({1, 4, 1}, {100, 0, 100, std::atanh(0.5)}),
                                          f32({1, 4, 1}, {0, 0, 0, 0}),
                                          f32({1, 8}, {0, 0, 0, 0, 0, 0, 0, 0}),
                                          make_tensor(DType::kInt32, {1}, {1}),
                                          f32({1, 1, 1}, {0}),
                                          f32({1, 1, 1}, {2})};
  for (const Ints& constants : {Ints{}, Ints{1, 2, 3}}) {
    const auto have = answers(OpKind::kLstm, inputs, lstm(), constants);
    EXPECT_NEAR(have[0][0], 0.5 * std::tanh(2.5), 1e-6);
    EXPECT_NEAR(have[2][0], 2.5, 1e-6);
  }
}

TEST_P(LayerContract, LstmStateCarriesFromCallToCall) {
  const HostTensor w = f32({1, 4, 1}, {0.3, -0.2, 0.5, 0.7});
  const HostTensor r = f32({1, 4, 1}, {-0.4, 0.6, 0.1, 0.2});
  const HostTensor b = f32({1, 8}, {0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0});
  const HostTensor one = make_tensor(DType::kInt32, {1}, {1});
  const HostTensor two = make_tensor(DType::kInt32, {1}, {2});
  const HostTensor zero = f32({1, 1, 1}, {0});
  const auto whole = answers(OpKind::kLstm, {f32({2, 1, 1}, {0.9, -0.8}), w, r, b, two, zero, zero},
                             lstm(), {1, 2, 3});
  const auto first =
      answers(OpKind::kLstm, {f32({1, 1, 1}, {0.9}), w, r, b, one, zero, zero}, lstm(), {1, 2, 3});
  const auto second = answers(OpKind::kLstm,
                              {f32({1, 1, 1}, {-0.8}), w, r, b, one, f32({1, 1, 1}, {first[1][0]}),
                               f32({1, 1, 1}, {first[2][0]})},
                              lstm(), {1, 2, 3});
  EXPECT_NEAR(whole[0][0], first[0][0], 1e-6);
  EXPECT_NEAR(whole[0][1], second[0][0], 1e-6);
  EXPECT_NEAR(whole[2][0], second[2][0], 1e-6);
}

TEST_P(LayerContract, GruGatesAreUpdateResetHidden) {
  // z = 0.5, r = 1, h~ = 0.5; the state starts at 1: 0.5 * 0.5 + 0.5 * 1.
  const Attributes::Map gru = {{"direction", std::string("forward")},
                               {"activations", std::string("Sigmoid,Tanh")},
                               {"activation_alpha", Floats(2, 0.0)},
                               {"activation_beta", Floats(2, 0.0)},
                               {"linear_before_reset", int64_t{0}}};
  const std::vector<HostTensor> inputs = {f32({1, 1, 1}, {1}),
                                          f32({1, 3, 1}, {0, 100, std::atanh(0.5)}),
                                          f32({1, 3, 1}, {0, 0, 0}),
                                          f32({1, 6}, {0, 0, 0, 0, 0, 0}),
                                          make_tensor(DType::kInt32, {1}, {1}),
                                          f32({1, 1, 1}, {1})};
  for (const Ints& constants : {Ints{}, Ints{1, 2, 3}}) {
    EXPECT_NEAR(answers(OpKind::kGru, inputs, gru, constants)[1][0], 0.75, 1e-6);
  }
}

TEST_P(LayerContract, StepsBehindASequencesLengthAreZeroAndKeepTheState) {
  const Attributes::Map rnn = {{"direction", std::string("reverse")},
                               {"activations", std::string("Relu")},
                               {"activation_alpha", Floats(1, 0.0)},
                               {"activation_beta", Floats(1, 0.0)}};
  // h = x + h', backwards over the first two of three steps: 2, then 1 + 2.
  const auto have = answers(OpKind::kRnn,
                            {f32({3, 1, 1}, {1, 2, 100}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {1}),
                             f32({1, 2}, {0, 0}), make_tensor(DType::kInt32, {1}, {2})},
                            rnn, {1, 2, 3});
  EXPECT_EQ(have[0], (Floats{3, 2, 0}));
  EXPECT_EQ(have[1], (Floats{3}));
}

TEST_P(LayerContract, NormalisationsOfHalvesAreComputedWide) {
  // The squares, 90000, have no float16.
  const HostTensor x = make_tensor(DType::kFloat16, {1, 4}, {300, -300, 300, -300});
  const HostTensor scale = make_tensor(DType::kFloat16, {4}, {1, 1, 2, 2});
  const Attributes::Map last = {{"axis", int64_t{1}}, {"epsilon", 1e-5}};
  expect(OpKind::kLayerNormalization, {x, scale}, {1, -1, 2, -2}, last, 1e-3);
  expect(OpKind::kRmsNormalization, {x, scale}, {1, -1, 2, -2}, last, 1e-3);
}

TEST_P(LayerContract, IndicesOutOfRangeReadZeroWriteNothingAndAreFlagged) {
  const HostTensor x = f32({3}, {1, 2, 3});
  const HostTensor index = i64({2}, {-1, 3});
  const HostTensor tuples = i64({2, 1}, {-4, 1});
  EXPECT_EQ(answers(OpKind::kGather, {x, index}, {{"axis", int64_t{0}}})[0], (Floats{3, 0}));
  EXPECT_EQ(report_.index_out_of_range, 1u);
  EXPECT_EQ(answers(OpKind::kGatherElements, {x, index}, {{"axis", int64_t{0}}})[0],
            (Floats{3, 0}));
  EXPECT_EQ(report_.index_out_of_range, 1u);
  EXPECT_EQ(answers(OpKind::kGatherNd, {x, tuples}, {{"batch_dims", int64_t{0}}})[0],
            (Floats{0, 2}));
  EXPECT_EQ(report_.index_out_of_range, 1u);
  const HostTensor updates = f32({2}, {10, 20});
  const Attributes::Map elements = {{"axis", int64_t{0}}, {"reduction", std::string("none")}};
  EXPECT_EQ(answers(OpKind::kScatterElements, {x, index, updates}, elements)[0],
            (Floats{1, 2, 10}));
  EXPECT_EQ(report_.index_out_of_range, 1u);
  EXPECT_EQ(
      answers(OpKind::kScatterNd, {x, tuples, updates}, {{"reduction", std::string("none")}})[0],
      (Floats{1, 20, 3}));
  EXPECT_EQ(report_.index_out_of_range, 1u);
}

TEST_P(LayerContract, ScatterTakesDuplicatesInOrder) {
  const HostTensor x = f32({3}, {1, 2, 3});
  const HostTensor twice = i64({2}, {1, 1});
  const HostTensor updates = f32({2}, {10, 20});
  const auto by = [](const char* reduction) {
    return Attributes::Map{{"axis", int64_t{0}}, {"reduction", std::string(reduction)}};
  };
  expect(OpKind::kScatterElements, {x, twice, updates}, {1, 20, 3}, by("none"));
  expect(OpKind::kScatterElements, {x, twice, updates}, {1, 32, 3}, by("add"));
  expect(OpKind::kScatterElements, {x, twice, updates}, {1, 400, 3}, by("mul"));
  expect(OpKind::kScatterElements, {x, twice, updates}, {1, 20, 3}, by("max"));
  expect(OpKind::kScatterElements, {x, twice, updates}, {1, 2, 3}, by("min"));
  expect(OpKind::kScatterNd, {x, i64({2, 1}, {-2, 1}), updates}, {1, 32, 3},
         {{"reduction", std::string("add")}});
}

TEST_P(LayerContract, IntegerDivisionTruncatesAndArithmeticWraps) {
  const auto i8 = [](std::initializer_list<double> values) {
    return make_tensor(DType::kInt8, {static_cast<int64_t>(values.size())}, values);
  };
  expect(OpKind::kDiv, {i8({7, -7, -128}), i8({2, 2, -1})}, {3, -3, -128});
  expect(OpKind::kAdd, {i8({127, -128}), i8({1, -1})}, {-128, 127});
  expect(OpKind::kMul, {i8({100}), i8({3})}, {44});
  expect(OpKind::kNeg, {i8({-128})}, {-128});
  expect(OpKind::kDiv, {i8({5}), i8({0})}, {0});
  EXPECT_EQ(report_.integer_division_by_zero, 1u);
}

TEST_P(LayerContract, ReductionsOverEmptyAxesAreTheirIdentities) {
  const HostTensor nothing{{kF32, {2, 0}}, {}};
  const Attributes::Map over = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  expect(OpKind::kReduceSum, {nothing}, {0, 0}, over);
  expect(OpKind::kReduceProd, {nothing}, {1, 1}, over);
  expect(OpKind::kReduceMax, {nothing}, {-kInf, -kInf}, over);
  expect(OpKind::kReduceMin, {nothing}, {kInf, kInf}, over);
  expect(OpKind::kReduceMean, {nothing}, {kNan, kNan}, over);
  expect(OpKind::kReduceL2, {nothing}, {0, 0}, over);
  expect(OpKind::kReduceLogSumExp, {nothing}, {-kInf, -kInf}, over);
  const HostTensor integers{{DType::kInt8, {1, 0}}, {}};
  expect(OpKind::kReduceMax, {integers}, {-128}, over);
}

TEST_P(LayerContract, LogSumExpNeitherOverflowsNorLosesInfinities) {
  const Attributes::Map over = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  expect(OpKind::kReduceLogSumExp, {f32({3, 2}, {1000, 1000, -kInf, -kInf, kInf, 1})},
         {1000 + std::log(2.0), -kInf, kInf}, over, 1e-3);
}

TEST_P(LayerContract, NegativeZeroStays) {
  expect(OpKind::kNeg, {f32({2}, {0.0, -0.0})}, {-0.0, 0.0});
  expect(OpKind::kAbs, {f32({1}, {-0.0})}, {0.0});
  expect(OpKind::kAdd, {f32({2}, {-0.0, -0.0}), f32({2}, {-0.0, 0.0})}, {-0.0, 0.0});
  expect(OpKind::kRound, {f32({2}, {-0.3, -0.5})}, {-0.0, -0.0});
  expect(OpKind::kCeil, {f32({1}, {-0.5})}, {-0.0});
  expect(OpKind::kReciprocal, {f32({2}, {-0.0, 0.0})}, {-kInf, kInf});
}

TEST_P(LayerContract, NanAndInfinityThroughMaxMinClip) {
  const HostTensor a = f32({4}, {kNan, 1, kInf, -kInf});
  const HostTensor b = f32({4}, {1, kNan, 0, 0});
  expect(OpKind::kMax, {a, b}, {kNan, kNan, kInf, 0});
  expect(OpKind::kMin, {a, b}, {kNan, kNan, 0, -kInf});
  expect(OpKind::kClip, {a}, {kNan, 1, 6, 0}, {{"min", 0.0}, {"max", 6.0}});
  expect(OpKind::kSign, {a}, {kNan, 1, 1, -1});
}

TEST_P(LayerContract, NanAndInfinityThroughSoftmax) {
  const Attributes::Map last = {{"axis", int64_t{1}}};
  expect(OpKind::kSoftmax, {f32({3, 2}, {1, -kInf, kNan, 1, -kInf, -kInf})},
         {1, 0, kNan, kNan, kNan, kNan}, last);
  expect(OpKind::kLogSoftmax, {f32({1, 2}, {1, -kInf})}, {0, -kInf}, last);
}

TEST_P(LayerContract, NanAndInfinityThroughPools) {
  const Attributes::Map pool = {{"kernel_shape", Ints{2}},
                                {"strides", Ints{2}},
                                {"pads", Ints{0, 0}},
                                {"dilations", Ints{1}}};
  const HostTensor x = f32({1, 1, 6}, {1, kNan, kInf, 1, -kInf, -kInf});
  expect(OpKind::kMaxPool, {x}, {kNan, kInf, -kInf}, pool);
  expect(OpKind::kAveragePool, {x}, {kNan, kInf, -kInf}, pool);
}

TEST_P(LayerContract, HalvesOverflowToInfinity) {
  const HostTensor x = make_tensor(DType::kFloat16, {3}, {300, -300, 250});
  expect(OpKind::kMul, {x, x}, {kInf, kInf, 62496});
  expect(OpKind::kCast, {f32({2}, {70000, -70000})}, {kInf, -kInf}, {{"to", std::string("f16")}});
}

TEST_P(LayerContract, QuantisingRoundsHalfToEvenAndSaturates) {
  const Attributes::Map to = {{"to", std::string("u8")}};
  const HostTensor zero = make_tensor(DType::kUInt8, {}, {10});
  expect(OpKind::kQuantizeLinear, {f32({6}, {1, 3, 5, 1000, -1000, kNan}), f32({}, {2}), zero},
         {10, 12, 12, 255, 0, 0}, to);
  expect(OpKind::kDequantizeLinear,
         {make_tensor(DType::kUInt8, {3}, {0, 10, 255}), f32({}, {0.5}), zero}, {-5, 0, 122.5},
         {{"to", std::string("f32")}});
}

TEST_P(LayerContract, IntegerConvolutionPadsWithTheZeroPoint) {
  // x - 1 = 0, 1, 2 behind a padding that counts as 0; weights 1, 10.
  const auto u8 = [](Shape shape, std::initializer_list<double> values) {
    return make_tensor(DType::kUInt8, std::move(shape), values);
  };
  const std::vector<HostTensor> inputs = {u8({1, 1, 3}, {1, 2, 3}), u8({1, 1, 2}, {1, 10}),
                                          u8({}, {1})};
  EXPECT_EQ(answers(OpKind::kConvInteger, inputs, convolution({1, 0}))[0], (Floats{0, 10, 21}));
  EXPECT_EQ(answers(OpKind::kConvInteger, inputs, convolution({1, 0}), {1})[0],
            (Floats{0, 10, 21}));
}

TEST_P(LayerContract, SuppressionFillsUnusedRowsWithMinusOne) {
  // Boxes 0 and 1 overlap, box 2 stands apart.
  const HostTensor boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3});
  const HostTensor scores = f32({1, 1, 3}, {0.8, 0.9, 0.3});
  expect(OpKind::kNonMaxSuppression, {boxes, scores, f32({}, {0.5}), f32({}, {0.1})},
         {0, 0, 1, 0, 0, 2, -1, -1, -1},
         {{"max_output", int64_t{3}}, {"center_point_box", int64_t{0}}});
}

// The OpenCL backend has no code for many of these ops yet; what it has is compared with the
// reference in op_agreement_test.cpp.
std::vector<BackendCase> complete_backends() {
  std::vector<BackendCase> backends = all_backends();
  std::erase_if(backends, [](const BackendCase& one) { return one.name == "opencl"; });
  return backends;
}

INSTANTIATE_TEST_SUITE_P(Backend, LayerContract, testing::ValuesIn(complete_backends()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace modeld::test
