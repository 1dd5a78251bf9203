// Element-wise ops, normalisations and reductions against the reference loops.
#include "tests/cpu/differential.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

TensorType f32(Shape shape) {
  return {DType::kFloat32, std::move(shape)};
}

TEST(CpuPointwise, Unary) {
  using enum OpKind;
  for (const OpKind kind : {kAbs, kCeil, kErf, kExp, kFloor, kHardSwish, kNeg, kReciprocal, kRelu,
                            kRound, kSigmoid, kSilu, kSoftplus, kTanh}) {
    expect_op_same_as_reference({kind, {f32({3, 5, 7, 11})}}, 2e-6, 1e-7);
  }
  expect_op_same_as_reference({kClip, {f32({100})}, {{"min", -0.5}, {"max", 0.25}}});
  expect_op_same_as_reference({kClip, {f32({100})}, {{"min", -0.5}}});
  expect_op_same_as_reference({kElu, {f32({100})}, {{"alpha", 0.7}}}, 2e-6, 1e-7);
  expect_op_same_as_reference({kLeakyRelu, {f32({100})}, {{"alpha", 0.1}}});
  expect_op_same_as_reference({kHardSigmoid, {f32({100})}, {{"alpha", 0.2}, {"beta", 0.5}}});
  expect_op_same_as_reference({kGelu, {f32({1000})}, {{"approximate", std::string("none")}}}, 3e-6,
                              1e-7);
  expect_op_same_as_reference({kGelu, {f32({1000})}, {{"approximate", std::string("tanh")}}}, 3e-6,
                              1e-7);
}

// Logarithm and root of numbers that have one; enough elements to be shared.
TEST(CpuPointwise, LogAndSqrt) {
  for (const OpKind kind : {OpKind::kLog, OpKind::kSqrt}) {
    ProgramBuilder builder;
    const TensorId x = builder.input("x", f32({40000}));
    builder.output(builder.op(kind, {builder.op(OpKind::kAbs, {x})}), "y");
    expect_same_as_reference(builder, 1e-6, 1e-7);
  }
}

TEST(CpuPointwise, BinaryBroadcasts) {
  using enum OpKind;
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {1, 3, 1, 1}},
      {{2, 3, 4, 5}, {5}},
      {{2, 3, 4, 5}, {}},
      {{1, 3, 1, 5}, {2, 1, 4, 1}},
      {{2, 1, 4, 1}, {3, 1, 5}},
      {{1}, {7, 1, 3}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{64, 300}, {64, 1}},
      {{64, 300}, {300}},
  };
  for (const auto& [a, b] : shapes) {
    for (const OpKind kind : {kAdd, kSub, kMul, kMax, kMin, kGreater, kLessOrEqual, kEqual}) {
      expect_op_same_as_reference({kind, {f32(a), f32(b)}});
      expect_op_same_as_reference({kind, {f32(a), f32(b)}, {}, {1}});
    }
    expect_op_same_as_reference({kDiv, {f32(a), f32(b)}}, 1e-6, 0);
    expect_op_same_as_reference({kWhere, {{DType::kBool, a}, f32(b), f32(a)}});
  }
  expect_op_same_as_reference({kPRelu, {f32({2, 3, 4}), f32({3, 1})}});
  expect_op_same_as_reference({kMax, {f32({2, 3}), f32({3}), f32({2, 1})}});
}

TEST(CpuPointwise, OtherTypes) {
  for (const DType type : {DType::kInt32, DType::kInt64, DType::kUInt8, DType::kFloat64}) {
    for (const OpKind kind : {OpKind::kAdd, OpKind::kMul, OpKind::kMax}) {
      expect_op_same_as_reference({kind, {{type, {3, 4}}, {type, {4}}}}, 0, 0);
    }
  }
  const TensorType half{DType::kFloat16, {5, 6}};
  expect_op_same_as_reference({OpKind::kAdd, {half, half}}, 1e-3, 1e-3);
}

TEST(CpuPointwise, Casts) {
  for (const DType from : {DType::kUInt8, DType::kInt32, DType::kInt64, DType::kBool,
                           DType::kFloat16, DType::kFloat64, DType::kFloat32}) {
    for (const char* to : {"f32", "f16", "bf16", "i32", "u8", "bool", "f64"}) {
      SCOPED_TRACE(to);
      expect_op_same_as_reference({OpKind::kCast, {{from, {3, 50}}}, {{"to", std::string(to)}}}, 0,
                                  0);
    }
  }
}

