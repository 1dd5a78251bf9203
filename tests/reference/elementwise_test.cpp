// Values worked out by hand from IEEE 754 and the ONNX operator documentation (opset 18).
#include "tests/reference/evaluate_support.h"

namespace modeld::test {
namespace {

HostTensor i32(Shape shape, std::initializer_list<double> values) {
  return make_tensor(DType::kInt32, std::move(shape), values);
}

TEST(ReferenceElementwise, RoundGoesHalfToEven) {
  expect_op(OpKind::kRound, {f32({7}, {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4})},
            {0, 2, 2, -0.0, -2, -2, 2});
}

TEST(ReferenceElementwise, NanPassesThroughMaxMinClipAndRelu) {
  const HostTensor a = f32({4}, {kNan, 1, kNan, -1});
  const HostTensor b = f32({4}, {1, kNan, kNan, 2});
  expect_op(OpKind::kMax, {a, b}, {kNan, kNan, kNan, 2});
  expect_op(OpKind::kMin, {a, b}, {kNan, kNan, kNan, -1});
  expect_op(OpKind::kMax, {f32({1}, {1}), f32({1}, {kNan}), f32({1}, {3})}, {kNan});
  expect_op(OpKind::kClip, {a}, {kNan, 0.5, kNan, -0.5}, {{"min", -0.5}, {"max", 0.5}});
  expect_op(OpKind::kRelu, {a}, {kNan, 1, kNan, 0});
  expect_op(OpKind::kHardSigmoid, {a}, {kNan, 0.75, kNan, 0.25}, {{"alpha", 0.25}, {"beta", 0.5}});
}

TEST(ReferenceElementwise, ClipWithOneBoundOrCrossedBounds) {
  expect_op(OpKind::kClip, {f32({3}, {-2, 0, 2})}, {-1, 0, 2}, {{"min", -1.0}});
  expect_op(OpKind::kClip, {f32({3}, {-2, 0, 2})}, {-2, 0, 1}, {{"max", 1.0}});
  // NumPy: the upper bound wins.
  expect_op(OpKind::kClip, {f32({2}, {-2, 5})}, {1, 1}, {{"min", 2.0}, {"max", 1.0}});
  expect_op(OpKind::kClip, {i32({4}, {-9, 1, 2, 9})}, {1, 1, 2, 2}, {{"min", 0.5}, {"max", 2.5}});
}

TEST(ReferenceElementwise, SignedZero) {
  expect_op(OpKind::kNeg, {f32({2}, {0.0, -0.0})}, {-0.0, 0.0});
  expect_op(OpKind::kCeil, {f32({1}, {-0.3})}, {-0.0});
  expect_op(OpKind::kMul, {f32({1}, {-0.0}), f32({1}, {3})}, {-0.0});
  expect_op(OpKind::kDiv, {f32({1}, {1}), f32({1}, {-0.0})}, {-kInf});
  expect_op(OpKind::kSqrt, {f32({2}, {-0.0, -1})}, {-0.0, kNan});
  expect_op(OpKind::kReciprocal, {f32({2}, {-0.0, 4})}, {-kInf, 0.25});
}

TEST(ReferenceElementwise, HalfOverflowsToInfinityAndRoundsOnce) {
  const auto half = [](std::initializer_list<double> values) {
    return make_tensor(DType::kFloat16, {static_cast<int64_t>(values.size())}, values);
  };
  // 65504 is the largest half; 65520 and above round to infinity.
  expect_op(OpKind::kAdd, {half({65504, 65504, -65504}), half({8, 16, -16})}, {65504, kInf, -kInf});
  // 1 + 2^-11 + 2^-25 lies just above the tie of 1 and 1 + 2^-10: one rounding goes up, a
  // rounding to float first would fall on the tie and then to even, down.
  const HostTensor sum = make_tensor(DType::kFloat64, {1}, {1 + 0x1p-11 + 0x1p-25});
  expect_op(OpKind::kCast, {sum}, {1 + 0x1p-10}, {{"to", std::string("f16")}});
  expect_op(OpKind::kCast, {make_tensor(DType::kFloat64, {1}, {1 + 0x1p-8 + 0x1p-30})},
            {1 + 0x1p-7}, {{"to", std::string("bf16")}});
}

TEST(ReferenceElementwise, IntegerDivisionTruncatesAndWraps) {
  expect_op(OpKind::kDiv, {i32({4}, {7, -7, 7, -7}), i32({4}, {2, 2, -2, -2})}, {3, -3, -3, 3});
  const double least = std::numeric_limits<int32_t>::min();
  expect_op(OpKind::kDiv, {i32({1}, {least}), i32({1}, {-1})}, {least});
  expect_op(OpKind::kAdd, {i32({1}, {2147483647}), i32({1}, {1})}, {least});
  expect_op(OpKind::kMul,
            {make_tensor(DType::kUInt8, {1}, {16}), make_tensor(DType::kUInt8, {1}, {17})}, {16});
  expect_op(OpKind::kSub,
            {make_tensor(DType::kUInt8, {1}, {1}), make_tensor(DType::kUInt8, {1}, {2})}, {255});
  expect_op(OpKind::kAbs, {i32({2}, {least, -3})}, {least, 3});
}

TEST(ReferenceElementwise, IntegerDivisionByZeroIsFlagged) {
  const HostTensor one = i32({2}, {1, 2});
  const HostTensor zero = i32({2}, {0, 1});
  const HostTensor* const inputs[] = {&one, &zero};
  for (const OpKind kind : {OpKind::kDiv, OpKind::kMod}) {
    const auto result = evaluate(make_op(kind), inputs);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kRefused);
    EXPECT_EQ(result.error().found, "1 of 0");
  }
}

TEST(ReferenceElementwise, ModFollowsTheDivisorOrTheDividend) {
  const HostTensor a = i32({4}, {7, -7, 7, -7});
  const HostTensor b = i32({4}, {3, 3, -3, -3});
  expect_op(OpKind::kMod, {a, b}, {1, 2, -2, -1});
  expect_op(OpKind::kMod, {a, b}, {1, -1, 1, -1}, {{"fmod", int64_t{1}}});
  expect_op(OpKind::kMod, {f32({2}, {-4.5, 5.5}), f32({2}, {2, -2})}, {-0.5, 1.5},
            {{"fmod", int64_t{1}}});
}

TEST(ReferenceElementwise, PowMixesTypes) {
  expect_op(OpKind::kPow, {i32({3}, {2, -3, 2}), make_tensor(DType::kInt64, {3}, {10, 3, -1})},
            {1024, -27, 0});
  expect_op(OpKind::kPow, {f32({2}, {4, 2}), make_tensor(DType::kInt32, {}, {-1})}, {0.25, 0.5});
  expect_op(OpKind::kPow, {i32({1}, {4}), f32({1}, {0.5})}, {2});
}

TEST(ReferenceElementwise, ComparisonsWithNanAreFalse) {
  const HostTensor a = f32({3}, {kNan, 1, 2});
  const HostTensor b = f32({3}, {kNan, 1, 1});
  expect_op(OpKind::kEqual, {a, b}, {0, 1, 0});
  expect_op(OpKind::kGreaterOrEqual, {a, b}, {0, 1, 1});
  expect_op(OpKind::kLess, {a, b}, {0, 0, 0});
  // Unsigned 64-bit values above 2^63 do not turn negative.
  HostTensor large = make_tensor(DType::kUInt64, {1}, {9.3e18});
  expect_op(OpKind::kGreater, {large, make_tensor(DType::kUInt64, {1}, {1})}, {1});
}

TEST(ReferenceElementwise, BroadcastInEveryDirection) {
  expect_op(OpKind::kAdd, {f32({2, 1}, {10, 20}), f32({3}, {1, 2, 3})}, {11, 12, 13, 21, 22, 23});
  expect_op(OpKind::kSub, {f32({}, {10}), f32({2, 2}, {1, 2, 3, 4})}, {9, 8, 7, 6});
  expect_op(OpKind::kWhere,
            {make_tensor(DType::kBool, {2, 1}, {1, 0}), f32({2}, {1, 2}), f32({}, {9})},
            {1, 2, 9, 9});
  expect_op(OpKind::kPRelu, {f32({2, 2}, {-1, 2, -3, 4}), f32({2, 1}, {10, 100})},
            {-10, 2, -300, 4});
  expect_op(OpKind::kMul, {f32({0, 2}, {}), f32({2}, {1, 2})}, {});
}

TEST(ReferenceElementwise, ActivationsAtKnownPoints) {
  expect_op(OpKind::kSilu, {f32({2}, {0, 1})}, {0, 0.7310585786300049}, {}, 1e-7);
  expect_op(OpKind::kGelu, {f32({2}, {1, -1})}, {0.8413447460685429, -0.15865525393145707},
            {{"approximate", std::string("none")}}, 1e-7);
  expect_op(OpKind::kGelu, {f32({2}, {1, -1})}, {0.8411919906082768, -0.15880800939172324},
            {{"approximate", std::string("tanh")}}, 1e-7);
  expect_op(OpKind::kSoftplus, {f32({3}, {0, 200, -200})}, {0.6931471805599453, 200, 0}, {}, 1e-7);
  expect_op(OpKind::kHardSwish, {f32({3}, {-4, 0, 4})}, {-0.0, 0, 4});
  expect_op(OpKind::kElu, {f32({2}, {-1, 2})}, {-1.2642411176571153, 2}, {{"alpha", 2.0}}, 1e-6);
  expect_op(OpKind::kLeakyRelu, {f32({2}, {-2, 3})}, {-0.5, 3}, {{"alpha", 0.25}});
  expect_op(OpKind::kErf, {f32({1}, {0.5})}, {0.5204998778130465}, {}, 1e-7);
}

TEST(ReferenceElementwise, CastTruncatesSaturatesAndWraps) {
  const HostTensor x = f32({6}, {-1.9, 1.9, 300, -300, kNan, kInf});
  expect_op(OpKind::kCast, {x}, {-1, 1, 127, -128, 0, 127}, {{"to", std::string("i8")}});
  expect_op(OpKind::kCast, {x}, {0, 1, 255, 0, 0, 255}, {{"to", std::string("u8")}});
  expect_op(OpKind::kCast, {f32({4}, {0, -0.0, kNan, 0.1})}, {0, 0, 1, 1},
            {{"to", std::string("bool")}});
  expect_op(OpKind::kCast, {i32({2}, {257, -1})}, {1, 255}, {{"to", std::string("u8")}});
  // 2^24 + 1 is a tie in float: to even.
  expect_op(OpKind::kCast, {i32({1}, {16777217})}, {16777216}, {{"to", std::string("f32")}});
}

TEST(ReferenceElementwise, EvaluateRefusesWrongBytesAndFrames) {
  HostTensor x = f32({2}, {1, 2});
  x.bytes.resize(7);
  const HostTensor* const short_input[] = {&x};
  const auto cut = evaluate(make_op(OpKind::kAbs), short_input);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().expected, "8");
  EXPECT_EQ(cut.error().found, "7");
  EXPECT_NE(cut.error().context.find("Abs 'node'"), std::string::npos);

  const HostTensor huge = f32({1}, {1});
  const HostTensor* const one[] = {&huge};
  const auto expand = evaluate(make_op(OpKind::kExpand, {{"shape", Ints{1 << 20, 1 << 20}}}), one);
  ASSERT_FALSE(expand.ok());
  EXPECT_EQ(expand.error().code, ErrorCode::kExhausted);
}

}  // namespace
}  // namespace modeld::test