// A cast to half and back keeps only what a half can hold.
TEST(CpuPointwise, CastToHalfRounds) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", f32({1000}));
  const TensorId half = builder.op(OpKind::kCast, {x}, {{"to", std::string("f16")}});
  builder.output(builder.op(OpKind::kCast, {half}, {{"to", std::string("f32")}}), "y");
  expect_same_as_reference(builder, 0, 0);
}

TEST(CpuNormalisation, Softmax) {
  for (const int64_t axis : {0, 1, 2, 3}) {
    expect_op_same_as_reference({OpKind::kSoftmax, {f32({3, 5, 7, 33})}, {{"axis", axis}}}, 3e-6,
                                1e-7);
  }
  expect_op_same_as_reference({OpKind::kSoftmax, {f32({40, 1000})}, {{"axis", int64_t{1}}}}, 3e-6,
                              1e-7);
}

TEST(CpuNormalisation, LayerNorm) {
  const Attributes::Map last = {{"axis", int64_t{2}}, {"epsilon", 1e-5}};
  expect_op_same_as_reference(
      {OpKind::kLayerNormalization, {f32({2, 9, 40}), f32({40}), f32({40})}, last, {1, 2}});
  expect_op_same_as_reference({OpKind::kLayerNormalization, {f32({2, 9, 7}), f32({7})}, last, {1}});
  const Attributes::Map two = {{"axis", int64_t{1}}, {"epsilon", 1e-5}};
  expect_op_same_as_reference(
      {OpKind::kLayerNormalization, {f32({2, 9, 7}), f32({9, 7})}, two, {1}});
}

TEST(CpuNormalisation, BatchNorm) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", f32({2, 3, 8, 9}));
  const TensorId scale = builder.constant(DType::kFloat32, {3}, {0.5, 1.5, -2});
  const TensorId bias = builder.constant(DType::kFloat32, {3}, {1, 0, -1});
  const TensorId mean = builder.constant(DType::kFloat32, {3}, {0.1, -0.3, 2});
  const TensorId variance = builder.constant(DType::kFloat32, {3}, {1, 0.25, 9});
  builder.output(builder.op(OpKind::kBatchNormalization, {x, scale, bias, mean, variance},
                            {{"epsilon", 1e-3}}),
                 "y");
  expect_same_as_reference(builder);
}

TEST(CpuReduction, AxesAndKinds) {
  using enum OpKind;
  for (const OpKind kind : {kReduceL1, kReduceL2, kReduceMax, kReduceMean, kReduceMin, kReduceProd,
                            kReduceSum, kReduceSumSquare}) {
    for (const Ints& axes :
         {Ints{0}, Ints{1}, Ints{3}, Ints{2, 3}, Ints{0, 2}, Ints{1, 2, 3}, Ints{0, 1, 2, 3}}) {
      for (const int64_t keep : {0, 1}) {
        expect_op_same_as_reference(
            {kind, {f32({2, 5, 3, 7})}, {{"axes", axes}, {"keepdims", keep}}}, 1e-5, 1e-5);
      }
    }
  }
  expect_op_same_as_reference(
      {kReduceMean, {f32({1, 70, 33, 40})}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{1}}}});
  expect_op_same_as_reference(
      {kReduceMax, {{DType::kUInt8, {4, 9}}}, {{"axes", Ints{0}}, {"keepdims", int64_t{0}}}});
  for (const OpKind kind : {kArgMax, kArgMin}) {
    expect_op_same_as_reference(
        {kind, {f32({3, 8, 5})}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}}, 0, 0);
  }
}

// The first row is a view of what it is taken off.
TEST(CpuPointwise, OperandsThatArePartsOfEachOther) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {4, 6}});
  const TensorId size = builder.op(OpKind::kAbs, {x});
  const TensorId row =
      builder.op(OpKind::kSlice, {size},
                 {{"starts", Ints{0, 0}}, {"steps", Ints{1, 1}}, {"sizes", Ints{1, 6}}});
  const TensorId rest = builder.op(OpKind::kSub, {size, row});
  builder.output(builder.op(OpKind::kExp, {rest}), "y");
  expect_same_as_reference(builder);
}

}  // namespace
}  // namespace modeld::test
